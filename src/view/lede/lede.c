/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds which function the first sentence of a report names; see costs.h. */
#include "base/cleanup.h"
#include "base/error.h"
#include "view/lede/lede.h"
#include "view/costs/tally.h"

/* What the first sentence of a report may name of one stack: locations, each 0 if there is none. */
struct choice {
	/*
	 * the innermost frame of the user's code; if its function has no name of its own, the frame
	 * of the function that contains it (lede_is_part_of())
	 */
	uint32_t own;
	bool named; /* .own is final: no frame further out can replace it */
	/* what the user's code called directly: a Python function, else native code */
	uint32_t callee;
	/*
	 * location of the function for which the stack counts, as costs_owner() gives it, except
	 * that what importlib does counts for the importing code
	 */
	uint32_t owner;
	uint32_t caller; /* the Python code that called .owner */
	bool collects;	 /* what costs_is_gc() returns for the stack */
};

bool lede_is_importlib(const struct costs *c, uint32_t location)
{
	const struct profile_location *l = profile_get_location(c->p, location);
	const struct profile_function *fn =
		l->function ? profile_get_function(c->p, l->function) : NULL;

	return fn && str_starts(profile_get_string(c->p, fn->file), "<frozen importlib.") &&
	       !str_starts(profile_get_string(c->p, fn->name), "import ");
}

static bool is_same(const struct costs *c, uint32_t a, uint32_t b)
{
	return c->keys.of[a] == c->keys.of[b];
}

static void take_own(const struct costs *c, struct choice *choice, uint32_t frame)
{
	if (choice->own && !lede_is_part_of(c, choice->own, frame)) {
		choice->named = true;
		return;
	}
	if (choice->owner == choice->own)
		choice->owner = frame;
	choice->own = frame;
	choice->named = !lede_is_nameless(c, frame);
}

/*
 * Tells whether @frame is in a function of the user whose total is at least @least. Unless @least
 * is 0, a module's top-level code isn't such a function.
 */
static bool is_told(const struct costs *c, uint32_t frame, int64_t least)
{
	const struct profile_location *l = profile_get_location(c->p, frame);

	if (!costs_is_own(c, frame) || c->functions.v[c->keys.of[frame]].total < least)
		return false;
	return !least || !l->function ||
	       !streq(profile_get_string(c->p, profile_get_function(c->p, l->function)->name),
		      "<module>");
}

/* Takes the next Python frame of a stack into account. Frames come from the innermost outwards. */
static void take_python(const struct costs *c, struct choice *choice, uint32_t frame, int64_t least)
{
	bool own = is_told(c, frame, least);

	if (own && !choice->named)
		take_own(c, choice, frame);
	else if (!own && !choice->own)
		choice->callee = frame;
	if (!choice->owner)
		choice->owner = frame;
	/* if the function calls itself, the frame of the same function isn't the caller */
	else if (!choice->caller && !is_same(c, frame, choice->owner) &&
		 /* a frame called `import NAME` has no line, so it can't be named as the caller */
		 profile_get_location(c->p, frame)->line > 0)
		choice->caller = frame;
}

static struct choice choose(const struct costs *c, uint32_t stack, int64_t least)
{
	struct choice choice = {.collects = costs_is_gc(c, stack)};
	const uint32_t *frames;
	bool importlib = false;
	size_t n = 0;

	frames = stack ? profile_get_stack(c->p, stack, &n) : NULL;
	for (size_t i = 0; i < n && !(choice.named && choice.caller); i++) {
		uint32_t frame = costs_frame(c, frames, n, i);

		if (!costs_is_python(c, frame)) {
			bool called = !choice.owner && lede_is_native(c, frame);

			if (called || (!choice.own && costs_kind(c, frame) == KIND_GC))
				choice.callee = frame;
		} else if (lede_is_importlib(c, frame)) {
			importlib = true;
		} else {
			take_python(c, &choice, frame, least);
		}
	}
	if (!choice.owner && !importlib)
		choice.owner = costs_owner(c, stack);
	return choice;
}

/* Returns a key for a line of a function, which is the same for all columns of the line. */
static uint64_t line_key(const struct costs *c, uint32_t location)
{
	return (uint64_t)c->keys.of[location] << 32 |
	       (uint32_t)profile_get_location(c->p, location)->line;
}

