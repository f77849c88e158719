/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiled rows of large files on disk: the next run has them at once. One file for each in a
 * directory of one user's own. Whatever lies there is checked: owner, mode, length, checksum, and
 * that the rows are what rows/rows.h promises; what isn't right isn't there.
 *
 * Build id and size only find rows: both are what a file says of itself, and anybody may say the
 * same. Rows serve the bytes that they were made from (docs/decisions/0016-rows-on-disk.md). That
 * is proved by the time of the last change, of a file that only root and the cache's user can
 * change; else by a hash of all that was read.
 */
#ifndef UNWIND_CACHE_H
#define UNWIND_CACHE_H

#include <sys/types.h>
#include "elf/elf_file.h"
#include "elf/elf_reads.h"
#include "unwind/rows/rows.h"

struct unwind_cache;

/* Files with fewer rows are compiled as fast as they are read. */
#define UNWIND_CACHE_LEAST_ROWS 20000
/* All files together, bytes; those that weren't used for longest are removed. */
#define UNWIND_CACHE_MOST ((uint64_t)256 << 20)

/*
 * In directory @dir (copied), which is made when it is needed. It and its files must belong to @uid;
 * with @become they are looked at and made as @uid and @gid, by the calling thread alone. NULL on out
 * of memory. Touches nothing yet. Used by one thread at a time.
 */
struct unwind_cache *unwind_cache_new(const char *dir, uid_t uid, gid_t gid, bool become);
void unwind_cache_free(struct unwind_cache *c); /* NULL is fine */

/* A file that hasn't changed since; .ino 0: nobody can say that. */
struct unwind_cache_version {
	uint64_t dev, ino;
	int64_t mtime_ns, ctime_ns;
};

/*
 * Of a file, besides this build of krait. Users' files have entries of their own, which others'
 * don't displace.
 */
struct unwind_cache_key {
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t n; /* bytes of .id, 0 = none: nothing is kept */
	uint64_t bytes;
	uint64_t owner; /* uid */
	struct unwind_cache_version version;
};

/* The key of @f, whose descriptor is @fd, as it is now. Get it before the file is read. */
struct unwind_cache_key unwind_cache_key_of(const struct unwind_cache *c, struct elf_file *f,
					    int fd);

/* True: *ret is as unwind_rows_read() left it, of the bytes that are in @f. Else it is empty. */
bool unwind_cache_load(struct unwind_cache *c, const struct unwind_cache_key *key,
		       struct elf_file *f, struct unwind_rows *ret);

/*
 * Keeps rows if they are worth it. Whole or not at all. @reads: all that was read to make them; it
 * takes no more. @fd: the file, whose last change is looked at again. 0 or -errno + message.
 */
_must_use_ int unwind_cache_store(struct unwind_cache *c, const struct unwind_cache_key *key,
				  const struct unwind_rows *rows, struct elf_reads *reads, int fd);

/* Removes what is too much; unwind_cache_store() does it. @most: bytes. */
void unwind_cache_trim(struct unwind_cache *c, uint64_t most);

/*
 * Removes all that krait made there, and the directory if nothing else is in it. Returns how many
 * files; -ENOENT if there is no such directory, -errno; both with a message.
 */
_must_use_ int unwind_cache_forget(struct unwind_cache *c);

#endif
