/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps unwind rows of files in a directory; see cache.h. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/system/caps.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/far.h"
#include "unwind/cache_file.h"

#define SUFFIX	    ".rows"
#define TMP_SECONDS 3600 /* a temporary file older than this was left by a krait that was killed */
#define NAME_BYTES  (2 * ELF_BUILD_ID_MAX + 64)
/* build ids with fewer bytes don't tell files apart, so their rows aren't cached */
#define LEAST_ID 8

struct unwind_cache {
	char *path;
	uid_t uid;
	gid_t gid;
	bool become;
};

struct unwind_cache *unwind_cache_new(const char *dir, uid_t uid, gid_t gid, bool become)
{
	struct unwind_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct unwind_cache){.path = strdup(dir), .uid = uid, .gid = gid, .become = become};
	if (!c->path) {
		free(c);
		return NULL;
	}
	return c;
}

void unwind_cache_free(struct unwind_cache *c)
{
	if (c)
		free(c->path);
	free(c);
}

/*
 * Takes the file rights of the cache's user. setfsuid(2) changes this thread only, unlike setuid().
 * The kernel then takes away the capabilities that let root use other users' files. leave()
 * restores the capabilities that were in effect before.
 */
static uint64_t enter(const struct unwind_cache *c)
{
	uint64_t caps;

	if (!c->become)
		return 0;
	caps = caps_raise(CAPS_IDS);
	setfsgid(c->gid);
	setfsuid(c->uid);
	return caps;
}

static void leave(const struct unwind_cache *c, uint64_t caps)
{
	if (!c->become)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
	caps_restore(caps);
}

/* Makes the last two directories of the cache's path: $XDG_CACHE_HOME and krait's own. */
static void make_dir(const struct unwind_cache *c)
{
	_cleanup_free_ char *parent = strdup(c->path);
	char *slash = parent ? strrchr(parent, '/') : NULL;

	if (!slash || slash == parent)
		return;
	*slash = '\0';
	(void)mkdir(parent, 0700);
	(void)mkdir(c->path, 0700);
}

static int open_dir(const struct unwind_cache *c, bool make)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (make)
		make_dir(c);
	fd = open(c->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(-errno, "can't open '%s'", c->path);
	if (!unwind_cache_is_ours(fd, c->uid, S_IFDIR, &st))
		return err_set(-EPERM, "'%s' isn't used: other users can write to it", c->path);
	return TAKE_FD(fd);
}

int unwind_cache_enter(const struct unwind_cache *c, bool make, uint64_t *caps)
{
	*caps = enter(c);
	return open_dir(c, make);
}

void unwind_cache_leave(const struct unwind_cache *c, uint64_t caps)
{
	leave(c, caps);
}

bool unwind_cache_owns(const struct unwind_cache *c, int fd, mode_t type, struct stat *st)
{
	return unwind_cache_is_ours(fd, c->uid, type, st);
}

static bool is_worth(const struct unwind_cache_key *key)
{
	return key->n >= LEAST_ID && key->n <= ELF_BUILD_ID_MAX;
}

static void file_name(const struct unwind_cache_key *key, char name[static NAME_BYTES])
{
	size_t at = 0;

	for (size_t i = 0; i < key->n; i++)
		at += snprintf(name + at, 3, "%02x", key->id[i]);
	snprintf(name + at, NAME_BYTES - at, "-%llx-%llu" SUFFIX, (unsigned long long)key->bytes,
		 (unsigned long long)key->owner);
}

/*
 * Returns true if it is certain that only root and the cache's user can write to the file. Returns
 * false on file systems that are mounted without set-user-id programs (a user's medium, FUSE): a
 * user may have chosen the owners that such a file system shows. On all other file systems the
 * kernel itself sets the time of the last change (ctime), which shows whether a file has changed.
 */
static bool is_out_of_reach(const struct unwind_cache *c, int fd, const struct stat *st)
{
	struct statvfs fs;

	return (st->st_uid == 0 || st->st_uid == c->uid) && !(st->st_mode & (S_IWGRP | S_IWOTH)) &&
	       !far_is(fd) && !fstatvfs(fd, &fs) && !(fs.f_flag & ST_NOSUID);
}

