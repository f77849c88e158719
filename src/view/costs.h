/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What functions and lines cost, as tables show it. A sample counts for its owner. The owner is the
 * innermost Python function, because native code runs on its behalf; in a stack without Python, it
 * is the innermost frame.
 */
#ifndef VIEW_COSTS_H
#define VIEW_COSTS_H

#include "base/map.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "view/names/names.h"
#include "view/names/rank.h"

struct cost {
	uint32_t key; /* number of the function in order of names (costs.keys) */
	/* id of one of the function's locations; 0: the entry stands for stacks without frames */
	uint32_t location;
	int64_t self;  /* value of the samples that the function owns */
	int64_t gc;    /* the part of .self in stacks with the garbage collector */
	int64_t total; /* value of all stacks in which the function is */
};

struct cost_line {
	uint32_t key;	   /* cost.key of one of the functions that have the line */
	uint32_t location; /* id of the location that has most of the line's value */
	int32_t line;
	int64_t self;
};

/* The value of each line. After costs_sort() the line with the largest value is first. */
struct cost_lines {
	VEC(struct cost_line) list;
	struct map at;
	int64_t *of; /* by location id: the value of the line */
};

/*
 * What makes one row of a table. NAME: functions with the same dotted name. FILE: the same, but
 * functions in files of different names are apart. LINE: a line of such a function.
 */
enum costs_by { COSTS_BY_NAME, COSTS_BY_FILE, COSTS_BY_LINE };

struct costs {
	struct profile *p;
	enum costs_by by;
	struct render_names *names;
	/* ranks of rows' names; input 0 stands for stacks without frames, input i for location i */
	struct rank keys;
	/* a cost for each key, in order of keys; after costs_sort() in order of .self */
	VEC(struct cost) functions;
	struct cost_lines lines; /* lines of the functions that own samples, where they are known */
	/* Lines of the user's innermost frames; library code that these call counts for them. */
	struct cost_lines own;
	/* value of the samples by kind (view_stack_kind()), and of stacks without frames */
	int64_t kinds[KIND_MAX], no_frames;
	int64_t all;
	/* the part of .all that is below 0, as a positive number; comparisons have such values */
	int64_t less;
	/* stacks begin with their innermost frame (--invert); set after costs_init() */
	bool inverted;
	/*
	 * filters removed frames, so a stack without frames may have had some; set after
	 * costs_init()
	 */
	bool left_out;

	bool *python;	       /* by location id: whether it belongs to a Python function */
	uint32_t *seen, stamp; /* by key: the last .stamp in which the function was met */
	VEC(uint32_t) unique;
};

/*
 * Lists the functions of @p, without values. Nothing may be added to @p afterwards. 0 or -ENOMEM +
 * message. Call costs_fini() in any case.
 */
_must_use_ int costs_init(struct costs *c, struct profile *p, enum costs_by by);
void costs_fini(struct costs *c);

/* The frame of a stack that has @i other frames inside it. @frames: @n frames of a stack of .p. */
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

/* Tells whether stack @stack contains the garbage collector. */
bool costs_is_gc(const struct costs *c, uint32_t stack);

/*
 * Does @location belong to a Python function of the user's own code? The rule is in
 * view/names/origin.h.
 */
bool costs_is_own(const struct costs *c, uint32_t location);

/* Returns the innermost frame of the user's own code in a stack; 0: there is none. */
uint32_t costs_own(const struct costs *c, uint32_t stack);

/*
 * Returns the location that owns a stack: its innermost Python function; without one the garbage
 * collector's function, if it runs; else the innermost frame. 0: the stack has no frames.
 */
uint32_t costs_owner(const struct costs *c, uint32_t stack);

/*
 * The keys of the functions in a stack, each once. Valid until the next call. NULL: out of memory.
 */
const uint32_t *costs_keys(struct costs *c, uint32_t stack, size_t *n);

/* Adds up the values with index @value of the sums. 0 or -ENOMEM + message. */
_must_use_ int costs_add(struct costs *c, const struct profile_sum *sums, size_t n, unsigned value);

