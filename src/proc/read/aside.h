/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of /proc/PID that may block their reader. Arguments and environment lie in the process's
 * memory, and reading them or the list of mappings waits while a thread changes that list
 * (locked.h). So a child of krait reads them. If the child blocks (reader.h), this and every later
 * read of the same process return -ETIMEDOUT until the child is free again.
 */
#ifndef PROC_READ_ASIDE_H
#define PROC_READ_ASIDE_H

#include "proc/read/maps.h"
#include "proc/read/stat.h"

/*
 * The id of the process whose directory @procdir is, /proc/PID or /proc/PID/task/TID; 0: not known.
 */
pid_t aside_pid_of(int procdir);

/*
 * As proc_file_read(), for at most READER_TASK_BYTES, but a child reads. If no child can be
 * started, the calling thread reads.
 */
_must_use_ int aside_read(int procdir, const char *name, size_t max, struct str *ret);

/*
 * Appends the mappings in PROCDIR/maps of process @pid (0: of no process) to @m; a child reads
 * them. -ETIMEDOUT: the child doesn't get an answer; any other -errno: no child can read the file,
 * and the caller has to read it itself.
 */
_must_use_ int aside_maps(int procdir, pid_t pid, unsigned want, struct maps *m);

#endif
