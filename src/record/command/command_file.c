/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the file of a command: by PATH, `#!` and env; see command_file.h. */
#include "record/command/command_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * The most interpreters that are followed, because a script's interpreter may be a script itself.
 * The kernel has the same limit.
 */
#define MAX_SCRIPTS    4
#define FIRST_LINE     256
#define DEFAULT_SEARCH "/bin:/usr/bin"

/* Opens a regular file for reading, if it may be executed. */
static int open_program(const char *path)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (access(path, X_OK))
		return -errno;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -EACCES;
}

static int open_in(const char *dir, size_t n, const char *word, char path[PATH_MAX])
{
	int len = snprintf(path, PATH_MAX, "%.*s%s%s", (int)n, dir, n ? "/" : "", word);

	return len >= PATH_MAX ? -ENAMETOOLONG : open_program(path);
}

static int find(const char *word, const char *search, char path[PATH_MAX])
{
	int fd = -ENOENT;

	if (!*word)
		return -ENOENT;
	if (strchr(word, '/'))
		return open_in("", 0, word, path);
	for (const char *dir = search ?: DEFAULT_SEARCH; fd < 0; dir++) {
		size_t n = strcspn(dir, ":");

		fd = open_in(dir, n, word, path);
		dir += n;
		if (!*dir)
			break;
	}
	return fd;
}

/*
 * Returns the program that a line with `env` starts: the first word after env's options and
 * variables.
 */
static char *behind_env(char **rest)
{
	char *word;

	while ((word = strsep(rest, " \t")))
		if (*word && *word != '-' && !strchr(word, '='))
			break;
	return word;
}

/*
 * Returns the interpreter that a script's first line names; "" if the line is bad; NULL if the file
 * is no script.
 */
static const char *interpreter_of(int fd, char line[static FIRST_LINE])
{
	ssize_t n = pread(fd, line, FIRST_LINE - 1, 0);
	char *rest = line + 2, *word, *base;

	line[n > 0 ? n : 0] = '\0';
	if (!str_starts(line, "#!"))
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	while ((word = strsep(&rest, " \t")) && !*word)
		;
	base = word ? strrchr(word, '/') : NULL;
	if (base && streq(base, "/env"))
		word = behind_env(&rest);
	return word ?: "";
}

int command_file_open(const char *word, const char *search, char path[PATH_MAX])
{
	_cleanup_close_ int fd = find(word, search, path);
	char line[FIRST_LINE];

	for (int i = 0; fd >= 0; i++) {
		const char *next = interpreter_of(fd, line);

		if (!next)
			return TAKE_FD(fd);
		close(TAKE_FD(fd));
		fd = i < MAX_SCRIPTS ? find(next, search, path) : -ELOOP;
	}
	return fd;
}