/* What is summed up. Each has a tally, which finds the location with the largest sum. */
enum { OWN, LIBRARY, AROUND, WITHOUT, LINE, CALLEE, CALLER, TALLIES };

struct finder {
	const struct costs *c;
	struct lede *ret;
	struct trunk trunk;
	struct tally of[TALLIES];
	/* a function of the user can only be named if its total is at least this */
	int64_t least;
	int64_t without; /* value of the stacks without the user's own code */
	/* value of the chosen function's stacks in which the garbage collector runs */
	int64_t collected;
};

/*
 * Tells whether the sample was taken in a framework that runs the user's code, and not in user code
 * that the framework called.
 */
static bool is_around(const struct finder *f, const struct choice *choice)
{
	return choice->own && choice->callee &&
	       map_get(&f->trunk.calls, trunk_key(f->c, choice->own, choice->callee));
}

/*
 * Adds a sample to the sums of functions. A function of the user counts with all library code that
 * it calls, a library function only with its own time.
 */
static int add_function(struct finder *f, const struct choice *choice, int64_t value)
{
	const struct costs *c = f->c;
	int r = 0;

	if (is_around(f, choice))
		r = tally_add(&f->of[AROUND], c->keys.of[choice->callee], choice->callee, value);
	else if (choice->own)
		r = tally_add(&f->of[OWN], c->keys.of[choice->own], choice->own, value);
	else
		costs_sum(&f->without, value);
	if (!r && !choice->own && choice->owner)
		r = tally_add(&f->of[WITHOUT], c->keys.of[choice->owner], choice->owner, value);
	if (!r && choice->owner && choice->owner != choice->own)
		r = tally_add(&f->of[LIBRARY], c->keys.of[choice->owner], choice->owner, value);
	return r;
}

/* Tells whether the sample counts for the function that was chosen. */
static bool is_of_chosen(const struct finder *f, const struct choice *choice)
{
	uint32_t counts_for = f->ret->own ? choice->own : choice->owner;

	return counts_for && is_same(f->c, counts_for, f->ret->location) &&
	       !(f->ret->own && is_around(f, choice));
}

/*
 * Adds a sample to the sums of the chosen function's lines or, if the function is a library's, of
 * its callers.
 */
static int add_detail(struct finder *f, const struct choice *choice, int64_t value)
{
	uint32_t at = f->ret->own ? choice->own : choice->caller;

	if (!is_of_chosen(f, choice))
		return 0;
	if (choice->collects)
		costs_sum(&f->collected, value);
	if (!at || (f->ret->own && profile_get_location(f->c->p, at)->line <= 0))
		return 0;
	return tally_add(&f->of[f->ret->own ? LINE : CALLER], line_key(f->c, at), at, value);
}

/*
 * Adds a sample to the sums of the functions that the chosen function calls. If the sentence names
 * a line, only calls from that line count.
 */
static int add_callee(struct finder *f, const struct choice *choice, int64_t value)
{
	const struct costs *c = f->c;

	if (!choice->callee || !is_of_chosen(f, choice) ||
	    (f->ret->at_line && line_key(c, choice->own) != line_key(c, f->ret->line)))
		return 0;
	return tally_add(&f->of[CALLEE], c->keys.of[choice->callee], choice->callee, value);
}

static int scan(struct finder *f, const struct profile_sum *sums, size_t n, unsigned value,
		int (*add)(struct finder *f, const struct choice *choice, int64_t value))
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		struct choice choice;

		if (sums[i].values[value] <= 0)
			continue;
		choice = choose(f->c, sums[i].stack, f->least);
		r = add(f, &choice, sums[i].values[value]);
	}
	return r;
}

/* the user's code is named only if it has at least 1/OWN_LEAST of the whole value */
#define OWN_LEAST 10

static bool is_worth(const struct finder *f, const struct tally *t)
{
	return t->most && t->most >= f->c->all / OWN_LEAST;
}

static void choose_function(struct finder *f)
{
	struct lede *ret = f->ret;
	const struct tally *own = &f->of[OWN], *around = &f->of[AROUND];

	ret->own = is_worth(f, own);
	ret->small = own->most && !ret->own;
	ret->flat = ret->own && f->least;
	ret->location = ret->own ? own->location : f->of[LIBRARY].location;
	ret->value = ret->own ? own->most : f->of[LIBRARY].most;
	if (!ret->own)
		return;
	ret->without = f->without;
	if (f->of[WITHOUT].most >= f->without / 4) {
		ret->apart = f->of[WITHOUT].location;
		ret->apart_value = f->of[WITHOUT].most;
	}
	ret->around = around->location;
	ret->around_value = around->most;
}

