/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the source text of code without a file: a notebook's cell, or code that a library compiles
 * at run time. For tracebacks, the notebook or library puts the lines into linecache.cache, where
 * krait reads these lines.
 */
#ifndef PYTHON_HEAP_CACHED_TEXT_H
#define PYTHON_HEAP_CACHED_TEXT_H

#include <sys/types.h>

#include "base/text/str.h"
#include "layout.h"

/* Tells whether @file, a co_filename, may belong to code whose source lines only linecache has. */
bool py_text_may_be_cached(const char *file);

/*
 * Appends linecache.cache[@file][2] of the live process @pid, with a newline after each line; up to
 * 256 KiB. The addresses in @where are absolute. Returns 0; -ENOENT: there is no such entry;
 * -E2BIG: the text is too long; -ENOTSUP: the dicts of this version can't be read; -EINVAL: the
 * entry has no lines of text; -errno. Failures append nothing and leave no message.
 */
_must_use_ int py_cached_text(pid_t pid, const struct py_layout *layout,
			      const struct py_where *where, const char *file, struct str *ret);

#endif
