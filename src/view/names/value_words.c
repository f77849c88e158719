/* SPDX-License-Identifier: BSD-2-Clause */
/* Words for a profile's values; see value_words.h. */
#include "view/names/value_words.h"

#include "base/util.h"

const char *value_words(const char *type)
{
	static const char *const words[][2] = {
		{"cpu", "CPU time"},
		{"off_cpu", "time waiting"},
		{"wall", "wall time"},
		{"gil_wait", "time waiting for the GIL"},
		{"gil_blame", "time that others waited for the GIL"},
		{"lock_blame", "time that others waited for locks"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (streq(words[i][0], type))
			return words[i][1];
	return type;
}
