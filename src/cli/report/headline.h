/* SPDX-License-Identifier: BSD-2-Clause */
/* The sentence that a reader is told first, for those who show a profile otherwise than `krait report`. */
#ifndef CLI_REPORT_HEADLINE_H
#define CLI_REPORT_HEADLINE_H

#include "base/str.h"
#include "profile/profile.h"

/*
 * Appends it: "37 % of the CPU time is at aio.py:5 (count)". @value: type, NULL = the profile's default.
 * @inverted: stacks begin with their innermost frame. Nothing where there are no samples. @p must not be added to meanwhile. 0; -EINVAL + message if it
 * has no such value; -ENOMEM + message.
 */
_must_use_ int headline_add(struct profile *p, const char *value, bool inverted, struct str *b);

#endif
