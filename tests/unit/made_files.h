/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a directory with files that compilers and binutils produce. The tests compare what krait
 * says of these files with what another tool says. Defines `dir` from MADE_DIR.
 */
#ifndef TESTS_UNIT_MADE_FILES_H
#define TESTS_UNIT_MADE_FILES_H

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

static char dir[] = MADE_DIR;

static int run(const char *script)
{
	_cleanup_free_ char *command = NULL;

	assert_true(asprintf(&command, "cd %s && { %s\n}", dir, script) > 0);
	return system(command);
}

/*
 * Makes the directory `dir` and runs @script in it. If a tool that @script needs is missing, prints
 * @skip and sets *state.
 */
static int make_dir(void **state, const char *script, const char *skip)
{
	assert_non_null(mkdtemp(dir));
	if (run(script)) {
		print_message("%s", skip);
		*state = dir;
	}
	return 0;
}

static int remove_all(void **state)
{
	return run("rm -rf ./* ./.c*") || rmdir(dir);
}

static int open_at(const char *name, int flags)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return open(path, flags | O_CLOEXEC, 0600);
}

#endif
