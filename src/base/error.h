/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors: a function that can fail returns 0 or -errno and leaves one sentence for the user, in
 * this thread, at the place where the error arises. Only src/cli prints it and exits. A caller that
 * adds context to the sentence uses err_wrap().
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/util.h"

/*
 * Sets this thread's message and returns @code (a negative errno) for `return err_set(...)`.
 * The sentence says what was wrong and what to do, without a final full stop or newline.
 * Messages are cut at 1 KiB.
 */
int err_set(int code, const char *fmt, ...) _printf_(2, 3);

/*
 * As err_set(), with ": " and strerror(-@code) appended to the message. For -EMFILE it also
 * says how to raise the limit.
 */
int err_sys(int code, const char *fmt, ...) _printf_(2, 3);

/*
 * As err_set(), for something that the user chose or has to choose, by an option whose name this
 * room doesn't know. @what says in the room's own words what it is, such as "value"; the string
 * lives as long as the program. @which is the user's choice, or NULL. The command line adds the
 * option, and what to do (src/cli/advice.c).
 */
int err_of(const char *what, const char *which, int code, const char *fmt, ...) _printf_(4, 5);

/* What this thread's last message is about; NULL if err_of() didn't set it. @which is never NULL. */
const char *err_subject(const char **which);

/* Puts "fmt: " before the present message, and keeps what it is about; returns @code. */
int err_wrap(int code, const char *fmt, ...) _printf_(2, 3);

/* This thread's last message, never NULL; valid until the next err_*() call in this thread. */
const char *err_msg(void);

/* @msg without "@subject: " at its beginning, for a sentence that begins with @subject anyway. */
const char *err_about(const char *msg, const char *subject);

#endif
