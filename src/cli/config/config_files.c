/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens configuration files. A service that runs as root obeys them, so a file or directory that
 * other users may write to is refused.
 */
#include "cli/config/config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/text/str.h"

static bool is_owners(const struct stat *st)
{
	return !st->st_uid || st->st_uid == geteuid();
}

/*
 * Tells whether users other than the owner may write to the file or directory. In a sticky
 * directory they can't replace files, so it counts as safe.
 */
static bool others_write(const struct stat *st)
{
	if (S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX)
		return false;
	return st->st_mode & S_IWOTH ||
	       (st->st_mode & S_IWGRP && st->st_gid && st->st_gid != getegid());
}

/*
 * Adds a fault if a user other than root and the user who runs krait may write to @path, whose
 * state is @st. Returns whether @path is safe.
 */
static bool is_safe(struct config *c, const char *path, const struct stat *st)
{
	if (!is_owners(st))
		config_fault(c, "%s belongs to user %u; it must be root's: chown root %s", path,
			     st->st_uid, path);
	else if (others_write(st))
		config_fault(c, "%s can be written by others; take that right away: chmod go-w %s",
			     path, path);
	else
		return true;
	return false;
}

/*
 * Opens the file @name in directory @dir; messages call it @path. Returns -1 if a fault was added.
 */
static int open_file(struct config *c, int dir, const char *name, const char *path)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st)) {
		config_fault(c, "can't read %s: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		config_fault(c, "%s isn't a regular file", path);
	} else if (st.st_size > CONFIG_BYTES) {
		config_fault(c, "%s is too big: it has %lld bytes, and may have %u", path,
			     (long long)st.st_size, CONFIG_BYTES);
	} else if (is_safe(c, path, &st)) {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static int read_file(struct config *c, int dir, const char *name, const char *path)
{
	_cleanup_close_ int fd = open_file(c, dir, name, path);
	_cleanup_free_ char *bytes = fd >= 0 ? malloc(CONFIG_BYTES + 1) : NULL;
	size_t n = 0;
	ssize_t got = 1;

	if (fd < 0)
		return 0;
	if (!bytes)
		return err_nomem();
	/* tries to read one byte more than allowed: the file may have grown since fstat() */
	for (; got > 0 && n <= CONFIG_BYTES; n += (size_t)MAX(got, (ssize_t)0))
		got = read(fd, bytes + n, CONFIG_BYTES + 1 - n);
	if (got < 0) {
		config_fault(c, "can't read %s: %s", path, strerror(errno));
		return 0;
	}
	return config_read_text(c, path, bytes, n);
}

static int is_conf(const struct dirent *e)
{
	return e->d_name[0] != '.' && str_ends(e->d_name, ".conf");
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int read_each(struct config *c, int dir, const char *path, struct dirent **list, int n)
{
	int r = 0;

	if (n > CONFIG_FILES) {
		config_fault(c, "%s has %d files; it may have %d", path, n, CONFIG_FILES);
		return 0;
	}
	for (int i = 0; i < n && !r; i++) {
		_cleanup_str_ struct str file = {};

		str_addf(&file, "%s/%s", path, list[i]->d_name);
		r = file.failed ? err_nomem() : read_file(c, dir, list[i]->d_name, str_cstr(&file));
	}
	return r;
}

/* Opens a directory. Returns -1 if there is no such directory, or if a fault was added. */
static int open_directory(struct config *c, const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return -1;
	if (fd < 0 || fstat(fd, &st))
		config_fault(c, "can't read %s: %s", path, strerror(errno));
	else if (is_safe(c, path, &st))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int read_directory(struct config *c, const char *path)
{
	_cleanup_close_ int dir = open_directory(c, path);
	struct dirent **list = NULL;
	int n, r = 0;

	if (dir < 0)
		return 0;
	n = scandirat(dir, ".", &list, is_conf, by_bytes);
	if (n < 0)
		config_fault(c, "can't read %s: %s", path, strerror(errno));
	else
		r = read_each(c, dir, path, list, n);
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
	return r;
}

/*
 * Tells whether only root and the user who runs krait may write to the file's directory. If other
 * users may write there, they can replace the file.
 */
static bool is_in_safe_place(struct config *c, const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_str_ struct str dir = {};
	struct stat st;

	str_add_n(&dir, slash ? path : ".", slash ? (size_t)MAX(slash - path, 1) : 1);
	if (stat(str_cstr(&dir), &st))
		return true; /* opening the file fails as well, and the caller reports that */
	if (is_owners(&st) && !others_write(&st))
		return true;
	config_fault(c, "%s lies in %s, where users other than root can replace it; move it", path,
		     str_cstr(&dir));
	return false;
}

int config_read_files(struct config *c, const char *path, bool must)
{
	_cleanup_str_ struct str dir = {};
	int r = 0;

	str_addf(&dir, "%s.d", path);
	if (dir.failed)
		return err_nomem();
	if (!is_in_safe_place(c, path))
		return 0;
	if (must || !faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) || errno != ENOENT)
		r = read_file(c, AT_FDCWD, path, path);
	return r ? r : read_directory(c, str_cstr(&dir));
}
