/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first moments of the command of `krait record --`. After it execs, and before it is sampled,
 * the kernel programs are told where its interpreter is and what it has mapped, if that is known
 * from its executable (teach.c).
 */
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "collect/internal.h"
#include "proc/files/files.h"
#include "proc/read/stat.h"

#define LOOK_APART_NS (NSEC_PER_MSEC / 2)
/*
 * krait looks at the command again and again for this long after its exec; loading its program
 * takes less than 1 ms
 */
#define LOOK_FOR_NS (20 * NSEC_PER_MSEC)

void collect_started(struct collect *c, uint32_t tgid)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!c->config.unwind || !c->command->programs.n)
		return;
	c->command->first =
		(struct first_look){.tgid = tgid, .due_ns = now, .until_ns = now + LOOK_FOR_NS};
}

static const struct taught_program *find_program(const struct collect *c, const struct proc *proc)
{
	_cleanup_close_ int fd = file_open_exe(proc->dirfd);
	struct exe_key key;

	if (fd < 0 || image_key(fd, &key))
		return NULL;
	vec_foreach(t, &c->command->programs)
		if (!memcmp(&t->key, &key, sizeof(key)))
			return t;
	return NULL;
}

/*
 * Looks at the command. False: it is still being loaded. If nothing is known of its executable, the
 * kernel program asks about the command at its first sample.
 */
static bool look(struct collect *c)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;
	const struct taught_program *t;
	struct py_where where;
	struct proc_stat stat;

	if (process_newest(c, c->command->first.tgid) ||
	    proc_open(&proc, (pid_t)c->command->first.tgid) || proc_stat_read(proc.dirfd, &stat))
		return true;
	if (!stat.start_code)
		return false;
	t = find_program(c, &proc);
	/*
	 * The process hasn't mapped its libpython yet. The kernel program will find libpython
	 * later.
	 */
	if (!t || t->entry.kind != EXE_PYTHON)
		return true;
	where = t->entry.where;
	py_where_add_bias(&where, stat.start_code - t->entry.start_vaddr);
	process_expect_first(c, &proc, &where, &stat, t->version);
	return true;
}

void first_look(struct collect *c)
{
	uint64_t now;

	if (!c->command->first.tgid)
		return;
	now = clock_ns(CLOCK_MONOTONIC);
	c->command->first.due_ns = now + LOOK_APART_NS;
	if (look(c) || now > c->command->first.until_ns)
		c->command->first.tgid = 0;
}
