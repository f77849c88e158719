/* SPDX-License-Identifier: BSD-2-Clause */
/* Which packages were installed together: those of the wheel (or egg) that a file belongs to. */
#ifndef PROC_DISTRIBUTION_H
#define PROC_DISTRIBUTION_H

#include "base/text/str.h"

/*
 * Returns how many bytes of @path come before the module's name: up to the end of the last
 * site-packages/ or dist-packages/. 0: @path has neither.
 */
size_t distribution_site(const char *path);

/*
 * Appends the packages that were installed together with @path, as the process at @procdir sees
 * that path. Each package comes once, with a space between two packages. A child of krait searches,
 * with the rights of the process's user. 0; -ENOENT: no distribution names the file; -EAGAIN: the
 * search ran out of time, and the next try gets further; -errno.
 */
_must_use_ int distribution_of(int procdir, const char *path, struct str *ret);

/*
 * Append packages as distribution_of() does, from the @text of one file of the distribution, which
 * may hold anything. A RECORD has the path of a file in each line. False: the path @file (below
 * site-packages/) isn't among them. A top_level.txt has a package in each line. False: the first
 * part of @file isn't among them.
 */
bool distribution_from_record(const char *text, const char *file, struct str *ret);
bool distribution_from_top_level(const char *text, const char *file, struct str *ret);

/*
 * Appends the package that a console script of pip or uv imports from, as in "from shop.cli import
 * main". @text: the script.
 */
void distribution_from_script(const char *text, struct str *ret);

#endif
