/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out which file the kernel will execute for a command, before the command runs. */
#ifndef RECORD_COMMAND_FILE_H
#define RECORD_COMMAND_FILE_H

#include <limits.h>
#include "base/util.h"

/*
 * The program that execvp(@word) ends in: found in @search (PATH's value, NULL = the C library's
 * default), through `#!` lines and /usr/bin/env in them. A descriptor for reading (close-on-exec,
 * regular file), its path in @path; -errno without a message. It is a guess: exec decides.
 */
_must_use_ int command_file_open(const char *word, const char *search, char path[PATH_MAX]);

#endif
