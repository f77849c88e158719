/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out whether a process ended while it was read. If it ended, many of its frames and names
 * may be missing, and the user is told so.
 */
#include "dump/internal.h"
#include "proc/read/stat.h"

enum dump_life dump_life(const struct dump *d, size_t i)
{
	const struct target *t = &d->targets.v[i];
	struct proc_stat stat;

	if (d->processes.v[i].locked)
		return LIFE_LOCKED;
	if (proc_has_ended(&t->proc))
		return t->zombie ? LIFE_HAD_ENDED : LIFE_ENDED;
	return !proc_stat_read(t->proc.dirfd, &stat) && stat.state == 'Z' ? LIFE_FIRST_ENDED
									  : LIFE_GOES_ON;
}

const struct proc *dump_proc(const struct dump *d, size_t i)
{
	return &d->targets.v[i].proc;
}

static const struct {
	const char *word, *words;
} lives[] = {
#define X(name, word, words) {word, words},
	DUMP_LIVES(X)
#undef X
};

const char *dump_life_word(enum dump_life life)
{
	return lives[life].word;
}

const char *dump_life_words(enum dump_life life)
{
	return lives[life].words;
}
