/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out which file the kernel will execute for a command, before the command runs. */
#ifndef RECORD_COMMAND_COMMAND_FILE_H
#define RECORD_COMMAND_COMMAND_FILE_H

#include <limits.h>
#include "base/util.h"

/*
 * Opens the file that execvp(@word) would finally execute. Looks for it in @search (the value of
 * PATH; NULL: the C library's default), and follows `#!` lines, also those with /usr/bin/env.
 * Returns a descriptor for reading (close-on-exec, regular file), with the file's path in @path;
 * -errno without a message. The result is a guess, because exec() looks for the file again.
 */
_must_use_ int command_file_open(const char *word, const char *search, char path[PATH_MAX]);

#endif
