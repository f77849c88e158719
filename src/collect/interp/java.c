/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interpreters of Python that run in a Java virtual machine. They aren't in ELF files, so krait
 * recognizes them by what the java command was told to run.
 */
#include <limits.h>
#include "collect/interp/image.h"
#include "proc/files/files.h"
#include "proc/proc.h"
#include "proc/read/aside.h"

/*
 * how much of a command line is read; the main class comes last, after class paths, which may be
 * long
 */
#define MAX_ARGUMENTS READER_TASK_BYTES

bool java_is_exe(const struct proc *proc)
{
	char exe[PATH_MAX];

	file_exe_path(proc->dirfd, exe, sizeof(exe));
	return streq(path_base(exe), "java");
}

/*
 * Returns the interpreter that one argument names, as its main class or its archive (after -jar).
 * NULL: the argument names none.
 */
static const char *named_by(const char *arg)
{
	const char *base = path_base(arg);

	if (str_starts(base, "org.python.util.jython") ||
	    (str_starts(base, "jython") && str_ends(base, ".jar")))
		return "Jython";
	return str_starts(base, "com.oracle.graal.python.") ? "GraalPy" : NULL;
}

const char *java_python_in(const char *cmdline, size_t n)
{
	const char *end = cmdline + n, *name = NULL;

	for (const char *arg = cmdline; arg < end && !name; arg += strlen(arg) + 1)
		name = named_by(arg);
	return name;
}

const char *java_python(const struct proc *proc)
{
	_cleanup_str_ struct str cmdline = {};

	if (!java_is_exe(proc) || aside_read(proc->dirfd, "cmdline", MAX_ARGUMENTS, &cmdline))
		return NULL;
	return java_python_in(str_cstr(&cmdline), cmdline.n);
}
