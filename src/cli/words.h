/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints krait's messages (base/system/log.h) on standard error, in the form "krait: warning:
 * TEXT". The progress line appears only on terminals.
 */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include <stdbool.h>

/* Prints messages from now on. */
void words_begin(void);

/* Tells whether standard error is a terminal that can show a progress line. */
bool words_show_progress(void);

#endif
