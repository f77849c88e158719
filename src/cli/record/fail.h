/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the command line prints and returns if a recording fails. Used by `krait record` and `krait
 * top`.
 */
#ifndef CLI_RECORD_FAIL_H
#define CLI_RECORD_FAIL_H

#include "cli/color.h"
#include "record/session.h"

/*
 * Returns the exit code for error @r: EXIT_RIGHTS if only missing rights or the kernel can be the
 * cause, else EXIT_FAILED.
 */
int fail_code(int r);

/* Prints the current error message, and advice. Returns @code, an exit code. */
int fail(const struct session *s, int code);

/*
 * Does what fail() does. If rights are missing or the kernel refuses, also prints what `krait
 * doctor` finds, such as the command to run outside of a container. (A user who isn't root was
 * already told the command.)
 */
int fail_refused(const struct session *s, enum color_mode color, int code);

/*
 * Calls session_stop(), and prints what ended the recording early, if anything did. Returns @before
 * if that is an error, else the error of session_stop().
 */
_must_use_ int fail_stop(struct session *s, int before);

/*
 * Call it after session_fini(). Returns @code. If a thread of krait hangs and can't be waited for,
 * ends the process with exit code @code instead.
 */
int fail_exit_code(const struct session *s, int code);

#endif
