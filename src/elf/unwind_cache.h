/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiled rows of large files on disk, by build id: the next run has them at once. One file for each in
 * a directory of one user's own. Whatever lies there is checked: owner, mode, length, checksum, and that
 * the rows are what unwind_rows.h promises; what isn't right isn't there.
 */
#ifndef ELF_UNWIND_CACHE_H
#define ELF_UNWIND_CACHE_H

#include <sys/types.h>
#include "elf/elf_file.h"
#include "elf/unwind_rows.h"

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

/* What makes a file's rows what they are, besides this build of krait. */
struct unwind_cache_key {
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t n; /* bytes of .id, 0 = none: nothing is kept */
	uint64_t bytes;
};

/* True: *ret is as unwind_rows_read() left it. Else it is empty. */
bool unwind_cache_load(struct unwind_cache *c, const struct unwind_cache_key *key,
		       struct unwind_rows *ret);

/* Keeps them if they are worth it. Whole or not at all. 0 or -errno + message. */
_must_use_ int unwind_cache_store(struct unwind_cache *c, const struct unwind_cache_key *key,
				  const struct unwind_rows *rows);

/* Removes what is too much; unwind_cache_store() does it. @most: bytes. */
void unwind_cache_trim(struct unwind_cache *c, uint64_t most);

#endif
