/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source text of code that no file has: a notebook's cell, what a library makes at run time. Whoever compiles it puts its
 * lines into linecache.cache, for tracebacks; there they are read.
 */
#ifndef PYTHON_CACHED_TEXT_H
#define PYTHON_CACHED_TEXT_H

#include <sys/types.h>

#include "base/str.h"
#include "layout.h"

/* Could @file, a code object's co_filename, be such code's, with lines of its own? */
bool py_text_may_be_cached(const char *file);

/*
 * Appends linecache.cache[@file][2] of the live process @pid, a newline behind each line; @where: absolute
 * addresses. Up to 256 KiB. 0; -ENOENT: it isn't there; -E2BIG: too long; -ENOTSUP: this version's dicts can't be read;
 * -EINVAL: not lines; -errno. What was appended then is nothing. No messages.
 */
_must_use_ int py_cached_text(pid_t pid, const struct py_layout *layout,
			      const struct py_where *where, const char *file, struct str *ret);

#endif
