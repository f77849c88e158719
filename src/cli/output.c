/* SPDX-License-Identifier: BSD-2-Clause */
/* Temporary name and rename; see output.h. */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <libgen.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/temporary.h"

#define MAX_NAMES  1000 /* left by krait processes that were killed while renaming */
#define MAX_SUFFIX 24	/* of a temporary name: a dot, a process id, a number */

/* Not a regular file (or nothing there yet): what can't be replaced by renaming. */
static bool in_place(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode);
}

/* A file without a name in the directory of o->path. Descriptor or -errno. */
static int open_unnamed(struct output *o)
{
	_cleanup_free_ char *copy = strdup(o->path);
	int fd;

	/* It gets its name through /proc, which may be missing in a container. */
	if (!copy || access("/proc/self/fd", X_OK))
		return -ENOENT;
	fd = open(dirname(copy), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	o->unnamed = fd >= 0;
	return fd >= 0 ? fd : -errno;
}

/* So much of @path that a suffix behind it still makes a name: file names end at NAME_MAX. */
static int stem(const char *path)
{
	const char *name = path_base(path);

	return (int)(name - path + MIN(strlen(name), (size_t)NAME_MAX - MAX_SUFFIX));
}

static int open_temporary(struct output *o)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (asprintf(&o->temporary, "%.*s.XXXXXX", stem(o->path), o->path) < 0) {
		o->temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(o->temporary, O_CLOEXEC);
	if (fd < 0) {
		int r = -errno;

		free(TAKE_PTR(o->temporary));
		return r;
	}
	fchmod(fd, 0666 & ~mask);
	return fd;
}

static int open_in_place(struct output *o)
{
	int fd = open(o->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	return fd >= 0 ? fd : -errno;
}

/* What a link that leads nowhere yet names, as seen from its directory. */
static char *dangling(const char *path)
{
	const char *slash = strrchr(path, '/');
	char to[PATH_MAX], *made = NULL;
	ssize_t n = readlink(path, to, sizeof(to) - 1);

	if (n <= 0)
		return NULL;
	to[n] = '\0';
	if (to[0] == '/' || !slash)
		return strdup(to);
	return asprintf(&made, "%.*s/%s", (int)(slash - path), path, to) < 0 ? NULL : made;
}

/*
 * Where @path leads: through symbolic links, which stay. /dev/stdout of a shell's `>` is one to a
 * regular file.
 */
static char *destination(const char *path)
{
	struct stat st;
	char *real = NULL;

	if (!lstat(path, &st) && S_ISLNK(st.st_mode))
		real = realpath(path, NULL) ?: dangling(path);
	return real ? real : strdup(path);
}

/* An unnamed file gets its name when all is recorded: too late to find out that it can't be one. */
static int check_name(const char *path)
{
	struct stat st;

	if (*path && path[strlen(path) - 1] == '/')
		return -EISDIR;
	return stat(path, &st) && errno != ENOENT ? -errno : 0;
}

/* A page that nobody else was to read stays that. */
static void keep_mode(const char *path, int fd)
{
	struct stat old;

	if (!stat(path, &old) && S_ISREG(old.st_mode))
		(void)!fchmod(fd, old.st_mode & 0666);
}

static int open_file(struct output *o)
{
	int fd;

	if (in_place(o->path))
		return open_in_place(o);
	fd = check_name(o->path);
	if (fd)
		return fd;
	fd = open_unnamed(o);
	if (fd < 0)
		fd = open_temporary(o);
	if (fd >= 0)
		keep_mode(o->path, fd);
	return fd;
}

/* Where a shell's `>` or `>>` leads: others write there too, so it isn't replaced. */
static bool is_stdout(const char *path)
{
	struct stat here, there;

	return !stat(path, &here) && S_ISREG(here.st_mode) && !fstat(STDOUT_FILENO, &there) &&
	       here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

static int open_stdout(struct output *o)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (flags < 0 || flags & O_PATH || (flags & O_ACCMODE) == O_RDONLY)
		return err_set(-EBADF, "can't write standard output: it is closed, or open for "
				       "reading only; write to a file with -o");
	o->stream = stdout;
	return 0;
}

int output_open(struct output *o, const char *path)
{
	int fd;

	*o = (struct output){};
	if (streq(path, "-") || is_stdout(path))
		return open_stdout(o);
	o->path = destination(path);
	if (!o->path)
		return err_sys(-ENOMEM, "output");
	fd = open_file(o);
	if (fd < 0)
		return err_sys(fd, "can't write %s", path);
	o->stream = fdopen(fd, "w");
	if (!o->stream) {
		close(fd);
		return err_sys(-errno, "can't write %s", path);
	}
	return 0;
}

int output_open_elsewhere(struct output *o, const char *name)
{
	_cleanup_free_ char *made = temporary_dir(), *there = NULL;
	int r;

	*o = (struct output){};
	if (!made)
		return err_sys(-errno, "can't make a temporary directory");
	if (asprintf(&there, "%s/%s", made, name) < 0) {
		there = NULL;
		rmdir(made);
		return err_sys(-ENOMEM, "output");
	}
	r = output_open(o, there);
	if (r)
		rmdir(made);
	else
		o->made = TAKE_PTR(made);
	return r;
}

/* Gives the unnamed file a name: its own if that is free, else one to be renamed. */
static int name_it(struct output *o)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(o->stream));
	if (!linkat(AT_FDCWD, self, AT_FDCWD, o->path, AT_SYMLINK_FOLLOW))
		return 0;
	for (unsigned int i = 0; errno == EEXIST && i < MAX_NAMES; i++) {
		free(o->temporary);
		if (asprintf(&o->temporary, "%.*s.%d-%u", stem(o->path), o->path, getpid(), i) <
		    0) {
			o->temporary = NULL;
			return -ENOMEM;
		}
		if (!linkat(AT_FDCWD, self, AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW))
			return 0;
	}
	free(TAKE_PTR(o->temporary)); /* not ours, or not there: nothing to remove */
	return -errno;
}

