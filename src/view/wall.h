/* SPDX-License-Identifier: BSD-2-Clause */
/* The value `wall`: the sum of how long threads ran, waited, and were ready to run. */
#ifndef VIEW_WALL_H
#define VIEW_WALL_H

#include "profile/profile.h"

#define VALUE_WALL "wall"

static inline bool is_wall(const char *value)
{
	return streq(value, VALUE_WALL);
}

/*
 * If @value is VALUE_WALL and the profile has the values cpu and off_cpu, gives the samples a value
 * `wall`, the sum of both, for the output in @format (NULL: text). Formats that keep recordings
 * (pprof, jsonl) never contain it. @value may be NULL. 0 or -errno + message.
 */
_must_use_ int wall_derive(struct profile *p, const char *value, const char *format);

#endif
