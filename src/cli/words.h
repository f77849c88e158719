/* SPDX-License-Identifier: BSD-2-Clause */
/* What krait says (base/log.h), on standard error: "krait: warning: TEXT". The progress line is for terminals alone. */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

/* From now on. */
void words_begin(void);

#endif
