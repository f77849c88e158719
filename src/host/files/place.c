/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the directory that a path leads to, and opens it. It follows the path one component at a
 * time and checks each link, so that nobody can exchange a part of the path meanwhile. See place.h.
 */
#include "host/files/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"

/* how many links of one path are followed, the same as in the kernel (MAXSYMLINKS) */
#define MAX_LINKS 40

struct walk {
	struct place *p;
	const char *path; /* the path as the caller gave it, for messages */
	char *rest;	  /* the part of the path that isn't walked yet (heap) */
	bool follow;
	unsigned int links;
	bool said;     /* the error message is already set */
	int forbidden; /* -errno if the kernel refused to follow a link of the path; else 0 */
};

static const char *kind_of(mode_t mode)
{
	return S_ISLNK(mode) ? "a link" : S_ISFIFO(mode) ? "a FIFO" : "a device";
}

/*
 * Checks that the owner of file @name in directory @dir is trusted: krait's user or the directory's
 * owner. If not everybody may write to the directory, every owner is trusted. 0, or -EPERM +
 * message.
 */
static int check_owner(int dir, const char *path, const char *name, const struct stat *st)
{
	struct stat of_dir;

	if (fstat(dir, &of_dir))
		return err_sys(-errno, "can't write %s", path);
	if (!(of_dir.st_mode & S_IWOTH) || st->st_uid == geteuid() || st->st_uid == of_dir.st_uid)
		return 0;
	return err_set(-EPERM,
		       "can't write %s: '%s' is %s of another user (%u), in a directory that "
		       "everybody may write to; remove it or name another file",
		       path, name, kind_of(st->st_mode), st->st_uid);
}

/* Checks whether krait may follow the link @name. 0 or -errno. */
static int check_link(struct walk *w, const char *name, const struct stat *st)
{
	_cleanup_close_ int fd = -1;
	int r = ++w->links > MAX_LINKS ? -ELOOP : 0;

	if (r)
		return r;
	r = check_owner(w->p->dir, w->path, name, st);
	w->said = r;
	if (r)
		return r;
	/*
	 * Makes the kernel follow the link. If fs.protected_symlinks, a mount with nosymfollow or a
	 * security module forbids that, the call fails.
	 */
	fd = openat(w->p->dir, name, O_PATH | O_CLOEXEC);
	if (fd < 0 && errno != ENOENT)
		w->forbidden = -errno;
	return 0;
}

static void enter(struct walk *w, int dir)
{
	if (w->p->dir >= 0)
		close(w->p->dir);
	w->p->dir = dir;
}

static int enter_path(struct walk *w, const char *path)
{
	int dir = openat(w->p->dir >= 0 ? w->p->dir : AT_FDCWD, path,
			 O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return -errno;
	enter(w, dir);
	return 0;
}

/* Reads where the link @fd leads, and puts that text before the rest of the path, @w->rest. */
static int take_text(struct walk *w, int fd)
{
	char text[PATH_MAX], *made;
	ssize_t n = readlinkat(fd, "", text, sizeof(text));

	if (n < 0)
		return -errno;
	if (n == sizeof(text))
		return -ENAMETOOLONG;
	if (asprintf(&made, "%.*s%s", (int)n, text, w->rest) < 0)
		return -ENOMEM;
	free(w->rest);
	w->rest = made;
	return *made == '/' ? enter_path(w, "/") : 0;
}

/*
 * Tells whether the link @fd is in /proc. Only the kernel can follow some of the links there: those
 * to a process's open files and directories.
 */
static bool is_of_proc(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* Ends the walk. @fd: the file that the path leads to; -1: there is no such file. */
static int end_at(struct walk *w, const char *name, int fd, const struct stat *st)
{
	strcpy(w->p->name, name);
	w->p->fd = fd;
	if (fd < 0)
		return 1;
	w->p->st = *st;
	return S_ISDIR(st->st_mode) ? -EISDIR : 1;
}

static int follow_in_proc(struct walk *w, const char *name)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (*w->rest)
		return enter_path(w, name);
	fd = openat(w->p->dir, name, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	w->p->handed = true;
	return end_at(w, name, TAKE_FD(fd), &st);
}

/*
 * Removes the next component, and the slashes before it, from @w->rest. The slashes after it stay.
 */
static int next_name(struct walk *w, char name[static NAME_MAX + 1])
{
	size_t slashes = strspn(w->rest, "/"), n = strcspn(w->rest + slashes, "/");

	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, w->rest + slashes, n);
	name[n] = '\0';
	memmove(w->rest, w->rest + slashes + n, strlen(w->rest + slashes + n) + 1);
	return n ? 0 : -EISDIR; /* -EISDIR: the path is "/", or ends in a slash */
}

/*
 * Opens @name itself, not what it may link to, as O_PATH. With @directory, tries O_DIRECTORY first,
 * because that makes an automounter mount a directory. If it fails with ENOTDIR, as for a link,
 * opens @name without O_DIRECTORY.
 */
static int open_itself(int dir, const char *name, bool directory)
{
	const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir, name, flags | (directory ? O_DIRECTORY : 0));

	if (fd < 0 && errno == ENOTDIR && directory)
		fd = openat(dir, name, flags);
	return fd >= 0 ? fd : -errno;
}

