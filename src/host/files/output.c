/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the output file without a name or under a temporary name, and gives it its name at the
 * end; see output.h.
 */
#include "host/files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"
#include "base/nomem.h"
#include "base/system/temporary.h"

/*
 * how many temporary names are tried; each has 64 random bits, so a healthy file system needs only
 * one
 */
#define MAX_TRIES 100
/* how many bytes longer a temporary name is than the file's own name: by a dot and 16 digits */
#define MAX_SUFFIX 17

/*
 * Chooses a temporary name in the file's directory. Nobody can guess the name and use it first. 0
 * or -errno.
 */
static int choose_temporary(struct output *o)
{
	uint64_t number;

	free(TAKE_PTR(o->temporary));
	if (getrandom(&number, sizeof(number), 0) < 0)
		return -errno;
	if (asprintf(&o->temporary, "%.*s.%016llx", NAME_MAX - MAX_SUFFIX, o->place.name,
		     (unsigned long long)number) >= 0)
		return 0;
	o->temporary = NULL;
	return err_nomem();
}

/*
 * Returns the mode of the new file, before the umask. If the new file replaces a file of the same
 * user that others can't read, others can't read the new file either. The mode of another user's
 * file isn't used.
 */
static mode_t mode_of(const struct place *p)
{
	bool own = p->fd >= 0 && S_ISREG(p->st.st_mode) && p->st.st_uid == geteuid();

	return 0666 & (own ? p->st.st_mode : 0666);
}

/* Opens a new file that has no name in the directory (O_TMPFILE). Descriptor or -errno. */
static int open_unnamed(struct output *o)
{
	int fd;

	/* A file without a name gets one through /proc, which may be missing in a container. */
	if (access("/proc/self/fd", X_OK))
		return -ENOENT;
	fd = openat(o->place.dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode_of(&o->place));
	o->unnamed = fd >= 0;
	return fd >= 0 ? fd : -errno;
}

static int open_temporary(struct output *o)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int r = -EEXIST;

	for (int i = 0; r == -EEXIST && i < MAX_TRIES; i++) {
		int fd;

		r = choose_temporary(o);
		if (r)
			break;
		fd = openat(o->place.dir, o->temporary, flags, mode_of(&o->place));
		if (fd >= 0)
			return fd;
		r = -errno;
	}
	/*
	 * the file got no temporary name: another file, or none, has the name that was tried last
	 */
	free(TAKE_PTR(o->temporary));
	return r;
}

/*
 * Opens a new file, which will replace the file of its name at the end. Descriptor or -errno +
 * message.
 */
static int open_to_replace(struct output *o, const char *path)
{
	int fd = open_unnamed(o);

	if (fd < 0)
		fd = open_temporary(o);
	if (fd < 0)
		return err_sys(fd, "can't write %s", path);
	o->replaces = true;
	return fd;
}

/*
 * Tells whether @p is the file to which a shell's `>` or `>>` redirected krait's standard output.
 * Other programs may write to that file too, so it isn't replaced.
 */
static bool is_stdout(const struct place *p)
{
	struct stat st;

	return p->fd >= 0 && S_ISREG(p->st.st_mode) && !fstat(STDOUT_FILENO, &st) &&
	       p->st.st_dev == st.st_dev && p->st.st_ino == st.st_ino;
}

static int open_stdout(struct output *o)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (flags < 0 || flags & O_PATH || (flags & O_ACCMODE) == O_RDONLY)
		return err_of("standard output", NULL, -EBADF,
			      "can't write standard output: it is closed, or open for reading "
			      "only; write to a file");
	o->stream = stdout;
	return 0;
}

static int open_stream(struct output *o, const char *path, bool replace)
{
	int fd = replace ? open_to_replace(o, path) : place_open(&o->place, path);

	if (fd < 0)
		return fd;
	o->path = strdup(path);
	o->stream = o->path ? fdopen(fd, "w") : NULL;
	if (o->stream)
		return 0;
	close(fd);
	return err_sys(-ENOMEM, "can't write %s", path);
}

static int open_at(struct output *o, const char *path, bool chosen)
{
	struct place *p = &o->place;
	bool replace;
	int r;

	*o = (struct output){};
	r = place_find(p, path, !chosen);
	if (r)
		return r;
	replace = chosen || p->fd < 0 || (S_ISREG(p->st.st_mode) && !p->handed);
	r = is_stdout(p) ? open_stdout(o) : open_stream(o, path, replace);
	if (!o->replaces)
		place_fini(p);
	return r;
}

int output_open(struct output *o, const char *path)
{
	if (!streq(path, "-"))
		return open_at(o, path, false);
	*o = (struct output){};
	return open_stdout(o);
}

int output_open_chosen(struct output *o, const char *path)
{
	return open_at(o, path, true);
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
	r = output_open_chosen(o, there);
	if (r)
		rmdir(made);
	else
		o->made = TAKE_PTR(made);
	return r;
}

static bool link_as(int dir, const char *self, const char *name)
{
	return !linkat(AT_FDCWD, self, dir, name, AT_SYMLINK_FOLLOW);
}

/*
 * Gives the file, which has no name yet, its final name. If that name is in use, gives it a
 * temporary name, which is renamed later.
 */
static int name_it(struct output *o)
{
	const struct place *p = &o->place;
	char self[64];
	int r;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(o->stream));
	if (link_as(p->dir, self, p->name))
		return 0;
	r = -errno;
	for (int i = 0; r == -EEXIST && i < MAX_TRIES; i++) {
		r = choose_temporary(o);
		if (r)
			break;
		if (link_as(p->dir, self, o->temporary))
			return 0;
		r = -errno;
	}
	/*
	 * the file got no temporary name: another file, or none, has the name that was tried last
	 */
	free(TAKE_PTR(o->temporary));
	return r;
}

/* Writes what is still buffered, and closes the file. 0 or -errno. */
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
	const struct place *p = &o->place;
	int r = err_memory_failed() ? err_nomem() : close_stream(o);

	if (r)
		return err_sys(r, "can't write %s", o->path ? o->path : "standard output");
	/*
	 * rename() replaces a name. If somebody has put a link there meanwhile, the link is
	 * removed, not followed.
	 */
	if (o->temporary && renameat(p->dir, o->temporary, p->dir, p->name))
		return err_sys(-errno, "can't rename %s to %s", o->temporary, o->path);
	free(TAKE_PTR(o->temporary));
	free(TAKE_PTR(o->made));
	return 0;
}

bool output_same(const struct output *a, const struct output *b)
{
	struct stat in_a, in_b;

	return a->replaces && b->replaces && streq(a->place.name, b->place.name) &&
	       !fstat(a->place.dir, &in_a) && !fstat(b->place.dir, &in_b) &&
	       in_a.st_dev == in_b.st_dev && in_a.st_ino == in_b.st_ino;
}

void output_fini(struct output *o)
{
	if (o->stream && o->stream != stdout)
		fclose(o->stream);
	if (o->temporary)
		(void)!unlinkat(o->place.dir, o->temporary, 0);
	if (o->replaces)
		place_fini(&o->place);
	if (o->made)
		rmdir(o->made);
	free(o->made);
	free(o->temporary);
	free(o->path);
	*o = (struct output){};
}