/* Adds @v to a sum, which stops at the largest and the smallest number. */
static inline void costs_sum(int64_t *sum, int64_t v)
{
	if (__builtin_add_overflow(*sum, v, sum))
		*sum = v < 0 ? INT64_MIN : INT64_MAX;
}

/* Returns what shares refer to: the sum of all values, negative ones taken as positive. */
static inline int64_t costs_whole(const struct costs *c)
{
	int64_t whole;

	return __builtin_add_overflow(c->all, c->less, &whole) ||
			       __builtin_add_overflow(whole, c->less, &whole)
		       ? INT64_MAX
		       : whole;
}

/* Sorts functions: largest .self first, whatever its sign; then by total and by name. */
void costs_sort(struct costs *c);

/* Appends "json.decoder.JSONDecoder.decode", in a table of lines with ":355"; or "[no stack]". */
void costs_name(const struct costs *c, uint32_t location, struct str *b);

/* Appends "json/decoder.py:12" (if @line > 0) or "libz.so.1"; nothing if that isn't known. */
void costs_place(const struct costs *c, uint32_t location, int32_t line, struct str *b);

/*
 * What the first sentence of a report says. A sample counts for the innermost function of the
 * user's own code, with all library code that it calls; so functions that only call others of the
 * user's don't count. If one of these functions has a tenth of all, the sentence names the one with
 * most. Else it names the library function with the highest own time, and the line that calls it
 * most.
 */
struct lede {
	uint32_t location; /* location of what is named; 0: there is nothing to say */
	int64_t value;
	bool own; /* the named function is the user's own */
	/* there is code of the user's own, but none of its functions has a tenth of all */
	bool small;
	/* if .own: .value includes other functions of the user's that it calls, each small */
	bool flat;
	/*
	 * if .own: the function also calls other functions of the user's, and their time shows in
	 * whole percents
	 */
	bool others;
	uint32_t line; /* if .own: the line that has most of .value, at least half; 0: none */
	int64_t line_value;
	/*
	 * if .own: .line has nearly all of .value, so the line is named and not its function; the
	 * small rest is in the head of a loop or similar
	 */
	bool at_line;
	/*
	 * if .own: location of a function that the named function, or with .at_line the line, calls
	 * directly, with at least a quarter of its value; 0: none
	 */
	uint32_t callee;
	int64_t callee_value;
	int64_t without;     /* if .own: value of the stacks without the user's code */
	uint32_t apart;	     /* the function that has most of .without */
	int64_t apart_value; /* value of .apart; 0: it is less than a quarter of .without */
	uint32_t around;     /* if .own: the framework that runs most of the user's code; 0: none */
	int64_t around_value; /* value of what the framework itself takes */
	/*
	 * if .own, and the garbage collector takes more than the function: the library's line that
	 * calls the collector; 0: none
	 */
	uint32_t collects;
	int64_t collects_value;
	/*
	 * if not .own: location of the line that calls the library function most; 0: there is no
	 * such line
	 */
	uint32_t caller;
	/* the garbage collector has most; then only .value, .caller and .by_function may be set */
	bool gc;
	/* most calls come from the function of .caller, but not from a single line */
	bool by_function;
};

/*
 * Changes *@ret if the garbage collector takes more than @without, which is the value of *@ret's
 * function without collections. If a library's line calls the collector, *@ret keeps the user's
 * function and gets .collects, because the user's code isn't to blame; else *@ret becomes the
 * collector. 0 or -ENOMEM.
 */
_must_use_ int lede_gc(const struct costs *c, const struct profile_sum *sums, size_t n,
		       unsigned value, int64_t without, struct lede *ret);

/*
 * Finds what to say first. To be called after costs_add() and before costs_sort(). 0 or -ENOMEM +
 * message.
 */
_must_use_ int costs_lede(const struct costs *c, const struct profile_sum *sums, size_t n,
			  unsigned value, struct lede *ret);

#endif
