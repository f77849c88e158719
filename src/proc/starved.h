/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does a process make no progress because it gets no CPU? On a machine with much to do that takes
 * as long as a file system that doesn't answer.
 */
#ifndef PROC_STARVED_H
#define PROC_STARVED_H

#include <sys/types.h>

#include "base/util.h"

/*
 * Is process @pid's first thread running, ready to run, or stopped? With @all: one of its threads,
 * of which the first 64 are examined?
 */
bool proc_is_starved(pid_t pid, bool all);

#endif
