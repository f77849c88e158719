/* SPDX-License-Identifier: BSD-2-Clause */
/* The sentence about a program that hardly ran: what a share of CPU time doesn't show. */
#ifndef VIEW_CPU_WORDS_H
#define VIEW_CPU_WORDS_H

#include "base/str.h"
#include "profile/profile.h"

/*
 * Appends, without a full stop, how much the processes of a recording ran and waited, if less than half a CPU was used:
 * "app.py ran 2 %, waited for a CPU 1 %, for anything else 97 %". False: more was used, or it isn't known. Nothing is appended
 * then.
 */
bool cpu_words_add(struct profile *p, struct str *ret);

/* Did they wait nearly all the time, and not for a CPU? What little they ran has no cause that is worth a name. */
bool cpu_words_waits(struct profile *p);

#endif
