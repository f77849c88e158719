/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the revision that is checked out in a process's working directory. git is never run,
 * because it would obey the directory's configuration. krait reads a bounded part of a few files of
 * .git itself (gitrepository-layout, git 2.39).
 */
#ifndef PROC_SERVICE_GIT_H
#define PROC_SERVICE_GIT_H

#include "base/text/str.h"

/*
 * Appends the first 12 digits of the commit that is checked out in @directory (a path as the
 * process sees it) or, if this has no .git, in the nearest directory above it that has one. False:
 * not known.
 */
struct service_files;
bool git_revision(const struct service_files *f, const char *directory, struct str *ret);

/* Finds @ref ("refs/heads/main") in the text of packed-refs; returns its digits, or NULL. */
const char *git_packed(const char *text, const char *ref);

/* Tells whether @s begins with a whole object name: 40 or 64 hex digits. */
bool git_is_object(const char *s);

#endif