static struct unwind_cache_version version_of(const struct unwind_cache *c, int fd,
					      const struct stat *st)
{
	if (!is_out_of_reach(c, fd, st))
		return (struct unwind_cache_version){};
	return (struct unwind_cache_version){.dev = st->st_dev,
					     .ino = st->st_ino,
					     .mtime_ns = (int64_t)timespec_ns(st->st_mtim),
					     .ctime_ns = (int64_t)timespec_ns(st->st_ctim)};
}

/*
 * A file's times prove that it is unchanged only if its last change is at least this long ago. Two
 * changes within one tick of the file system's clock have the same time, so the second of two
 * changes wouldn't show.
 */
#define SETTLED_SECONDS 2

static bool is_settled(const struct unwind_cache_version *v)
{
	return v->ino && time(NULL) - v->ctime_ns / (int64_t)NSEC_PER_SEC >= SETTLED_SECONDS;
}

static bool is_version(const struct unwind_cache_version *a, const struct unwind_cache_version *b)
{
	return a->ino && !memcmp(a, b, sizeof(*a));
}

struct unwind_cache_key unwind_cache_key_of(const struct unwind_cache *c, struct elf_file *f,
					    int fd)
{
	struct unwind_cache_key key = {};
	struct stat st;

	if (far_stat(fd, &st))
		return key;
	key.n = elf_file_build_id(f, key.id);
	key.bytes = st.st_size;
	key.owner = st.st_uid;
	key.version = version_of(c, fd, &st);
	return key;
}

/* Tells whether the cached rows belong to the ELF file @f. @fd: the cache file. */
static bool is_proved(int fd, const struct unwind_cache_key *key, struct elf_file *f,
		      const struct unwind_cache_proof *proof)
{
	if (is_version(&key->version, &proof->version))
		return true;
	if (!f || !elf_reads_are(f, &proof->places, proof->hash))
		return false;
	if (is_settled(&key->version))
		unwind_cache_write_version(fd, &key->version);
	return true;
}

static bool load(const struct unwind_cache *c, const struct unwind_cache_key *key,
		 struct elf_file *f, struct unwind_rows *ret)
{
	_cleanup_close_ int dir = open_dir(c, false), fd = -1;
	struct unwind_cache_proof proof = {};
	char name[NAME_BYTES];
	bool good;

	if (dir < 0)
		return false;
	file_name(key, name);
	fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == EROFS)
		fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	good = unwind_cache_read(fd, c->uid, key, ret, &proof) && is_proved(fd, key, f, &proof);
	vec_fini(&proof.places);
	if (good)
		/* sets the cache file's times to now, as the time of its last use */
		(void)futimens(fd, NULL);
	return good;
}

bool unwind_cache_load(struct unwind_cache *c, const struct unwind_cache_key *key,
		       struct elf_file *f, struct unwind_rows *ret)
{
	uint64_t caps;
	bool there;

	*ret = (struct unwind_rows){};
	if (!is_worth(key))
		return false;
	caps = enter(c);
	there = load(c, key, f, ret);
	leave(c, caps);
	if (!there) {
		unwind_rows_fini(ret);
		*ret = (struct unwind_rows){};
	}
	return there;
}

static int store(const struct unwind_cache *c, int dir, const struct unwind_cache_key *key,
		 const struct unwind_rows *rows, const struct unwind_cache_proof *proof)
{
	char name[NAME_BYTES], tmp[NAME_BYTES + 32];
	_cleanup_close_ int fd = -1;
	int r;

	file_name(key, name);
	snprintf(tmp, sizeof(tmp), "%s.%d" UNWIND_CACHE_TMP, name, getpid());
	(void)unlinkat(dir, tmp, 0);
	fd = openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(-errno, "can't write to '%s'", c->path);
	r = unwind_cache_write(fd, key, rows, proof);
	if (!r && renameat(dir, tmp, dir, name))
		r = -errno;
	if (!r)
		return 0;
	(void)unlinkat(dir, tmp, 0);
	return err_sys(r, "can't write to '%s'", c->path);
}

struct entry {
	char *name;
	struct timespec used;
	uint64_t bytes;
};
typedef VEC(struct entry) entry_vec;

