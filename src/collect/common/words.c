/* SPDX-License-Identifier: BSD-2-Clause */
/* Outcomes in words, as the lists of abi/records.h have them. */
#include "collect/common/stats.h"

const char *collect_outcome_words(unsigned outcome)
{
	static const char *const words[] = {
#define X(name, text) text,
		WALK_OUTCOMES(X)
#undef X
	};

	return outcome < WALK_OUTCOME_MAX ? words[outcome] : "";
}

const char *collect_native_words(unsigned outcome)
{
	static const char *const words[] = {
#define X(name, text) text,
		NATIVE_OUTCOMES(X)
#undef X
	};

	return outcome < NATIVE_OUTCOME_MAX ? words[outcome] : "";
}
