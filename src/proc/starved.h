/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who doesn't get on because there is no CPU for it: on a machine with much to do that takes as long
 * as a file system that doesn't answer.
 */
#ifndef PROC_STARVED_H
#define PROC_STARVED_H

#include <sys/types.h>

#include "base/util.h"

/* Does process @pid's first thread, or with @all one of some of its threads, run, want to, or is it stopped? */
bool proc_is_starved(pid_t pid, bool all);

#endif
