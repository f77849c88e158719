/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads files of /proc/PID that may block their reader, in a child of krait. Arguments and
 * environment lie in the process's memory; reading them, or the list of mappings, waits while a
 * thread changes that list (locked.h). If the child blocks (reader.h), its read and every later
 * read of the same process return -ETIMEDOUT until the child is free again.
 */
#ifndef PROC_READ_ASIDE_H
#define PROC_READ_ASIDE_H

#include "proc/read/maps.h"
#include "proc/read/stat.h"

/*
 * Returns the id of the process whose directory @procdir is (/proc/PID or /proc/PID/task/TID); 0:
 * not known.
 */
pid_t aside_pid_of(int procdir);

/*
 * Does the same as proc_file_read(), in a child of krait, for at most READER_TASK_BYTES. If no
 * child can be started, the calling thread reads.
 */
_must_use_ int aside_read(int procdir, const char *name, size_t max, struct str *ret);

/*
 * Has a child read the mappings in PROCDIR/maps of process @pid (0: of no process), and appends
 * them to @m. -ETIMEDOUT: the child doesn't answer in time; any other -errno: no child can read the
 * file, so the caller has to read it itself.
 */
_must_use_ int aside_maps(int procdir, pid_t pid, unsigned want, struct maps *m);

#endif
