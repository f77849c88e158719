/* SPDX-License-Identifier: BSD-2-Clause */
/* The sentence about a program that hardly ran. Shares of CPU time alone don't show that. */
#ifndef VIEW_LEDE_CPU_WORDS_H
#define VIEW_LEDE_CPU_WORDS_H

#include "base/text/str.h"
#include "profile/profile.h"

/*
 * If less than half a CPU was used, appends how much the processes of a recording ran and waited,
 * without a full stop: "app.py ran 2 %, waited for a CPU 1 %, for anything else 97 %". If more was
 * used, or if that isn't known, appends nothing and returns false.
 */
bool cpu_words_add(struct profile *p, struct str *ret);

/*
 * Did the processes wait nearly all the time, and not for a CPU? If so, too little ran for a
 * function to be worth naming.
 */
bool cpu_words_waits(struct profile *p);

#endif
