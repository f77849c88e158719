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
 * Sets the message as err_set() does, and appends ": " and strerror(-@code). For -EMFILE it also
 * says how to raise the limit.
 */
int err_sys(int code, const char *fmt, ...) _printf_(2, 3);

/*
 * Sets the message as err_set() does, for an error about something that the user chose or has to
 * choose by an option. The caller doesn't know the option's name. @what says in the caller's words
 * what was chosen, such as "value"; the string lives as long as the program. @which is the user's
 * choice, or NULL. The command line adds the option, and what to do (src/cli/advice.c).
 */
int err_of(const char *what, const char *which, int code, const char *fmt, ...) _printf_(4, 5);

/*
 * Returns the @what of the err_of() that set this thread's last message; NULL if another function
 * set it. Sets *@which to err_of()'s @which, or to "" if @which was NULL.
 */
const char *err_subject(const char **which);

/*
 * Puts the formatted text and ": " before this thread's message. The result of err_subject() stays.
 * Returns @code.
 */
int err_wrap(int code, const char *fmt, ...) _printf_(2, 3);

/* This thread's last message, never NULL; valid until the next err_*() call in this thread. */
const char *err_msg(void);

/*
 * Returns @msg without "@subject: " at its beginning, for a caller whose sentence names @subject
 * itself.
 */
const char *err_about(const char *msg, const char *subject);

#endif
