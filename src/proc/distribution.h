/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out which packages were installed together: those of the wheel (or egg) that a file belongs
 * to.
 */
#ifndef PROC_DISTRIBUTION_H
#define PROC_DISTRIBUTION_H

#include "base/text/str.h"

/*
 * Returns how many bytes of @path come before the module's name: up to the end of the last
 * site-packages/ or dist-packages/. 0: @path has neither.
 */
size_t distribution_site(const char *path);

/*
 * Appends the packages that were installed together with the file @path, a path as the process at
 * @procdir sees it. Each package is named once; spaces separate them. A child of krait does the
 * search, with the rights of the process's user. 0; -ENOENT: no distribution names the file;
 * -EAGAIN: the search ran out of time, and the next try gets further; -errno.
 */
_must_use_ int distribution_of(int procdir, const char *path, struct str *ret);

/*
 * These functions append packages as distribution_of() does, from the @text of one file of the
 * distribution, which may hold anything. distribution_from_record(): a RECORD has the path of a
 * file in each line; false: the path @file (below site-packages/) isn't among them.
 * distribution_from_top_level(): a top_level.txt has a package in each line; false: the first part
 * of @file isn't among them.
 */
bool distribution_from_record(const char *text, const char *file, struct str *ret);
bool distribution_from_top_level(const char *text, const char *file, struct str *ret);

/*
 * Appends the package from which a console script of pip or uv imports, as in "from shop.cli import
 * main". @text: the text of the script.
 */
void distribution_from_script(const char *text, struct str *ret);

#endif
