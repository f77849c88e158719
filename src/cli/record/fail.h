/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command line says, and ends with, where a session fails; what record and top share. */
#ifndef CLI_RECORD_FAIL_H
#define CLI_RECORD_FAIL_H

#include "cli/color.h"
#include "record/session.h"

/* Errors that only rights or the kernel explain are EXIT_RIGHTS, all others EXIT_FAILED. */
int fail_code(int r);

/* Prints the present message, with what helps; @code. */
int fail(const struct session *s, int code);

/*
 * The same; what rights or the kernel refuse, the doctor explains: in a container, what to run
 * outside. An ordinary user without rights was told the command already.
 */
int fail_refused(const struct session *s, enum color_mode color, int code);

/* What broke off the recording is said, once. session_stop(); @before or its error: the first there was. */
_must_use_ int fail_stop(struct session *s, int before);

/* After session_fini(): @code, but if a thread hangs, which nobody waits for, ends the process with it here. */
int fail_exit_code(const struct session *s, int code);

#endif
