/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What functions and lines cost, as tables show it. A sample counts for one function of its stack,
 * the owner: the innermost Python function, because the native code further in runs on its behalf.
 * In a stack without Python the owner is the innermost frame.
 */
#ifndef VIEW_COSTS_COSTS_H
#define VIEW_COSTS_COSTS_H

#include "base/map.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "view/names/names.h"
#include "view/names/rank.h"

struct cost {
	uint32_t key; /* number of the function in order of names (costs.keys) */
	/* id of one of the function's locations; 0: this entry is for stacks without frames */
	uint32_t location;
	int64_t self;  /* value of the samples that count for the function */
	int64_t gc;    /* the part of .self that is in stacks with the garbage collector */
	int64_t total; /* value of all stacks in which the function is */
};

struct cost_line {
	uint32_t key;	   /* cost.key of one of the functions that contain the line */
	uint32_t location; /* id of the location that has most of the line's value */
	int32_t line;
	int64_t self;
};

/* The values of lines. After costs_sort() the line with the largest value is first. */
struct cost_lines {
	VEC(struct cost_line) list;
	struct map at;
	int64_t *of; /* by location id: the value of the line */
};

/*
 * What one row of a table stands for. NAME: all functions with the same dotted name. FILE: all
 * functions with the same dotted name in files of the same name. LINE: one line of the functions
 * that FILE joins into one row.
 */
enum costs_by { COSTS_BY_NAME, COSTS_BY_FILE, COSTS_BY_LINE };

struct costs {
	struct profile *p;
	enum costs_by by;
	struct render_names *names;
	/*
	 * the name of each location's row: text i is the name for location i, text 0 that for
	 * stacks without frames
	 */
	struct rank keys;
	/* a cost for each key, in order of keys; after costs_sort() in order of .self */
	VEC(struct cost) functions;
	/* lines of the functions for which samples count, where lines are known */
	struct cost_lines lines;
	/*
	 * Lines of the innermost frame of the user's code in each stack. The cost of a library that
	 * the line calls counts for the line too.
	 */
	struct cost_lines own;
	/*
	 * value of the samples by kind (view_stack_kind()), and value of the stacks without frames
	 */
	int64_t kinds[KIND_MAX], no_frames;
	int64_t all;
	/* the sum of all values below 0, without its sign; only comparisons have such values */
	int64_t less;
	/* stacks begin with their innermost frame (--invert); set after costs_init() */
	bool inverted;
	/*
	 * filters removed frames, so a stack without frames may have had frames before; set after
	 * costs_init()
	 */
	bool left_out;

	uint8_t *kind; /* by location id: the kind of the frame, enum frame_kind */
	/* .seen: by key, the value that .stamp had when the function was last found in a stack */
	uint32_t *seen, stamp;
	VEC(uint32_t) unique;
};

/*
 * Lists the functions of @p, whose values costs_add() adds. Nothing may be added to @p afterwards.
 * 0 or -ENOMEM + message. Call costs_fini() in any case.
 */
_must_use_ int costs_init(struct costs *c, struct profile *p, enum costs_by by);
void costs_fini(struct costs *c);

/*
 * Returns the frame of a stack that has @i other frames inside it, also if stacks are inverted.
 * @frames: the @n frames of a stack of .p.
 */
static inline uint32_t costs_frame(const struct costs *c, const uint32_t *frames, size_t n,
				   size_t i)
{
	return frames[c->inverted ? n - 1 - i : i];
}

static inline enum frame_kind costs_kind(const struct costs *c, uint32_t location)
{
	return c->kind[location];
}

static inline bool costs_is_python(const struct costs *c, uint32_t location)
{
	return c->kind[location] == KIND_PYTHON;
}

/* Tells whether stack @stack contains the garbage collector. */
bool costs_is_gc(const struct costs *c, uint32_t stack);

/*
 * Tells whether @location belongs to a Python function of the user's own code, by the rule in
 * view/names/origin.h.
 */
bool costs_is_own(const struct costs *c, uint32_t location);

/* Returns the innermost frame of the user's own code in a stack; 0: there is none. */
uint32_t costs_own(const struct costs *c, uint32_t stack);

/*
 * Returns the location of the function for which a stack's samples count: the innermost Python
 * function; without Python, the garbage collector's function if it is in the stack, otherwise the
 * innermost frame. 0: the stack has no frames.
 */
uint32_t costs_owner(const struct costs *c, uint32_t stack);

/*
 * Returns the keys of the functions in a stack, each once. Valid until the next call. NULL: out of
 * memory.
 */
const uint32_t *costs_keys(struct costs *c, uint32_t stack, size_t *n);

