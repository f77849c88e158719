/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files on file systems that may not answer: each such file system has a child of krait that opens
 * its files and keeps them. Whoever wants to read one has a descriptor of base/far.h. The main
 * thread gets an error in time, and waits no longer in all than waited.h says; a job waits as long
 * as somebody waits for it.
 */
#ifndef PROC_KEEPER_H
#define PROC_KEEPER_H

#include <sys/types.h>

#include "base/util.h"

struct file_opener;

/* Opens the regular file @path_fd of file system @dev (file_dev()), for process @pid or 0. -errno. */
_must_use_ int keeper_open(int path_fd, uint64_t dev, pid_t pid, const struct file_opener *opener);

/* Is there a child for this file system? */
bool keeper_has(uint64_t dev);

/* Ends the children that answer. */
void keeper_close(void);

#endif
