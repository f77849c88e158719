/* SPDX-License-Identifier: BSD-2-Clause */
/* The name of the output where none was given; see output_name.h. */
#include "cli/output_name.h"

#include <ctype.h>
#include <errno.h>
#include "base/str.h"
#include "proc/proc.h"
#include "render/render.h"

#define MAX_NAME 64 /* file names end at 255 bytes */

/* What the process of @cmd is going to be called. */
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

/* Whatever a process calls itself, as a part of a file name. */
static void tame(struct str *name)
{
	if (name->n > MAX_NAME)
		name->s[name->n = MAX_NAME] = '\0';
	for (size_t i = 0; i < name->n; i++)
		if (!isalnum((unsigned char)name->s[i]) && !strchr("._-", name->s[i]))
			name->s[i] = '_';
	while (name->n && name->s[name->n - 1] == '_')
		name->s[--name->n] = '\0';
}

int output_name(const struct record_options *o, time_t now, char **ret)
{
	_cleanup_str_ struct str name = {};
	char stamp[32];
	struct tm tm;

	if (o->cmd)
		name_of_command(o->cmd, &name);
	else if (o->pids.n == 1)
		name_of_process(o->pids.v[0], &name);
	if (name.failed)
		return -ENOMEM;
	tame(&name);
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
	return asprintf(ret, "krait-%s-%s%s", name.n ? str_cstr(&name) : "python", stamp,
			o->format->extensions[0]) < 0
		       ? -ENOMEM
		       : 0;
}
