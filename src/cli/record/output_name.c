/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a name for the output if the user gave none; see output_name.h. */
#include "cli/record/output_name.h"

#include <ctype.h>
#include <errno.h>
#include "base/error.h"
#include "base/text/str.h"
#include "format/format.h"
#include "proc/proc.h"

/* how many bytes of the program's name the output's name has at most; a file name may have 255 */
#define MAX_NAME 64

/* Finds out which name the process will have that runs the command @cmd. */
static void name_of_command(char **cmd, struct str *ret)
{
	_cleanup_str_ struct str line = {};

	for (; *cmd; cmd++)
		str_add_n(&line, *cmd, strlen(*cmd) + 1);
	if (!line.failed)
		proc_name_from(str_cstr(&line), line.n, NULL, "command", ret);
}

static void name_of_process(pid_t pid, struct str *ret)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;
	_cleanup_free_ char *name = NULL;

	if (!proc_open(&proc, pid) && !proc_name(&proc, &name))
		str_add(ret, name);
}

static bool is_plain(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("._-", c));
}

/*
 * Changes a process's name so that it can be part of a file name. "python3 -c" becomes "python3-c".
 * Other characters that a shell would want quoted become "_": one "_" for several in a row, and
 * none at both ends.
 */
static void tame(struct str *name)
{
	size_t n = 0;
	bool gap = false;

	for (size_t i = 0; i < name->n && n < MAX_NAME; i++) {
		char c = name->s[i];

		if (!is_plain(c)) {
			gap = n > 0;
			continue;
		}
		if (gap && c != '-' && name->s[n - 1] != '-')
			name->s[n++] = '_';
		gap = false;
		name->s[n++] = c;
	}
	if (name->n)
		name->s[name->n = n] = '\0';
}

int output_name(const struct record_options *o, time_t now, char **ret)
{
	_cleanup_str_ struct str name = {};
	char stamp[32];
	struct tm tm;

	if (o->session.cmd)
		name_of_command(o->session.cmd, &name);
	else if (o->session.pids.n == 1)
		name_of_process(o->session.pids.v[0], &name);
	if (name.failed)
		return err_set(-ENOMEM, "out of memory");
	tame(&name);
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	if (asprintf(ret, "krait-%s-%s%s", name.n ? str_cstr(&name) : "python", stamp,
		     o->format->extensions[0]) >= 0)
		return 0;
	*ret = NULL;
	return err_set(-ENOMEM, "out of memory");
}