static int scan_again(struct finder *f, const struct profile_sum *sums, size_t n, unsigned value,
		      int64_t least)
{
	f->least = least;
	f->without = 0;
	for (int i = 0; i < TALLIES; i++)
		tally_clear(&f->of[i]);
	return scan(f, sums, n, value, add_function);
}

/*
 * Chooses the function to name. If no function of the user has enough time by itself, tries
 * functions together with the functions that they call. If that isn't enough either, takes the
 * framework that runs all of the user's code.
 */
static int find_function(struct finder *f, const struct profile_sum *sums, size_t n, unsigned value)
{
	int r = trunk_find(f->c, sums, n, value, &f->trunk);

	r = r ? r : scan(f, sums, n, value, add_function);
	if (!r && f->of[OWN].most && !is_worth(f, &f->of[OWN]))
		r = scan_again(f, sums, n, value, MAX(f->c->all / OWN_LEAST, 1));
	if (!r && !is_worth(f, &f->of[OWN]))
		r = scan_again(f, sums, n, value, 0);
	if (!r && !is_worth(f, &f->of[OWN]) && f->of[AROUND].most) {
		map_clear(&f->trunk.calls);
		r = scan_again(f, sums, n, value, 0);
	}
	if (!r)
		choose_function(f);
	return r;
}

/* Tells whether @a and @b are the same percentage of all, rounded to a whole number. */
static bool is_close(const struct costs *c, int64_t a, int64_t b)
{
	return (int)(100.0 * a / c->all + 0.5) == (int)(100.0 * b / c->all + 0.5);
}

/*
 * Tells whether the caller and the library function are in the same file. If so, the caller isn't
 * worth naming.
 */
static bool is_same_file(const struct costs *c, uint32_t a, uint32_t b)
{
	uint32_t f = profile_get_location(c->p, a)->function;
	uint32_t g = profile_get_location(c->p, b)->function;

	return f && g && profile_get_function(c->p, f)->file == profile_get_function(c->p, g)->file;
}

static void choose_line(struct finder *f)
{
	const struct costs *c = f->c;
	struct lede *ret = f->ret;

	if (!ret->own) {
		if (f->of[CALLER].most > ret->value / 2 &&
		    !is_same_file(c, ret->location, f->of[CALLER].location))
			ret->caller = f->of[CALLER].location;
		return;
	}
	ret->others = !is_close(c, ret->value, c->functions.v[c->keys.of[ret->location]].total);
	if (f->of[LINE].most >= ret->value / 2) {
		ret->line = f->of[LINE].location;
		ret->line_value = f->of[LINE].most;
	}
	ret->at_line = ret->line && ret->line_value >= ret->value - ret->value / 10;
}

static void choose_callee(struct finder *f)
{
	struct lede *ret = f->ret;
	int64_t whole = ret->at_line ? ret->line_value : ret->value;

	if (f->of[CALLEE].most && f->of[CALLEE].most >= whole / 4) {
		ret->callee = f->of[CALLEE].location;
		ret->callee_value = f->of[CALLEE].most;
	}
}

int costs_lede(const struct costs *c, const struct profile_sum *sums, size_t n, unsigned value,
	       struct lede *ret)
{
	struct finder f = {.c = c, .ret = ret};
	int r;

	*ret = (struct lede){};
	if (c->less) /* with values below 0, shares mean nothing */
		return 0;
	for (int i = 0; i < TALLIES; i++)
		tally_init(&f.of[i]);
	r = find_function(&f, sums, n, value);
	if (!r && ret->location)
		r = scan(&f, sums, n, value, add_detail);
	choose_line(&f);
	if (!r && ret->own)
		r = scan(&f, sums, n, value, add_callee);
	choose_callee(&f);
	r = r ? r : lede_gc(c, sums, n, value, ret->value - f.collected, ret);
	for (int i = 0; i < TALLIES; i++)
		tally_fini(&f.of[i]);
	map_fini(&f.trunk.calls);
	return r ? err_set(r, "out of memory") : 0;
}
