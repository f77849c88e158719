/* SPDX-License-Identifier: BSD-2-Clause */
/* File systems that always answer. Others are a program's own FUSE, or have a server that may go. */
#ifndef PROC_ANSWERS_H
#define PROC_ANSWERS_H

#include "base/util.h"

/* Is file system @dev (file_dev()) known to be such a one? For the main thread. */
bool answers_known(uint64_t dev);

/* The same by its type (statfs.f_type); from then on it is known. */
bool answers_type(uint64_t dev, long type);

#endif
