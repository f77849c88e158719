/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the compiled rows of large ELF files on disk, so that the next run needn't compile them.
 * Each ELF file has one cache file, in a directory of one user's own. Everything that is found in
 * the directory is checked: owner, mode, length, checksum, and that the rows are what rows/rows.h
 * promises. A cache file that fails a check isn't used.
 *
 * Build id and size only serve to find rows. They prove nothing, because anybody may make a file
 * with the same build id and size. Rows hold for the bytes that they were made from
 * (docs/decisions/0016-rows-on-disk.md). If only root and the cache's user can change a file, the
 * time of its last change proves that it has these bytes. Else a hash of all bytes that were read
 * proves that.
 */
#ifndef UNWIND_CACHE_H
#define UNWIND_CACHE_H

#include <sys/types.h>
#include "elf/elf_file.h"
#include "elf/elf_reads.h"
#include "unwind/rows/rows.h"

struct unwind_cache;

/* A file with fewer rows isn't cached: it is compiled as fast as its rows would be read. */
#define UNWIND_CACHE_LEAST_ROWS 20000
/*
 * The most bytes of all cache files together; the files that weren't used for longest are removed.
 */
#define UNWIND_CACHE_MOST ((uint64_t)256 << 20)

/*
 * @dir (copied) is the cache's directory, which is made when it is needed. It and its files must
 * belong to @uid. With @become, the calling thread takes @uid and @gid while it examines and makes
 * the directory and its files; other threads keep their ids. NULL: no memory. Touches no file yet.
 * Used by one thread at a time.
 */
struct unwind_cache *unwind_cache_new(const char *dir, uid_t uid, gid_t gid, bool become);
void unwind_cache_free(struct unwind_cache *c); /* @c may be NULL */

/*
 * What stat() shows of a file. As long as that stays the same, the file hasn't changed. .ino 0: the
 * file's times can't prove that.
 */
struct unwind_cache_version {
	uint64_t dev, ino;
	int64_t mtime_ns, ctime_ns;
};

/*
 * The key by which rows are found in the cache; only rows of this build of krait are found. Each
 * owner's files have entries of their own, which other users' files don't displace.
 */
struct unwind_cache_key {
	uint8_t id[ELF_BUILD_ID_MAX];
	/* how many bytes of .id are used; 0 = the file has no build id, and nothing is cached */
	size_t n;
	uint64_t bytes;
	uint64_t owner; /* uid of the owner of the ELF file */
	struct unwind_cache_version version;
};

/*
 * Returns the key of @f's rows in the cache, as the file is now; @fd is its descriptor. Get the key
 * before the file is read, so that a later change shows.
 */
struct unwind_cache_key unwind_cache_key_of(const struct unwind_cache *c, struct elf_file *f,
					    int fd);

/*
 * Gets the rows that are stored for @key. True: *ret is what unwind_rows_read() makes of the bytes
 * in @f. False: *ret is empty.
 */
bool unwind_cache_load(struct unwind_cache *c, const struct unwind_cache_key *key,
		       struct elf_file *f, struct unwind_rows *ret);

/*
 * Stores rows if there are enough of them. A cache file is written as a whole or not at all.
 * @reads: which parts of the ELF file were read to make the rows; afterwards no more can be added
 * to it.
 * @fd: the ELF file; if it has changed since @key, its times count as no proof. 0 or -errno +
 * message.
 */
_must_use_ int unwind_cache_store(struct unwind_cache *c, const struct unwind_cache_key *key,
				  const struct unwind_rows *rows, struct elf_reads *reads, int fd);

/*
 * Removes the cache files that weren't used for longest, until all have at most @most bytes;
 * unwind_cache_store() does this too, with UNWIND_CACHE_MOST.
 */
void unwind_cache_trim(struct unwind_cache *c, uint64_t most);

/*
 * Removes all files that krait made in the cache's directory, and the directory if it is empty
 * then. Returns the number of files. -ENOENT: there is no such directory; -errno; both with a
 * message.
 */
_must_use_ int unwind_cache_forget(struct unwind_cache *c);

#endif
