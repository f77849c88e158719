/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds a process's virtual environment by the program's name in the command line, because the link
 * /proc/PID/exe leads to the interpreter that the environment was made from. See files.h.
 */
#include "base/cleanup.h"
#include "proc/read/aside.h"
#include "proc/service/files.h"

#define PROGRAM_BYTES 4096

/* Cuts the last component off @path. False: only the root directory would be left. */
static bool cut(struct str *path)
{
	char *slash = path->n ? strrchr(path->s, '/') : NULL;

	if (!slash || slash == path->s)
		return false;
	*slash = '\0';
	path->n = (size_t)(slash - path->s);
	return true;
}

static bool is_common(const char *name)
{
	static const char *const names[] = {"venv", ".venv", "env", ".env", "virtualenv"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(name, names[i]))
			return true;
	return false;
}

bool venv_find(const struct service_files *f, int procdir, const char *directory, struct str *ret)
{
	_cleanup_str_ struct str path = {}, program = {}, file = {}, text = {};

	if (aside_read(procdir, "cmdline", PROGRAM_BYTES, &program) || program.n == PROGRAM_BYTES ||
	    !strchr(str_cstr(&program), '/'))
		return false;
	if (*str_cstr(&program) != '/')
		str_addf(&path, "%s/", directory ?: "");
	str_add(&path, str_cstr(&program));
	/* cuts off the program's name, and then the folder bin */
	if (path.failed || !cut(&path) || !cut(&path))
		return false;
	str_addf(&file, "%s/pyvenv.cfg", str_cstr(&path));
	if (file.failed || !service_file_of(f, str_cstr(&file), 1, &text))
		return false;
	if (is_common(path_base(str_cstr(&path))))
		(void)cut(&path);
	str_add(ret, path_base(str_cstr(&path)));
	return true;
}
