/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the ids of a process's owner; see owner.h. */
#include "proc/read/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/text/str.h"
#include "proc/read/stat.h"

/*
 * Returns the text after @key, which is a newline and the name of a line in /proc/PID/status; NULL:
 * there is no such line. A process's name can't imitate @key, because newlines in the name are
 * escaped.
 */
static const char *numbers_of(const struct str *text, const char *key)
{
	const char *at = strstr(str_cstr(text), key);

	return at ? at + strlen(key) : NULL;
}

/* Reads a line "Uid:	real	effective	saved	file system" (or "Gid:"). */
static int take_id(const char *at, unsigned int *ret, bool *mixed)
{
	unsigned real, effective, saved;

	if (!at || sscanf(at, "%u %u %u %u", &real, &effective, &saved, ret) != 4)
		return -EINVAL;
	*mixed = real != *ret || effective != *ret || saved != *ret;
	return 0;
}

static int take_groups(const char *at, struct proc_owner *o)
{
	int r = at ? 0 : -EINVAL;

	while (!r) {
		char *end;
		unsigned long gid;

		at += strspn(at, " \t");
		gid = strtoul(at, &end, 10);
		if (end == at)
			break;
		r = vec_push(&o->groups, (gid_t)gid);
		at = end;
	}
	return r;
}

int proc_owner_read(int procdir, struct proc_owner *ret)
{
	_cleanup_str_ struct str text = {};
	bool mixed_gid;
	int r;

	*ret = (struct proc_owner){};
	r = proc_file_read(procdir, "status", PROC_STATUS_BYTES, &text);
	if (!r)
		r = take_id(numbers_of(&text, "\nUid:"), &ret->uid, &ret->mixed);
	if (!r)
		r = take_id(numbers_of(&text, "\nGid:"), &ret->gid, &mixed_gid);
	return r ? r : take_groups(numbers_of(&text, "\nGroups:"), ret);
}

/*
 * Reads the real user of a process whose /proc/PID belongs to root. The process may be another
 * user's: the kernel gives the directory to root if a process isn't dumpable, for example one that
 * runs a set-user-id program.
 */
static uid_t real_user_of(int procdir)
{
	_cleanup_str_ struct str text = {};
	const char *at;
	unsigned uid;

	if (proc_file_read(procdir, "status", PROC_STATUS_BYTES, &text))
		return 0;
	at = numbers_of(&text, "\nUid:");
	return at && sscanf(at, "%u", &uid) == 1 ? uid : 0;
}

uid_t proc_user_of(pid_t pid)
{
	_cleanup_close_ int procdir = -1;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	procdir = pid > 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (procdir < 0 || fstat(procdir, &st))
		return 0;
	return st.st_uid ? st.st_uid : real_user_of(procdir);
}

void proc_owner_fini(struct proc_owner *o)
{
	vec_fini(&o->groups);
}