/* Everything written, and closed; 0 or -errno. */
static int close_stream(struct output *o)
{
	FILE *stream = o->stream;
	int r = 0;

	errno = 0;
	if (fflush(stream) || ferror(stream))
		r = errno ? -errno : -EIO;
	if (!r && o->unnamed)
		r = name_it(o);
	if (stream == stdout)
		return r;
	o->stream = NULL;
	if (fclose(stream) && !r)
		r = -errno;
	return r;
}

int output_commit(struct output *o)
{
	int r = close_stream(o);

	if (r)
		return err_sys(r, "can't write %s", o->path ? o->path : "standard output");
	if (o->temporary && rename(o->temporary, o->path))
		return err_sys(-errno, "can't rename %s to %s", o->temporary, o->path);
	free(TAKE_PTR(o->temporary));
	free(TAKE_PTR(o->made));
	return 0;
}

static int stat_folder(const char *path, struct stat *st)
{
	_cleanup_free_ char *copy = strdup(path);

	return copy ? stat(dirname(copy), st) : -1;
}

bool output_same(const struct output *a, const struct output *b)
{
	struct stat in_a, in_b;

	return (a->unnamed || a->temporary) && (b->unnamed || b->temporary) &&
	       streq(path_base(a->path), path_base(b->path)) && !stat_folder(a->path, &in_a) &&
	       !stat_folder(b->path, &in_b) && in_a.st_dev == in_b.st_dev &&
	       in_a.st_ino == in_b.st_ino;
}

void output_fini(struct output *o)
{
	if (o->stream && o->stream != stdout)
		fclose(o->stream);
	if (o->temporary)
		unlink(o->temporary);
	if (o->made)
		rmdir(o->made);
	free(o->made);
	free(o->temporary);
	free(o->path);
	*o = (struct output){};
}
