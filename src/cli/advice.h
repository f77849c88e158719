/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last error of this thread, in the words of the command line. The rooms below it know no
 * options: they say what was wrong, and what that is about (err_of() in base/error.h). Here the
 * option's name and what to do are added.
 */
#ifndef CLI_ADVICE_H
#define CLI_ADVICE_H

/* As err_msg(), with the option that it is about, and with what to do. src/cli calls only this. */
const char *error_words(void);

#endif
