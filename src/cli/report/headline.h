/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the first sentence of `krait report`, for pages and recordings. */
#ifndef CLI_REPORT_HEADLINE_H
#define CLI_REPORT_HEADLINE_H

#include "base/text/str.h"
#include "profile/profile.h"

/*
 * Appends a sentence such as "37 % of the CPU time is at aio.py:5 (count)", in which count is the
 * line's function. Appends nothing if there are no samples.
 * @value: value type, NULL: the profile's default. @inverted: stacks begin with their innermost
 * frame. @partial: filters left out some samples of threads (view_is_partial()). Nothing may be
 * added to @p meanwhile. Returns 1 if the sentence says what threads wait for, else 0; -EINVAL +
 * message if the profile has no such value; -ENOMEM + message.
 */
_must_use_ int headline_add(struct profile *p, const char *value, bool inverted, bool partial,
			    struct str *b);

#endif
