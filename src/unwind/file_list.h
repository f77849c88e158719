/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which files a command mapped when it was recorded last: beside the rows in their cache, one list for each executable.
 * Like the rows it is believed only if nobody but its owner can have written it. What it names may be anything.
 */
#ifndef UNWIND_FILE_LIST_H
#define UNWIND_FILE_LIST_H

#include "unwind/cache.h"

/*
 * Calls @each for every path that was kept for @command, an absolute path, with the rights to files of whom the cache
 * belongs to. Nothing if there is no list.
 */
void file_list_read(const struct unwind_cache *c, const char *command,
		    void (*each)(void *arg, const char *path), void *arg);

/* Keeps the absolute ones of @n paths in place of what there was. 0 or -errno + message. */
_must_use_ int file_list_write(const struct unwind_cache *c, const char *command,
			       const char *const *path, size_t n);

#endif
