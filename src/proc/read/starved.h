/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells whether a process makes no progress because it gets no CPU. On a busy machine such a
 * process may keep krait waiting for as long as a file system that doesn't answer.
 */
#ifndef PROC_READ_STARVED_H
#define PROC_READ_STARVED_H

#include <sys/types.h>

#include "base/util.h"

/*
 * Is the first thread of process @pid running, ready to run, or stopped? With @all: is one of the
 * process's first 64 threads running, ready to run, or stopped?
 */
bool proc_is_starved(pid_t pid, bool all);

#endif
