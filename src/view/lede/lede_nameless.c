/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds functions without a name of their own, and the functions that contain them; see lede.h. */
#include "view/lede/lede.h"

#define WITHIN ".<locals>."

static const struct profile_function *function_of(const struct costs *c, uint32_t location)
{
	uint32_t id = profile_get_location(c->p, location)->function;

	return id ? profile_get_function(c->p, id) : NULL;
}

/*
 * Returns the length of a name without its last part: for "f.<locals>.<lambda>" that of
 * "f.<locals>.".
 */
static size_t before_last(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? (size_t)(dot + 1 - name) : 0;
}

bool lede_is_nameless(const struct costs *c, uint32_t location)
{
	const struct profile_function *f = function_of(c, location);
	const char *name = f ? profile_get_string(c->p, f->name) : "";

	name += before_last(name);
	return *name == '<' && !streq(name, "<module>");
}

bool lede_is_part_of(const struct costs *c, uint32_t nameless, uint32_t outer)
{
	const struct profile_function *f = function_of(c, nameless), *o = function_of(c, outer);
	const char *name, *of;
	size_t n, length;

	if (!o || !lede_is_nameless(c, nameless) || f->file != o->file)
		return false;
	name = profile_get_string(c->p, f->name);
	of = profile_get_string(c->p, o->name);
	n = before_last(name);
	/*
	 * If the function has no dot in its name (before Python 3.11, or at module level), it is
	 * taken to be inside @outer if @outer runs the line where the function begins.
	 */
	if (!n)
		return f->start_line == profile_get_location(c->p, outer)->line;
	length = strlen(of);
	return n == length + strlen(WITHIN) && str_starts(name, of) &&
	       str_starts(name + length, WITHIN);
}
