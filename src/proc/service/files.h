/* SPDX-License-Identifier: BSD-2-Clause */
/* Small files that say something about a service, read in bounded pieces. */
#ifndef PROC_SERVICE_FILES_H
#define PROC_SERVICE_FILES_H

#include "base/text/str.h"

/*
 * Both put at most @max bytes of a regular file into @ret, which is cleared first. False: it can't
 * be read. service_file_of(): @path as the process sees it; links stay within the process's root.
 * service_file_below(): below the directory @root.
 */
bool service_file_of(int procdir, const char *path, size_t max, struct str *ret);
bool service_file_below(int root, const char *path, size_t max, struct str *ret);

/*
 * Appends the name of the directory in which the process's virtual environment is, "shop" of
 * /srv/shop/.venv/bin/python, or that of the environment if it is called otherwise. An environment
 * is where pyvenv.cfg lies above the program that the command line names. @directory: what a
 * relative name begins at; may be NULL. False: there is none.
 */
bool venv_find(int procdir, const char *directory, struct str *ret);

#endif
