/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the compiled rows of large ELF files on disk, so that the next run needn't compile them.
 * Each ELF file has one cache file, in a directory of one user's own. Everything that is found in
 * the directory is checked: owner, mode, length, checksum, and that the rows have the form that
 * rows/rows.h describes. A cache file that fails a check isn't used.
 *
 * The build id and the size of an ELF file only serve to find its rows. They prove nothing, because
 * anybody may make a file with the same build id and size. Rows are valid for the bytes that they
 * were made from (docs/decisions/0016-rows-on-disk.md). If only root and the cache's user can
 * change a file, the time of the file's last change proves that it still has these bytes. Else a
 * hash of all bytes that were read proves that.
 */
#ifndef UNWIND_CACHE_H
#define UNWIND_CACHE_H

#include <sys/types.h>
#include "elf/elf_file.h"
#include "elf/elf_reads.h"
#include "unwind/rows/rows.h"

struct unwind_cache;

/*
 * Rows of a file with fewer rows than this aren't cached, because they are compiled as fast as they
 * would be read.
 */
#define UNWIND_CACHE_LEAST_ROWS 20000
/*
 * The most bytes of all cache files together; the cache files that haven't been used for the
 * longest time are removed.
 */
#define UNWIND_CACHE_MOST ((uint64_t)256 << 20)

/*
 * Makes a cache in directory @dir (copied), which is created when it is needed. The directory and
 * its files must belong to @uid. With @become, the calling thread takes @uid and @gid while it
 * examines and makes the directory and its files; other threads keep their ids. NULL: no memory.
 * Doesn't touch a file yet. Only one thread at a time may use the cache.
 */
struct unwind_cache *unwind_cache_new(const char *dir, uid_t uid, gid_t gid, bool become);
void unwind_cache_free(struct unwind_cache *c); /* @c may be NULL */

/*
 * What stat() shows of a file. As long as this stays the same, the file hasn't changed. If .ino is
 * 0, the file's times prove nothing.
 */
struct unwind_cache_version {
	uint64_t dev, ino;
	int64_t mtime_ns, ctime_ns;
};

/*
 * The key by which the rows of an ELF file are found in the cache, if this build of krait wrote
 * them. The files of each owner have entries of their own, which other users' files don't displace.
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
 * Stores rows if there are at least UNWIND_CACHE_LEAST_ROWS. A cache file is written as a whole or
 * not at all.
 * @reads: which parts of the ELF file were read to make the rows; after the call nothing can be
 * added to @reads.
 * @fd: the ELF file; if it has changed since @key, its times count as no proof. 0 or -errno +
 * message.
 */
_must_use_ int unwind_cache_store(struct unwind_cache *c, const struct unwind_cache_key *key,
				  const struct unwind_rows *rows, struct elf_reads *reads, int fd);

/*
 * Removes the cache files that haven't been used for the longest time, until the rest has at most
 * @most bytes together. unwind_cache_store() also does this, with UNWIND_CACHE_MOST.
 */
void unwind_cache_trim(struct unwind_cache *c, uint64_t most);

/*
 * Removes all files that krait made in the cache's directory, and then the directory if it is
 * empty. Returns the number of files. On failure returns -errno with a message; -ENOENT: there is
 * no such directory.
 */
_must_use_ int unwind_cache_forget(struct unwind_cache *c);

#endif
