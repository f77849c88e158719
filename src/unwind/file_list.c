/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps lists of files that commands mapped; see file_list.h. Each line of a list is a path; the
 * first path is the command's.
 */
#include "unwind/file_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/str.h"
#include "unwind/cache_file.h"

#define LIST_MOST  (64u << 10) /* the most bytes of a list */
#define NAME_BYTES 64

/*
 * Makes the name of the list of @command, which is a hash. If two commands have the same hash, the
 * list that is written later replaces the list that was written before.
 */
static void list_name(const char *command, char name[static NAME_BYTES])
{
	snprintf(name, NAME_BYTES, "%016llx" FILE_LIST_SUFFIX,
		 (unsigned long long)XXH3_64bits(command, strlen(command)));
}

/* Reads the whole list of files as text, or returns -errno. */
static int read_list(int dir, const struct unwind_cache *c, const char *command, struct str *ret)
{
	_cleanup_close_ int fd = -1;
	char name[NAME_BYTES], part[4096];
	struct stat st;
	ssize_t got;

	list_name(command, name);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!unwind_cache_owns(c, fd, S_IFREG, &st) || st.st_size > LIST_MOST)
		return -EPERM;
	while ((got = read(fd, part, sizeof(part))) > 0 && ret->n < LIST_MOST)
		str_add_n(ret, part, (size_t)got);
	return ret->failed ? -ENOMEM : 0;
}

void file_list_read(const struct unwind_cache *c, const char *command,
		    void (*each)(void *arg, const char *path), void *arg)
{
	uint64_t caps;
	_cleanup_close_ int dir = unwind_cache_enter(c, false, &caps);
	_cleanup_str_ struct str text = {};
	char *next = NULL, *line;

	if (dir >= 0 && !read_list(dir, c, command, &text) && text.n) {
		line = strtok_r(text.s, "\n", &next);
		if (line && streq(line, command))
			while ((line = strtok_r(NULL, "\n", &next)))
				if (*line == '/')
					each(arg, line);
	}
	unwind_cache_leave(c, caps);
}

static void make_list(const char *command, const char *const *path, size_t n, struct str *ret)
{
	str_addf(ret, "%s\n", command);
	for (size_t i = 0; i < n; i++)
		if (*path[i] == '/' && !strchr(path[i], '\n') &&
		    ret->n + strlen(path[i]) < LIST_MOST)
			str_addf(ret, "%s\n", path[i]);
}

static int write_list(int dir, const char *command, const struct str *text)
{
	char name[NAME_BYTES], tmp[NAME_BYTES + 32];
	_cleanup_close_ int fd = -1;

	list_name(command, name);
	snprintf(tmp, sizeof(tmp), "%s.%d" UNWIND_CACHE_TMP, name, getpid());
	(void)unlinkat(dir, tmp, 0);
	fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (write(fd, text->s, text->n) == (ssize_t)text->n && !renameat(dir, tmp, dir, name))
		return 0;
	(void)unlinkat(dir, tmp, 0);
	return -EIO;
}

int file_list_write(const struct unwind_cache *c, const char *command, const char *const *path,
		    size_t n)
{
	uint64_t caps;
	_cleanup_close_ int dir = unwind_cache_enter(c, true, &caps);
	_cleanup_str_ struct str text = {};
	int r = dir < 0 ? dir : 0;

	make_list(command, path, n, &text);
	if (!r)
		r = text.failed ? -ENOMEM : write_list(dir, command, &text);
	unwind_cache_leave(c, caps);
	return r ? err_sys(r, "can't write a list of files to the cache") : 0;
}
