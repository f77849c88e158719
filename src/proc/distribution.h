/* SPDX-License-Identifier: BSD-2-Clause */
/* Which packages were installed together: those of the wheel (or egg) that a file came with. */
#ifndef PROC_DISTRIBUTION_H
#define PROC_DISTRIBUTION_H

#include "base/str.h"

/* Where the module's name begins in @path: bytes up to the last site-packages/ or dist-packages/, 0: it has none. */
size_t distribution_site(const char *path);

/*
 * Appends the packages that were installed with @path as the process at @procdir sees it, each once, a blank between them. A
 * child looks, with the rights of the process's user. 0; -ENOENT: nothing says it; -EAGAIN: the time
 * was over, the next try gets further; -errno.
 */
_must_use_ int distribution_of(int procdir, const char *path, struct str *ret);

/*
 * The same from the text of a RECORD, which has a file in each line, if @file (below site-packages/) is among them; and of a
 * top_level.txt, if the package @file begins with is. False: it isn't. Both may be anything.
 */
bool distribution_from_record(const char *text, const char *file, struct str *ret);
bool distribution_from_top_level(const char *text, const char *file, struct str *ret);

/* The package that pip's and uv's console scripts import from: "from shop.cli import main". */
void distribution_from_script(const char *text, struct str *ret);

#endif