static int oldest_first(const void *a, const void *b)
{
	const struct timespec *x = &((const struct entry *)a)->used,
			      *y = &((const struct entry *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/*
 * Looks at file @name in the cache's directory. Adds it to @list if it is a cache file. Removes it
 * if it is a temporary file whose writing was never finished.
 */
static void look_at(int dir, const char *name, entry_vec *list, uint64_t *sum)
{
	struct stat st;
	struct entry e;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return;
	if (str_ends(name, UNWIND_CACHE_TMP) && time(NULL) - st.st_mtime > TMP_SECONDS)
		(void)unlinkat(dir, name, 0);
	if (!str_ends(name, SUFFIX) && !str_ends(name, FILE_LIST_SUFFIX))
		return;
	e = (struct entry){strdup(name), st.st_mtim, st.st_size};
	if (e.name && vec_push(list, e)) {
		free(e.name);
		return;
	}
	*sum += e.name ? e.bytes : 0;
}

static void trim(int dir, uint64_t most)
{
	_cleanup_closedir_ DIR *d = NULL;
	entry_vec list = {};
	uint64_t sum = 0;
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	d = fd >= 0 ? fdopendir(fd) : NULL;
	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(d));)
		look_at(dir, e->d_name, &list, &sum);
	if (list.n)
		qsort(list.v, list.n, sizeof(*list.v), oldest_first);
	vec_foreach(e, &list) {
		if (sum > most && !unlinkat(dir, e->name, 0))
			sum -= e->bytes;
		free(e->name);
	}
	vec_fini(&list);
}

void unwind_cache_trim(struct unwind_cache *c, uint64_t most)
{
	_cleanup_close_ int dir = -1;
	uint64_t caps;

	caps = enter(c);
	dir = open_dir(c, false);
	if (dir >= 0)
		trim(dir, most);
	leave(c, caps);
}

static bool is_made_here(const char *name)
{
	return str_ends(name, SUFFIX) || str_ends(name, FILE_LIST_SUFFIX) ||
	       str_ends(name, UNWIND_CACHE_TMP);
}

/*
 * Removes krait's files in @dir, and closes @dir. Returns the number of removed files, or -errno.
 */
static int remove_files(int dir)
{
	_cleanup_closedir_ DIR *d = fdopendir(dir);
	int n = 0;

	if (!d) {
		close(dir);
		return -ENOMEM;
	}
	for (struct dirent *e; (e = readdir(d));) {
		if (!is_made_here(e->d_name))
			continue;
		if (unlinkat(dir, e->d_name, 0))
			return -errno;
		n++;
	}
	return n;
}

int unwind_cache_forget(struct unwind_cache *c)
{
	uint64_t caps = enter(c);
	int dir = open_dir(c, false);
	int r = dir < 0 ? dir : remove_files(dir);

	if (dir >= 0 && r < 0)
		err_sys(r, "can't empty '%s'", c->path);
	if (r >= 0)
		(void)rmdir(c->path);
	leave(c, caps);
	return r;
}

/*
 * Returns the version in @key if it proves that the ELF file @fd is unchanged. @key was made before
 * the file was read. Since then the file must not have changed, and its last change must be
 * SETTLED_SECONDS ago. Else returns an empty version.
 */
static struct unwind_cache_version settled(const struct unwind_cache *c, int fd,
					   const struct unwind_cache_key *key)
{
	const struct unwind_cache_version none = {};
	struct unwind_cache_version now;
	struct stat st;

	if (far_stat(fd, &st))
		return none;
	now = version_of(c, fd, &st);
	return is_version(&key->version, &now) && is_settled(&now) ? now : none;
}

int unwind_cache_store(struct unwind_cache *c, const struct unwind_cache_key *key,
		       const struct unwind_rows *rows, struct elf_reads *reads, int fd)
{
	struct unwind_cache_proof proof = {.version = settled(c, fd, key)};
	_cleanup_close_ int dir = -1;
	uint64_t caps;
	int r;

	if (!is_worth(key) || rows->rows.n < UNWIND_CACHE_LEAST_ROWS ||
	    !elf_reads_end(reads, proof.hash))
		return 0;
	/*
	 * the proof keeps a pointer to the list of the ranges of bytes that were read, which
	 * belongs to @reads
	 */
	memcpy(&proof.places, &reads->places, sizeof(proof.places));
	caps = enter(c);
	dir = open_dir(c, true);
	r = dir < 0 ? dir : store(c, dir, key, rows, &proof);
	if (!r)
		trim(dir, UNWIND_CACHE_MOST);
	leave(c, caps);
	return r;
}
