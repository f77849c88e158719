/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out whether /proc hides processes; see hidepid.h. */
#include "proc/machine/hidepid.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/self.h"

/* Looks for hidepid= in the options of a mount: "rw,relatime,hidepid=invisible". */
static bool find_option(const char *options, struct str *ret)
{
	const char *at = strstr(options, "hidepid=");

	if (!at)
		return false;
	at += strlen("hidepid=");
	str_add_n(ret, at, strcspn(at, ", \n"));
	return strcmp(str_cstr(ret), "0") && strcmp(str_cstr(ret), "off");
}

/*
 * If several file systems are mounted at one path, only the last of them is visible, so its options
 * count.
 */
bool proc_hides(struct str *ret)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/mounts", "re");
	char line[1024], where[256], type[64];
	bool hides = false;
	int at;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %255s %63s %n", where, type, &at) != 2 ||
		    strcmp(where, "/proc") || strcmp(type, "proc"))
			continue;
		str_clear(ret);
		hides = find_option(line + at, ret);
	}
	return hides;
}

/*
 * Sets the message, which doesn't have the value of hidepid=: there may be many hidden processes,
 * and for each krait would have to read the list of mounts.
 */
static int say_hidden(pid_t tgid)
{
	return err_set(-EPERM,
		       "process %d is hidden from you: /proc is mounted with hidepid=, which shows "
		       "you only your own processes, and only if they have no more rights than "
		       "you; run it as `sudo %s ...`",
		       tgid, self_under_sudo());
}

int proc_not_there(pid_t tgid)
{
	if (tgid > 0 && sched_getscheduler(tgid) >= 0)
		return say_hidden(tgid);
	return err_set(-ESRCH, "there is no process %d", tgid);
}

int proc_not_open(pid_t tgid, int r)
{
	return r == -EPERM ? say_hidden(tgid) : err_sys(r, "can't examine process %d", tgid);
}
