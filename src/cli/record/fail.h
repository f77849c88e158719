/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command line prints and returns if a session fails. Shared by record and top. */
#ifndef CLI_RECORD_FAIL_H
#define CLI_RECORD_FAIL_H

#include "cli/color.h"
#include "record/session.h"

/*
 * Returns the exit code for error @r: EXIT_RIGHTS if its only possible causes are missing rights or
 * the kernel, else EXIT_FAILED.
 */
int fail_code(int r);

/* Prints the current error message, with advice. Returns @code, an exit code. */
int fail(const struct session *s, int code);

/*
 * Like fail(). If rights are missing or the kernel refuses, also prints what krait doctor finds,
 * such as the command to run outside a container. (A user who isn't root has already been told the
 * command.)
 */
int fail_refused(const struct session *s, enum color_mode color, int code);

/*
 * Calls session_stop(), and prints once what ended the recording early. Returns @before, or if that
 * is no error, the error of session_stop().
 */
_must_use_ int fail_stop(struct session *s, int before);

/*
 * Called after session_fini(). Returns @code. If a thread hangs that can't be waited for, doesn't
 * return but ends the process with @code.
 */
int fail_exit_code(const struct session *s, int code);

#endif
