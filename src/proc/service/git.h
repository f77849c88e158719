/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The revision that is checked out where a process works. git is never run: it would obey the
 * directory's configuration. The few files of .git are read as bounded bytes (gitrepository-layout,
 * git 2.39).
 */
#ifndef PROC_SERVICE_GIT_H
#define PROC_SERVICE_GIT_H

#include "base/text/str.h"

/*
 * Appends the first 12 digits of the commit that is checked out in @directory (as the process sees
 * it) or, if that has no .git, in the nearest directory above that has one. False: not known.
 */
struct service_files;
bool git_revision(const struct service_files *f, const char *directory, struct str *ret);

/* Finds @ref ("refs/heads/main") in the text of packed-refs; returns its digits, or NULL. */
const char *git_packed(const char *text, const char *ref);

/* Tells whether @s begins with a whole object name: 40 or 64 hex digits. */
bool git_is_object(const char *s);

#endif
