/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads and writes files of cached rows, which have a header, rows, rules, functions. Only the
 * build of krait that wrote such a file reads it.
 */
#ifndef UNWIND_CACHE_FILE_H
#define UNWIND_CACHE_FILE_H

#include <sys/stat.h>
#include "unwind/cache.h"

/*
 * Is file @fd of type @type, does it belong to @uid, and can nobody else write to it? Sets *@st to
 * its stat.
 */
bool unwind_cache_is_ours(int fd, uid_t uid, mode_t type, struct stat *st);

/*
 * Endings of the names of files in the cache's directory that have no rows: unfinished files, and
 * lists (file_list.h).
 */
#define UNWIND_CACHE_TMP ".tmp"
#define FILE_LIST_SUFFIX ".files"

/*
 * Takes the file rights of the cache's user, and opens the cache's directory. @make: makes the
 * directory if it is missing. Returns the descriptor, or -errno + message. Call
 * unwind_cache_leave() with *@caps also after a failure.
 */
_must_use_ int unwind_cache_enter(const struct unwind_cache *c, bool make, uint64_t *caps);
void unwind_cache_leave(const struct unwind_cache *c, uint64_t caps);
/*
 * Is file @fd of type @type, does it belong to the user of cache @c, and can nobody else write to
 * it? Sets *@st to its stat.
 */
bool unwind_cache_owns(const struct unwind_cache *c, int fd, mode_t type, struct stat *st);

/* The proof that cached rows belong to an ELF file: the file's version, or a hash. */
struct unwind_cache_proof {
	struct unwind_cache_version version;
	uint8_t hash[BLAKE2_BYTES];
	elf_place_vec places;
};

/*
 * Reads rows and their proof from the cache file @fd, from its beginning. False: the file wasn't
 * written for @key, or is damaged; *ret and *proof may be filled in part.
 */
bool unwind_cache_read(int fd, uid_t uid, const struct unwind_cache_key *key,
		       struct unwind_rows *ret, struct unwind_cache_proof *proof);
/*
 * Writes the rows and their proof to @fd, in the form that unwind_cache_read() reads. 0 or -errno.
 */
_must_use_ int unwind_cache_write(int fd, const struct unwind_cache_key *key,
				  const struct unwind_rows *rows,
				  const struct unwind_cache_proof *proof);
/*
 * Stores @version in the cache file @fd: the version of an ELF file that was just read and proven
 * to have the bytes from which the rows were made. From then on, this version proves that the rows
 * belong to the ELF file.
 */
void unwind_cache_write_version(int fd, const struct unwind_cache_version *version);

#endif
