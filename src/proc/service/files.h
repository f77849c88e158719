/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads small files that say something about a service; at most a given number of bytes of each. */
#ifndef PROC_SERVICE_FILES_H
#define PROC_SERVICE_FILES_H

#include "base/text/str.h"
#include "proc/files/open_as.h"

/*
 * How the files of a process are opened: with the rights of its user, because a link in its
 * directory may lead to a file that only root can read.
 */
struct service_files {
	int root; /* the process's root directory; -1: not known */
	struct proc_owner owner;
	struct opener opener;
};
void service_files_init(struct service_files *f, int procdir);
void service_files_fini(struct service_files *f);

/*
 * These functions read at most @max bytes of a regular file into @ret, which is cleared first.
 * False: the file can't be read. service_file_of(): @path is a path as the process sees it; links
 * stay within the process's root. service_file_below(): @path is below the directory @root, and is
 * read with krait's own rights.
 */
bool service_file_of(const struct service_files *f, const char *path, size_t max, struct str *ret);
bool service_file_below(int root, const char *path, size_t max, struct str *ret);

/*
 * Appends the name of the directory that has the process's virtual environment, such as "shop" of
 * /srv/shop/.venv/bin/python, or the name of the environment itself if it isn't a usual one like
 * ".venv". A virtual environment has a pyvenv.cfg in the directory above the folder of the program
 * that the command line names. @directory: the directory to which a relative name of the program is
 * relative; may be NULL. False: the process has no virtual environment.
 */
bool venv_find(const struct service_files *f, int procdir, const char *directory, struct str *ret);

#endif
