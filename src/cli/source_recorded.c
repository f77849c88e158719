/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds source text for a recording, which may be old; see source_recorded.h. */
#include "cli/source_recorded.h"

#include <sys/stat.h>

#include "base/system/clock.h"
#include "base/system/log.h"
#include "base/text/str.h"

enum { MOST_NAMED = 20 }; /* the message about shown source text names at most this many files */

int64_t source_ran(struct profile *p, const char *path)
{
	struct stat st;

	if (profile_meta(p)->time_ns)
		return profile_meta(p)->time_ns;
	if (streq(path, "-") || stat(path, &st))
		return INT64_MAX / 2;
	return (int64_t)timespec_ns(st.st_mtim);
}

int64_t source_since(const struct source_recorded *s, uint32_t function)
{
	uint64_t before_ms = profile_get_ran_before(s->p, function);
	int64_t since;

	return __builtin_sub_overflow(s->since_ns, before_ms * NSEC_PER_MSEC, &since) ? INT64_MIN
										      : since;
}

int source_open_recorded(void *recorded, const char *path, int64_t *since_ns)
{
	const struct source_recorded *s = recorded;

	*since_ns = s->since_ns;
	for (uint32_t id = 1; id <= profile_n_functions(s->p); id++)
		if (streq(profile_get_string(s->p, profile_get_function(s->p, id)->file), path))
			*since_ns = MIN(*since_ns, source_since(s, id));
	return source_open(&s->rules, path);
}

void source_shown(void *recorded, const char *path)
{
	struct source_recorded *s = recorded;

	(void)!vec_push(&s->shown, path);
}

void source_say_shown(struct source_recorded *s, const char *output)
{
	_cleanup_str_ struct str names = {};

	for (size_t i = 0; i < s->shown.n && i < MOST_NAMED; i++)
		str_addf(&names, "%s%s", i ? ", " : "", s->shown.v[i]);
	if (s->shown.n > MOST_NAMED)
		str_addf(&names, " and %zu more", s->shown.n - MOST_NAMED);
	if (s->shown.n)
		log_note("source text of %zu file%s is in %s: %s", s->shown.n,
			 s->shown.n == 1 ? "" : "s", output ? output : "standard output",
			 str_cstr(&names));
	vec_fini(&s->shown);
}
