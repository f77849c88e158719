/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens files on file systems that may not answer. Each such file system has a child of krait,
 * which opens its files and keeps them open. A reader of such a file gets a descriptor that only
 * stands for the file (base/system/far.h). If the child doesn't answer in time, the main thread
 * gets an error; the sum of its waits is no longer than waited.h allows. A job of a worker waits as
 * long as somebody waits for the job.
 */
#ifndef PROC_FILES_KEEPER_H
#define PROC_FILES_KEEPER_H

#include <sys/types.h>

#include "base/util.h"

struct file_opener;

/*
 * Opens the regular file of the O_PATH descriptor @path_fd, on file system @dev (file_dev()), for
 * process @pid (0: for none). Returns a descriptor that stands for the file (base/system/far.h), or
 * -errno.
 */
_must_use_ int keeper_open(int path_fd, uint64_t dev, pid_t pid, const struct file_opener *opener);

/* Is there a child that keeps files of file system @dev open? */
bool keeper_has(uint64_t dev);

/* Ends the children that keep files open, except children that don't answer. */
void keeper_close(void);

#endif
