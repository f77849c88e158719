/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives krait descriptors that stand for files which a child of krait holds open, because their
 * file systems may never answer; see far.h.
 */
#include "base/system/far.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define NAME "krait-far-"
#define LINK "/memfd:"
/*
 * room for the beginning of a memory file's name: NAME and a secret, which the file's number
 * follows
 */
#define NAME_BYTES  64
#define BLOCK_BYTES ((uint64_t)4 << 10)
#define RUN_BLOCKS  32 /* how many blocks of a file that a child holds open are fetched at once */
/* the size in bytes of the largest file that far_copy() copies */
#define COPY_MAX ((uint64_t)8 << 30)

/*
 * A copy of a file, and which of its blocks have been fetched. Only the owner of the copy's
 * descriptor uses it.
 */
struct copy {
	int fd;
	uint64_t number, bytes;
	uint8_t *blocks;
};

/*
 * What is known of all files that a child of krait holds open (far.h). There is one such struct,
 * because descriptors too belong to the whole program.
 */
static struct {
	/*
	 * functions that read files through the child that holds them open; NULL: there is no such
	 * file yet
	 */
	const struct far_ops *_Atomic ops;
	pthread_mutex_t lock;
	VEC(struct copy *) copies;
	/* the beginning of the names of all memory files, set together with .ops */
	char prefix[NAME_BYTES];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * If @fd stands for a file that a child holds open, finds the number of that file. False: it
 * doesn't. The number is part of the memory file's name, so that closing the descriptor needs no
 * bookkeeping. The name also holds a secret, because a target may give any name to a memory file of
 * its own, and krait opens what targets map.
 */
static bool number_of(int fd, uint64_t *ret)
{
	char self[32], link[2 * NAME_BYTES] = "", *number, *end;

	if (!all.ops)
		return false;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (readlink(self, link, sizeof(link) - 1) <= 0 || !str_starts(link, LINK) ||
	    !str_starts(link + strlen(LINK), all.prefix))
		return false;
	number = link + strlen(LINK) + strlen(all.prefix);
	*ret = strtoull(number, &end, 10);
	return end > number;
}

/* Chooses how the names of memory files begin, before the first memory file is made. */
static int begin(const struct far_ops *ops)
{
	uint64_t secret[2];
	int r = 0;

	pthread_mutex_lock(&all.lock);
	if (!all.ops && getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		r = -EIO;
	if (!all.ops && !r) {
		snprintf(all.prefix, sizeof(all.prefix), NAME "%016llx%016llx-",
			 (unsigned long long)secret[0], (unsigned long long)secret[1]);
		all.ops = ops;
	}
	pthread_mutex_unlock(&all.lock);
	return r;
}

int far_new(const struct far_ops *ops, uint64_t number, uint64_t bytes)
{
	_cleanup_close_ int fd = -1;
	char name[NAME_BYTES + 24];
	int r = begin(ops);

	if (r)
		return r;
	snprintf(name, sizeof(name), "%s%llu", all.prefix, (unsigned long long)number);
	fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return -errno;
	return TAKE_FD(fd);
}

bool far_is(int fd)
{
	uint64_t number;

	return number_of(fd, &number);
}

ssize_t far_pread(int fd, void *bytes, size_t n, off_t offset)
{
	uint64_t number;
	ssize_t got;

	if (!number_of(fd, &number))
		return pread(fd, bytes, n, offset);
	got = all.ops->read(number, bytes, n, (uint64_t)offset);
	if (got >= 0)
		return got;
	errno = (int)-got;
	return -1;
}

int far_stat(int fd, struct stat *ret)
{
	uint64_t number;
	int r;

	if (!number_of(fd, &number))
		return fstat(fd, ret);
	r = all.ops->stat(number, ret);
	if (!r)
		return 0;
	errno = -r;
	return -1;
}

static int add_copy(struct copy *c)
{
	int r;

	pthread_mutex_lock(&all.lock);
	r = vec_push(&all.copies, c);
	pthread_mutex_unlock(&all.lock);
	return r;
}

static struct copy *find_copy(int fd, bool take)
{
	struct copy *found = NULL;

	pthread_mutex_lock(&all.lock);
	for (size_t i = 0; !found && i < all.copies.n; i++) {
		if (all.copies.v[i]->fd != fd)
			continue;
		found = all.copies.v[i];
		if (take)
			all.copies.v[i] = all.copies.v[--all.copies.n];
	}
	pthread_mutex_unlock(&all.lock);
	return found;
}

static void copy_free(struct copy *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->blocks);
	free(c);
}

int far_copy(int fd)
{
	uint64_t number;
	struct stat st;
	struct copy *c;
	int r;

	if (!number_of(fd, &number))
		return -EINVAL;
	if (fstat(fd, &st) || (uint64_t)st.st_size > COPY_MAX)
		return -EFBIG;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct copy){far_new(all.ops, number, (uint64_t)st.st_size), number,
			   (uint64_t)st.st_size};
	c->blocks = calloc(1, c->bytes / BLOCK_BYTES / 8 + 1);
	r = c->fd < 0 ? c->fd : !c->blocks ? -ENOMEM : add_copy(c);
	if (!r)
		return c->fd;
	copy_free(c);
	return r;
}

void far_drop(int fd)
{
	struct copy *c = fd < 0 ? NULL : find_copy(fd, true);

	if (c)
		copy_free(c);
}

static bool is_there(const struct copy *c, uint64_t block)
{
	return c->blocks[block / 8] >> block % 8 & 1;
}

/*
 * Fetches all @n_blocks blocks or none. A partly filled block isn't kept: a reader would take the
 * zeros at its end for the file's contents.
 */
static bool fetch_run(struct copy *c, uint64_t first, uint64_t n_blocks, char *bytes)
{
	uint64_t at = first * BLOCK_BYTES;
	size_t n = MIN(n_blocks * BLOCK_BYTES, c->bytes - at);

	if (all.ops->read(c->number, bytes, n, at) != (ssize_t)n ||
	    pwrite(c->fd, bytes, n, (off_t)at) != (ssize_t)n)
		return false;
	for (uint64_t i = first; i < first + n_blocks; i++)
		c->blocks[i / 8] |= (uint8_t)(1u << i % 8);
	return true;
}

static bool fetch_blocks(struct copy *c, uint64_t first, uint64_t end)
{
	_cleanup_free_ char *bytes = NULL;

	for (uint64_t n; first < end; first += n) {
		for (n = 0; n < RUN_BLOCKS && first + n < end && !is_there(c, first + n);)
			n++;
		if (!n) {
			n = 1;
			continue;
		}
		bytes = bytes ?: malloc(RUN_BLOCKS * BLOCK_BYTES);
		if (!bytes || !fetch_run(c, first, n, bytes))
			return false;
	}
	return true;
}

bool far_fetch(int fd, uint64_t offset, uint64_t n)
{
	struct copy *c = all.ops ? find_copy(fd, false) : NULL;
	uint64_t end;

	if (!c)
		return !far_is(fd);
	if (offset >= c->bytes || !n)
		return true; /* the file ends before @offset, so there is nothing to fetch */
	end = offset + MIN(n, c->bytes - offset);
	return fetch_blocks(c, offset / BLOCK_BYTES, (end + BLOCK_BYTES - 1) / BLOCK_BYTES);
}
