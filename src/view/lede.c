/* SPDX-License-Identifier: BSD-2-Clause */
/* Which function a reader is told of first; see costs.h. */
#include "base/cleanup.h"
#include "base/error.h"
#include "view/costs.h"

/* Frames of a stack that are Python, leaf first: what it is of the user's, and who called that. */
struct choice {
	uint32_t function, caller; /* locations, 0 = none */
};

/* What pip makes of an entry point: it starts a tool and is nobody's code. */
static bool is_launcher(const struct profile *p, const struct profile_function *fn)
{
	const char *file = profile_get_string(p, fn->file), *name = strrchr(file, '/');

	return name && name - file >= 4 && !strncmp(name - 4, "/bin", 4) && !strchr(name, '.') &&
	       streq(profile_get_string(p, fn->name), "<module>");
}

/* Functions of importlib are nobody's either, but for `import NAME`, which stands for them. */
static bool is_importlib(const struct profile *p, uint32_t location)
{
	const struct profile_location *l = profile_get_location(p, location);
	const struct profile_function *fn =
		l->function ? profile_get_function(p, l->function) : NULL;

	return fn && str_starts(profile_get_string(p, fn->file), "<frozen importlib.") &&
	       !str_starts(profile_get_string(p, fn->name), "import ");
}

bool lede_is_own(const struct costs *c, uint32_t location)
{
	const struct profile_location *l = profile_get_location(c->p, location);

	return l->function && render_names_origin(c->names, l->function) == ORIGIN_OWN &&
	       !is_launcher(c->p, profile_get_function(c->p, l->function));
}

static bool is_same(const struct costs *c, uint32_t a, uint32_t b)
{
	return c->keys.of[a] == c->keys.of[b];
}

/* As costs_owner(), but importlib owns nothing: then it is whoever imports, 0 if nobody does. */
static uint32_t owner_of(const struct costs *c, uint32_t stack)
{
	const uint32_t *frames;
	bool any = false;
	size_t n = 0;

	frames = stack ? profile_get_stack(c->p, stack, &n) : NULL;
	for (size_t i = 0; i < n; i++) {
		uint32_t frame = costs_frame(c, frames, n, i);

		if (!costs_is_python(c, frame))
			continue;
		if (!is_importlib(c->p, frame))
			return frame;
		any = true;
	}
	return any ? 0 : costs_owner(c, stack);
}

/*
 * The innermost function of the user's code, or the library function that it called; without any
 * code of theirs, the owner.
 */
static struct choice choose(const struct costs *c, uint32_t stack)
{
	struct choice choice = {};
	uint32_t inside = 0;
	const uint32_t *frames;
	size_t n = 0;

	frames = stack ? profile_get_stack(c->p, stack, &n) : NULL;
	for (size_t i = 0; i < n; i++) {
		uint32_t frame = costs_frame(c, frames, n, i);

		if (!costs_is_python(c, frame) || is_importlib(c->p, frame))
			continue;
		if (choice.function && is_same(c, frame, choice.function))
			continue; /* it calls itself */
		if (choice.function) {
			choice.caller = frame;
			return choice;
		}
		if (lede_is_own(c, frame) && inside)
			return (struct choice){inside, frame};
		if (lede_is_own(c, frame))
			choice.function = frame;
		inside = frame;
	}
	if (!choice.function)
		choice.function = owner_of(c, stack);
	return choice;
}

static void add_to(int64_t *sum, int64_t v)
{
	if (__builtin_add_overflow(*sum, v, sum))
		*sum = INT64_MAX;
}

static int64_t *at(struct map *m, uint64_t key)
{
	uint64_t *v = map_get(m, key);

	if (!v && !map_put(m, key, 0))
		v = map_get(m, key);
	return (int64_t *)v;
}

static int best_function(const struct costs *c, const struct profile_sum *sums, size_t n,
			 unsigned value, struct lede *ret)
{
	_cleanup_free_ int64_t *of = calloc(c->keys.n + 1, sizeof(*of));

	if (!of)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t function = choose(c, sums[i].stack).function;
		int64_t *sum = &of[c->keys.of[function]];

		if (!function || sums[i].values[value] <= 0)
			continue;
		add_to(sum, sums[i].values[value]);
		if (*sum > ret->value) {
			ret->value = *sum;
			ret->location = function;
		}
	}
	return 0;
}

