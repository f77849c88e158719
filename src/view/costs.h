/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What functions and lines cost: the figures of tables. A sample is its owner's: the innermost
 * Python function, for native code that it called is its doing; without Python the innermost frame.
 */
#ifndef VIEW_COSTS_H
#define VIEW_COSTS_H

#include "base/map.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "view/names/names.h"
#include "view/names/rank.h"

struct cost {
	uint32_t key;	   /* of costs.keys */
	uint32_t location; /* one of the function's, 0 = of stacks without frames */
	int64_t self;	   /* as owner */
	int64_t gc;	   /* of .self, in stacks with the collector */
	int64_t total;	   /* stacks that it is in */
};

struct cost_line {
	uint32_t key;	   /* of the function that was met first */
	uint32_t location; /* the line's expression with the most of it */
	int32_t line;
	int64_t self;
};

/* What each line has. After costs_sort() the largest first. */
struct cost_lines {
	VEC(struct cost_line) list;
	struct map at;
	int64_t *of; /* by location */
};

/* What is one row: a function of one dotted name; those in files of different names differ; a line of such a one. */
enum costs_by { COSTS_BY_NAME, COSTS_BY_FILE, COSTS_BY_LINE };

struct costs {
	struct profile *p;
	enum costs_by by;
	struct render_names *names;
	struct rank keys;	    /* input 0: no frames; input id: location */
	VEC(struct cost) functions; /* by key; after costs_sort() by self */
	struct cost_lines lines;    /* of owners that have one */
	struct cost_lines
		own; /* of the user's innermost frames: library code below them is theirs */
	int64_t kinds[KIND_MAX], no_frames; /* view_stack_kind() */
	int64_t all;
	int64_t less; /* of .all what is below 0, as a number above it: comparisons have such values */
	bool inverted; /* stacks begin with their innermost frame; set behind costs_init() */
	bool left_out; /* filters took frames away: who has none may have had some; set likewise */

	bool *python;	       /* by location: is it a Python function's? */
	uint32_t *seen, stamp; /* by key */
	VEC(uint32_t) unique;
};

/* Functions of @p, without figures yet. @p must not be added to afterwards. 0 or -ENOMEM + message; fini in any case. */
_must_use_ int costs_init(struct costs *c, struct profile *p, enum costs_by by);
void costs_fini(struct costs *c);

/* The frame with @i others inside of it, of the @n of a stack of .p. */
static inline uint32_t costs_frame(const struct costs *c, const uint32_t *frames, size_t n,
				   size_t i)
{
	return frames[c->inverted ? n - 1 - i : i];
}

static inline enum frame_kind costs_kind(const struct costs *c, uint32_t location)
{
	return profile_get_mapping(c->p, profile_get_location(c->p, location)->mapping)->kind;
}

static inline bool costs_is_python(const struct costs *c, uint32_t location)
{
	return c->python[location];
}

/* Is the collector in a stack? */
bool costs_is_gc(const struct costs *c, uint32_t stack);

/* Is it a Python function of the user's own code? view/names/origin.h has the rule. */
bool costs_is_own(const struct costs *c, uint32_t location);

/* The innermost such frame of a stack, 0 = none. */
uint32_t costs_own(const struct costs *c, uint32_t stack);

/* The owner's location of a stack, 0 = no frames. */
uint32_t costs_owner(const struct costs *c, uint32_t stack);

/* The keys of the functions in a stack, each once; valid until the next call. NULL: no memory. */
const uint32_t *costs_keys(struct costs *c, uint32_t stack, size_t *n);

/* Adds the sums' values of index @value up. 0 or -ENOMEM + message. */
_must_use_ int costs_add(struct costs *c, const struct profile_sum *sums, size_t n, unsigned value);

/* Adds @v to a sum, which stops at the largest number there is. */
static inline void costs_sum(int64_t *sum, int64_t v)
{
	if (__builtin_add_overflow(*sum, v, sum))
		*sum = v < 0 ? INT64_MIN : INT64_MAX;
}

/* What shares are of: all, without regard to signs. */
static inline int64_t costs_whole(const struct costs *c)
{
	int64_t whole;

	return __builtin_add_overflow(c->all, c->less, &whole) ||
			       __builtin_add_overflow(whole, c->less, &whole)
		       ? INT64_MAX
		       : whole;
}

/* Largest self first, whatever its sign, then total, then name. */
void costs_sort(struct costs *c);

/* Appends "json.decoder.JSONDecoder.decode", by line with ":355"; "[no stack]". */
void costs_name(const struct costs *c, uint32_t location, struct str *b);

/* Appends "json/decoder.py:12" (@line > 0), "libz.so.1"; "" where there is no place. */
void costs_place(const struct costs *c, uint32_t location, int32_t line, struct str *b);

/*
 * What a reader is told first. A sample is that function's of the user's own whose call is the innermost one, with
 * all library code below it: what only passes time on to another of theirs isn't told. The one with most is
 * told if that is a tenth of all; else the library function with most of its own, and the line that most of that is called from.
 */
struct lede {
	uint32_t location; /* 0 = nothing to tell */
	int64_t value;
	bool own;      /* it is the user's */
	bool small;    /* there is code of theirs, none of it with a tenth */
	bool flat;     /* @own: with those of theirs that it calls, each of them small */
	bool others;   /* @own: it calls others of theirs too, which take more than a rounding */
	uint32_t line; /* @own: the line with most of @value, at least half; 0 = none */
	int64_t line_value;
	uint32_t callee; /* @own: what is called directly, at least a quarter of @value; 0 = none */
	int64_t callee_value;
	int64_t without;      /* @own: of stacks without code of theirs */
	uint32_t apart;	      /* the function that has most of that, and */
	int64_t apart_value;  /* what it has; 0 = less than a quarter */
	uint32_t around;      /* @own: the framework that runs most of their code; 0 = none */
	int64_t around_value; /* what that takes itself */
	uint32_t
		collects; /* @own: a library's line from which the collector takes more; 0 = none */
	int64_t collects_value;
	uint32_t caller; /* not @own: a location, 0 = there is no such line */
	bool gc; /* the collector's: beside .value only .caller and .by_function may be set */
	bool by_function; /* most is called from .caller's function, but from none of its lines */
};

/*
 * Tells of the collector instead, if it takes more than @without, what *@ret's function takes without it; beside the
 * user's function, if it is a library's line that calls it: that isn't their doing. 0 or -ENOMEM.
 */
_must_use_ int lede_gc(const struct costs *c, const struct profile_sum *sums, size_t n,
		       unsigned value, int64_t without, struct lede *ret);

/* After costs_add(), before costs_sort(). 0 or -ENOMEM + message. */
_must_use_ int costs_lede(const struct costs *c, const struct profile_sum *sums, size_t n,
			  unsigned value, struct lede *ret);

#endif