/* Adds up the values with index @value of the sums. 0 or -ENOMEM + message. */
_must_use_ int costs_add(struct costs *c, const struct profile_sum *sums, size_t n, unsigned value);

/* Adds @v to *sum, which stops at the largest and the smallest number. */
static inline void costs_sum(int64_t *sum, int64_t v)
{
	if (__builtin_add_overflow(*sum, v, sum))
		*sum = v < 0 ? INT64_MIN : INT64_MAX;
}

/* Returns the value that is 100 %: the sum of all values without their signs. */
static inline int64_t costs_whole(const struct costs *c)
{
	int64_t whole;

	return __builtin_add_overflow(c->all, c->less, &whole) ||
			       __builtin_add_overflow(whole, c->less, &whole)
		       ? INT64_MAX
		       : whole;
}

/*
 * Sorts functions by the size of .self (without its sign), the largest first; if equal, by total
 * and by name.
 */
void costs_sort(struct costs *c);

/*
 * Appends a row's name: "json.decoder.JSONDecoder.decode", in a table of lines with ":355" behind
 * it; or "[no stack]".
 */
void costs_name(const struct costs *c, uint32_t location, struct str *b);

/*
 * Appends "json.dumps (app.py:88)": the function of location @owner, and the line of location @at.
 * Either may be 0: not known.
 */
void costs_add_line(const struct costs *c, uint32_t owner, uint32_t at, struct str *b);

/*
 * Appends where the location is: "json/decoder.py:12" (if @line > 0) or "libz.so.1"; nothing if
 * that isn't known.
 */
void costs_place(const struct costs *c, uint32_t location, int32_t line, struct str *b);

/*
 * What the first sentence of a report says. A sample counts for the innermost function of the
 * user's own code, with all library code that it calls; so a function that only calls other
 * functions of the user doesn't count. If any of these functions has a tenth of all time, the
 * sentence names the one with the most time. Otherwise it names the library function with the
 * highest own time, and the line that calls that function most.
 */
struct lede {
	/* location of the function or line that the sentence names; 0: there is nothing to say */
	uint32_t location;
	int64_t value;
	bool own; /* the named function is the user's own */
	/* there is code of the user's own, but none of its functions has a tenth of all time */
	bool small;
	/*
	 * if .own: .value includes other functions of the user that .location calls, each of which
	 * is small
	 */
	bool flat;
	/*
	 * if .own: the function also calls other functions of the user, and with their time its
	 * percentage, rounded to a whole number, would be another one
	 */
	bool others;
	/*
	 * if .own: the line that has most of .value, and at least half of it; 0: there is no such
	 * line
	 */
	uint32_t line;
	int64_t line_value;
	/*
	 * if .own: .line has nearly all of .value, so the sentence names the line and not its
	 * function; the small rest is in the head of a loop or similar
	 */
	bool at_line;
	/*
	 * if .own: location of a function that the named function (or line, if .at_line) calls
	 * directly, and that has at least a quarter of the named value; 0: there is none
	 */
	uint32_t callee;
	int64_t callee_value;
	int64_t without; /* if .own: value of the stacks that have none of the user's code */
	uint32_t apart;	 /* the function that has most of .without */
	/* value of .apart within .without; 0: that value is less than a quarter of .without */
	int64_t apart_value;
	/* if .own: the framework that runs most of the user's code; 0: there is none */
	uint32_t around;
	int64_t around_value; /* value of the samples that were taken in the framework itself */
	/*
	 * if .own, and the garbage collector takes more than the named function: the line of a
	 * library that calls the collector; 0: there is none
	 */
	uint32_t collects;
	int64_t collects_value;
	/*
	 * if not .own: location of the line that calls the library function most; 0: there is no
	 * such line
	 */
	uint32_t caller;
	/*
	 * the garbage collector itself takes the most time; then only .value, .caller and
	 * .by_function may be set
	 */
	bool gc;
	/* most calls come from the function of .caller, but not from a single line of it */
	bool by_function;
};

/*
 * Changes *@ret if the garbage collector takes more than @without, the time of the function in
 * *@ret without garbage collection. If a line of a library called the collector, *@ret still names
 * the user's function, and .collects is set to that line. Otherwise *@ret names the collector. 0 or
 * -ENOMEM.
 */
_must_use_ int lede_gc(const struct costs *c, const struct profile_sum *sums, size_t n,
		       unsigned value, int64_t without, struct lede *ret);

/*
 * Finds what the first sentence of a report says. To be called after costs_add() and before
 * costs_sort(). 0 or -ENOMEM + message.
 */
_must_use_ int costs_lede(const struct costs *c, const struct profile_sum *sums, size_t n,
			  unsigned value, struct lede *ret);

#endif