/*
 * Walks one component of the path. 1: it was the last component; 0: more components follow; or
 * -errno.
 */
static int step(struct walk *w)
{
	char name[NAME_MAX + 1];
	int r = next_name(w, name);
	_cleanup_close_ int fd = -1;
	struct stat st;
	bool last = !*w->rest;

	if (r)
		return r;
	fd = open_itself(w->p->dir, name, !last);
	if (fd == -ENOENT && last)
		return end_at(w, name, -1, NULL);
	if (fd == -ENOENT && !w->rest[strspn(w->rest, "/")])
		/* -EISDIR: a path that ends in a slash, like "new/", can't name a new file */
		return -EISDIR;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	if (S_ISLNK(st.st_mode) && (!last || w->follow)) {
		r = check_link(w, name, &st);
		if (r)
			return r;
		return is_of_proc(fd) ? follow_in_proc(w, name) : take_text(w, fd);
	}
	if (last)
		return end_at(w, name, TAKE_FD(fd), &st);
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	enter(w, TAKE_FD(fd));
	return 0;
}

int place_find(struct place *p, const char *path, bool follow)
{
	struct walk w = {.p = p, .path = path, .rest = strdup(path), .follow = follow};
	int r = w.rest ? 0 : -ENOMEM;

	*p = PLACE_INIT;
	if (!r)
		r = *path ? enter_path(&w, *path == '/' ? "/" : ".") : -ENOENT;
	while (!r)
		r = step(&w);
	free(w.rest);
	if (r > 0)
		/* if there was no other error, the kernel's refusal of a link is the error */
		r = w.forbidden;
	if (!r)
		return 0;
	place_fini(p);
	return w.said ? r : err_sys(r, "can't write %s", path);
}

int place_open(const struct place *p, const char *path)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r = p->handed ? 0 : check_owner(p->dir, path, p->name, &p->st);

	if (r)
		return r;
	fd = openat(p->dir, p->name,
		    O_WRONLY | O_NOCTTY | O_CLOEXEC | (p->handed ? 0 : O_NOFOLLOW));
	if (fd < 0 || fstat(fd, &st))
		return err_sys(-errno, "can't write %s", path);
	/* @p->fd keeps the inode in use, so no other file can have got the same inode number. */
	if (st.st_dev != p->st.st_dev || st.st_ino != p->st.st_ino)
		return err_set(-EPERM, "can't write %s: another file has just been put there",
			       path);
	if (S_ISREG(st.st_mode) && ftruncate(fd, 0))
		return err_sys(-errno, "can't write %s", path);
	return TAKE_FD(fd);
}

void place_fini(struct place *p)
{
	if (p->dir >= 0)
		close(p->dir);
	if (p->fd >= 0)
		close(p->fd);
	*p = PLACE_INIT;
}
