/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out which processes and threads are alive by sending them signal 0. That works even without
 * /proc; see alive.h.
 */
#include "cli/top/alive.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Returns the process or thread id that label @key has. Returns 0 if the label isn't a number, as
 * in samples that were summed up after their threads had ended.
 */
static uint64_t id_of(const struct profile *p, uint32_t set, const char *key)
{
	const char *text = profile_label_text(p, set, key);
	char *end;
	uint64_t id = strtoul(text, &end, 10);

	return *end || id > INT32_MAX ? 0 : id;
}

static void take_set(struct alive *a, const struct profile *p, uint32_t set)
{
	uint64_t pid = id_of(p, set, "pid"), tid = id_of(p, set, "tid");

	/* if there is no memory, some processes and threads aren't counted */
	if (pid)
		(void)!map_put(&a->processes, pid, pid);
	if (pid && tid)
		(void)!map_put(&a->threads, tid, pid);
}

static bool is_gone(uint64_t pid, uint64_t tid)
{
	return syscall(SYS_tgkill, (pid_t)pid, (pid_t)tid, 0) && errno == ESRCH;
}

static void drop_gone(struct map *m)
{
	map_foreach(slot, m)
		if (is_gone(slot->value, slot->key))
			map_del(m, slot->key);
}

void alive_look(struct alive *a, const struct profile *p)
{
	while (a->sets < profile_n_labels(p))
		take_set(a, p, (uint32_t)++a->sets);
	drop_gone(&a->processes);
	drop_gone(&a->threads);
}

void alive_condensed(struct alive *a)
{
	a->sets = 0;
}

void alive_fini(struct alive *a)
{
	map_fini(&a->processes);
	map_fini(&a->threads);
}
