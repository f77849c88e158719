/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of /proc/PID that may block their reader. Arguments and environment lie in the process's
 * memory, and reading them or the list of mappings waits while a thread changes that list
 * (locked.h). So a child of krait reads them. If the child blocks (reader.h), this and every later
 * read of the same process return -ETIMEDOUT until the child is free again.
 */
#ifndef PROC_ASIDE_H
#define PROC_ASIDE_H

#include "proc/maps.h"
#include "proc/stat.h"

/* The process of directory @procdir, /proc/PID or /proc/PID/task/TID; 0: not known. */
pid_t aside_pid_of(int procdir);

/* As proc_file_read(), of up to READER_TASK_BYTES. Without a child the calling thread reads. */
_must_use_ int aside_read(int procdir, const char *name, size_t max, struct str *ret);

/*
 * Appends PROCDIR/maps to @m. -ETIMEDOUT; any other -errno: no child can read it, and the caller
 * has to read it itself.
 */
_must_use_ int aside_maps(int procdir, unsigned want, struct maps *m);

#endif
