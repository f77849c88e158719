/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of /proc/PID whose reading waits for the process: its arguments and its environment are in its memory, and these and
 * the list of its mappings wait for whoever changes that list (locked.h). A child of krait reads them, and is left alone
 * when it doesn't come back (reader.h): then -ETIMEDOUT, and so for all that is asked of this process until it does.
 */
#ifndef PROC_ASIDE_H
#define PROC_ASIDE_H

#include "proc/maps.h"
#include "proc/stat.h"

/* As proc_file_read(), of up to READER_TASK_BYTES. Where there is no child the caller reads. */
_must_use_ int aside_read(int procdir, const char *name, size_t max, struct str *ret);

/* Appends PROCDIR/maps to @m. -ETIMEDOUT; else -errno: that isn't possible here, the caller reads. */
_must_use_ int aside_maps(int procdir, unsigned want, struct maps *m);

#endif
