/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last error of this thread, in the words of the command line. The code below the command line
 * knows no options. Its messages say what is wrong, and which of the user's choices is to blame
 * (err_of() in base/error.h). This file adds the option's name and advice.
 */
#ifndef CLI_ADVICE_H
#define CLI_ADVICE_H

/*
 * Returns what err_msg() returns, with the name of the option that the error is about, and with
 * advice. src/cli never calls err_msg() for users.
 */
const char *error_words(void);

#endif