/* What of the value that the function was chosen for the collector has no part in. */
static int64_t without_gc(const struct costs *c, const struct profile_sum *sums, size_t n,
			  unsigned value, const struct lede *l)
{
	int64_t sum = 0;

	for (size_t i = 0; i < n && l->location; i++) {
		uint32_t function = choose(c, sums[i].stack).function;

		if (sums[i].values[value] > 0 && function && is_same(c, function, l->location) &&
		    !costs_is_gc(c, sums[i].stack))
			add_to(&sum, sums[i].values[value]);
	}
	return sum;
}

/* Whether a stack is in @function, and in no function of the user's that it called. */
static bool is_without_own(const struct costs *c, uint32_t stack, uint32_t function)
{
	const uint32_t *frames;
	size_t n = 0;

	frames = stack ? profile_get_stack(c->p, stack, &n) : NULL;
	for (size_t i = 0; i < n; i++) {
		uint32_t frame = costs_frame(c, frames, n, i);

		if (is_same(c, frame, function))
			return true;
		if (costs_is_python(c, frame) && lede_is_own(c, frame))
			return false;
	}
	return false;
}

/* Whether a reader sees the same whole percent. */
static bool is_close(const struct costs *c, int64_t a, int64_t b)
{
	return (int)(100.0 * a / c->all + 0.5) == (int)(100.0 * b / c->all + 0.5);
}

/*
 * The function's total may be larger than what it was chosen for, and tables tell it: either what is
 * told is all of it, or it says what it leaves out.
 */
static void find_part(const struct costs *c, const struct profile_sum *sums, size_t n,
		      unsigned value, struct lede *ret)
{
	const struct cost *cost = &c->functions.v[c->keys.of[ret->location]];
	int64_t itself = 0, without_own = 0;

	if (is_close(c, ret->value, cost->total))
		return;
	for (size_t i = 0; i < n; i++) {
		uint32_t owner = owner_of(c, sums[i].stack);

		if (sums[i].values[value] <= 0)
			continue;
		if (owner && is_same(c, owner, ret->location))
			add_to(&itself, sums[i].values[value]);
		if (is_without_own(c, sums[i].stack, ret->location))
			add_to(&without_own, sums[i].values[value]);
	}
	if (itself == ret->value) {
		ret->part = is_close(c, itself, cost->self) ? LEDE_ITSELF : LEDE_WITH_IMPORTLIB;
		return;
	}
	ret->value = without_own; /* of stacks too in which another library's function called it */
	if (!is_close(c, without_own, cost->total))
		ret->part = LEDE_WITHOUT_OWN;
}

/* A line that most of it is called from, in whatever columns; one among many isn't worth a word. */
static int best_caller(const struct costs *c, const struct profile_sum *sums, size_t n,
		       unsigned value, struct lede *ret)
{
	struct map callers;
	int64_t most = 0;
	int r = 0;

	map_init(&callers);
	for (size_t i = 0; i < n && !r; i++) {
		struct choice choice = choose(c, sums[i].stack);
		int64_t *sum;

		if (!choice.caller || sums[i].values[value] <= 0 ||
		    !is_same(c, choice.function, ret->location))
			continue;
		sum = at(&callers,
			 (uint64_t)c->keys.of[choice.caller] << 32 |
				 (uint32_t)profile_get_location(c->p, choice.caller)->line);
		if (!sum) {
			r = -ENOMEM;
			break;
		}
		add_to(sum, sums[i].values[value]);
		if (*sum > most) {
			most = *sum;
			ret->caller = choice.caller;
		}
	}
	map_fini(&callers);
	if (most <= ret->value / 2)
		ret->caller = 0;
	return r;
}

int costs_lede(const struct costs *c, const struct profile_sum *sums, size_t n, unsigned value,
	       struct lede *ret)
{
	int r;

	*ret = (struct lede){};
	if (c->less) /* a part of less than nothing is none */
		return 0;
	r = best_function(c, sums, n, value, ret);
	r = r ? r : lede_gc(c, sums, n, value, without_gc(c, sums, n, value, ret), ret);
	if (!r && ret->location) {
		find_part(c, sums, n, value, ret);
		r = best_caller(c, sums, n, value, ret);
	}
	return r ? err_set(r, "out of memory") : 0;
}
