/* SPDX-License-Identifier: BSD-2-Clause */
/* The sentence that says that a program hardly ran. Shares of CPU time alone don't show that. */
#ifndef VIEW_LEDE_CPU_WORDS_H
#define VIEW_LEDE_CPU_WORDS_H

#include "base/text/str.h"
#include "profile/profile.h"

/*
 * If less than half a CPU was used, appends how much the processes of a recording ran and waited,
 * without a full stop: "app.py ran 2 %, waited for a CPU 1 %, for anything else 97 %". If more CPU
 * was used, or that isn't known, appends nothing and returns false.
 */
bool cpu_words_add(struct profile *p, struct str *ret);

/*
 * Tells whether the processes waited nearly all the time for other things than a CPU. If so, too
 * little ran for a function to be worth naming.
 */
bool cpu_words_waits(struct profile *p);

#endif
