/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remembers which files a command mapped when it was recorded last. There is one list for each
 * executable, in the directory of cached rows. Like cached rows, a list is believed only if nobody
 * but the cache's user can have written it. The files that the list names may be any files.
 */
#ifndef UNWIND_FILE_LIST_H
#define UNWIND_FILE_LIST_H

#include "unwind/cache.h"

/*
 * Calls @each for every path in the list of @command, an absolute path, with the file rights of the
 * cache's user. Does nothing if there is no list.
 */
void file_list_read(const struct unwind_cache *c, const char *command,
		    void (*each)(void *arg, const char *path), void *arg);

/*
 * Stores those of the @n paths @path that are absolute as the list of @command, which replaces an
 * older list. 0 or -errno + message.
 */
_must_use_ int file_list_write(const struct unwind_cache *c, const char *command,
			       const char *const *path, size_t n);

#endif
