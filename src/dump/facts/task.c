/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads what /proc says about one thread; see task.h. The kernel writes these files in
 * fs/proc/array.c, fs/proc/base.c and lib/syscall.c.
 */
#include "dump/facts/task.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text/str.h"
#include "proc/read/stat.h"

static const char *value_of(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? p + strlen(key) : NULL;
}

bool task_look_parse(const char *text, struct task_look *ret)
{
	/*
	 * The kernel escapes newlines in the line "Name:", so a thread's name can't imitate these
	 * lines.
	 */
	const char *state = value_of(text, "\nState:\t"),
		   *own = value_of(text, "\nvoluntary_ctxt_switches:\t"),
		   *forced = value_of(text, "\nnonvoluntary_ctxt_switches:\t");

	if (!state || !own || !forced)
		return false;
	ret->state = *state;
	ret->switches = strtoull(own, NULL, 10) + strtoull(forced, NULL, 10);
	return true;
}

int task_look(int procdir, pid_t tid, struct task_look *ret)
{
	_cleanup_str_ struct str text = {};
	char path[48];
	int r;

	snprintf(path, sizeof(path), "task/%d/status", tid);
	r = proc_file_read(procdir, path, PROC_STATUS_BYTES, &text);
	if (r)
		return r == -ENOENT ? -ESRCH : r;
	return task_look_parse(str_cstr(&text), ret) ? 0 : -EINVAL;
}

uint64_t task_runs(int procdir, pid_t tid)
{
	_cleanup_str_ struct str text = {};
	unsigned long long runs = 0;
	char path[48];

	snprintf(path, sizeof(path), "task/%d/schedstat", tid);
	if (proc_file_read(procdir, path, 128, &text) ||
	    sscanf(str_cstr(&text), "%*u %*u %llu", &runs) != 1)
		return 0;
	return runs;
}

bool task_place_parse(const char *text, struct task_place *ret)
{
	struct task_place p = {.call = TASK_UNKNOWN};
	unsigned long long v[8];
	int n = sscanf(text, "%ld %llx %llx %llx %llx %llx %llx %llx %llx", &p.call, &v[0], &v[1],
		       &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);

	ret->runs = str_starts(text, "running");
	if (n != 9 && !(n == 3 && p.call == TASK_NO_CALL))
		return false;
	for (int i = 0; i < 6 && n == 9; i++)
		p.arg[i] = v[i];
	p.sp = v[n - 3];
	p.pc = v[n - 2];
	if (!p.sp && !p.pc) /* both are 0 in a kernel thread: it has no user code */
		p.call = TASK_NO_CALL;
	*ret = p;
	return true;
}

static void read_wchan(int procdir, pid_t tid, char ret[static TASK_WCHAN_BYTES])
{
	_cleanup_str_ struct str text = {};
	char path[48];

	snprintf(path, sizeof(path), "task/%d/wchan", tid);
	/* wchan is "0" if the thread runs, or if krait has no right to know it */
	if (!proc_file_read(procdir, path, TASK_WCHAN_BYTES - 1, &text) &&
	    !streq(str_cstr(&text), "0"))
		snprintf(ret, TASK_WCHAN_BYTES, "%s", str_cstr(&text));
}

void task_place_read(int procdir, pid_t tid, struct task_place *ret)
{
	_cleanup_str_ struct str text = {};
	char path[48];

	*ret = (struct task_place){.call = TASK_UNKNOWN};
	snprintf(path, sizeof(path), "task/%d/syscall", tid);
	if (!proc_file_read(procdir, path, 512, &text))
		(void)task_place_parse(str_cstr(&text), ret);
	read_wchan(procdir, tid, ret->wchan);
}
