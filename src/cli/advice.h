/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The last error of this thread, in the words of the command line. The code below the command line
 * knows no options. Its messages say what was wrong, and which of the user's choices was (err_of()
 * in base/error.h). This file adds the option's name and advice.
 */
#ifndef CLI_ADVICE_H
#define CLI_ADVICE_H

/*
 * Like err_msg(), but with the option that the error is about, and with what to do. src/cli calls
 * only this.
 */
const char *error_words(void);

#endif
