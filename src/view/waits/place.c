/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the line, or the library's function, in which threads wait, and what they wait on; see
 * place.h.
 */
#include "view/waits/place.h"

#include "view/lede/lede.h"
#include "view/costs/tally.h"

struct waits_frames waits_frames_of(const struct costs *c, uint32_t stack)
{
	struct waits_frames ret = {};
	uint32_t inner = 0;
	size_t n = 0;
	const uint32_t *frames = stack ? profile_get_stack(c->p, stack, &n) : NULL;

	for (size_t i = 0; i < n; i++) {
		uint32_t frame = costs_frame(c, frames, n, i);

		if (!costs_is_python(c, frame) || lede_is_importlib(c, frame))
			continue;
		inner = inner ?: frame;
		if (!ret.own && !costs_is_own(c, frame)) {
			ret.callee = frame;
			continue;
		}
		if (ret.own && !lede_is_part_of(c, ret.own, frame))
			break;
		ret.own = frame;
		if (!lede_is_nameless(c, frame))
			break;
	}
	if (!ret.own)
		ret.callee = inner ?: costs_owner(c, stack);
	return ret;
}

/*
 * What is summed up, each by a tally: lines, functions, functions of libraries, called functions,
 * and the things that were waited on.
 */
enum { LINE, FUNCTION, LIBRARY, CALLEE, ON, TALLIES };

struct finder {
	const struct waits *w;
	struct waits_place *ret;
	struct tally of[TALLIES];
};

static uint64_t line_key(const struct costs *c, uint32_t location)
{
	return (uint64_t)c->keys.of[location] << 32 |
	       (uint32_t)profile_get_location(c->p, location)->line;
}

static int add(struct finder *f, const struct profile_sum *s, int64_t ns)
{
	const struct costs *c = f->w->c;
	struct waits_frames at = waits_frames_of(c, s->stack);
	uint32_t on = profile_label_value(c->p, s->labels, "on");
	int r = 0;

	if (at.own)
		r = tally_add(&f->of[FUNCTION], c->keys.of[at.own], at.own, ns);
	if (!r && at.own && profile_get_location(c->p, at.own)->line > 0)
		r = tally_add(&f->of[LINE], line_key(c, at.own), at.own, ns);
	if (!r && at.callee)
		r = tally_add(&f->of[LIBRARY], c->keys.of[at.callee], at.callee, ns);
	if (!r && on)
		r = tally_add(&f->of[ON], on, on, ns);
	return r;
}

/* Adds a sum to the tally of the functions that the chosen line or function of the user calls. */
static int add_callee(struct finder *f, const struct profile_sum *s, int64_t ns)
{
	const struct costs *c = f->w->c;
	struct waits_frames at = waits_frames_of(c, s->stack);
	uint32_t own = f->ret->own;
	bool same = at.own && c->keys.of[at.own] == c->keys.of[own] &&
		    (!f->ret->at_line || line_key(c, at.own) == line_key(c, own));

	return same && at.callee ? tally_add(&f->of[CALLEE], c->keys.of[at.callee], at.callee, ns)
				 : 0;
}

static int scan(struct finder *f, uint32_t group, uint32_t state,
		int (*fn)(struct finder *f, const struct profile_sum *s, int64_t ns))
{
	const struct waits *w = f->w;
	int r = 0;

	for (size_t i = 0; i < w->n_sums && !r; i++) {
		const struct profile_sum *s = &w->sums[i];

		if (s->values[w->off] > 0 && waits_group_of(w, s) == group &&
		    profile_label_value(w->c->p, s->labels, "state") == state &&
		    !waits_is_idle(w->c->p, s->labels))
			r = fn(f, s, s->values[w->off]);
	}
	return r;
}

static void choose(struct finder *f, int64_t all)
{
	const struct tally *on = &f->of[ON], *own = &f->of[LINE];
	struct waits_place *ret = f->ret;

	ret->at_line = own->most && own->most >= all / 2;
	if (!ret->at_line)
		own = &f->of[FUNCTION];
	if (own->most && own->most >= all / 2) {
		ret->own = own->location;
		ret->ns = own->most;
	} else if (f->of[LIBRARY].most && f->of[LIBRARY].most >= all / 2) {
		ret->callee = f->of[LIBRARY].location;
		ret->ns = f->of[LIBRARY].most;
	}
	if (on->most && on->most >= all / 2) {
		ret->on = profile_get_string(f->w->c->p, on->location);
		ret->on_all = waits_nearly(on->most, all);
	}
}

int waits_place_find(const struct waits *w, uint32_t group, uint32_t state, int64_t all,
		     struct waits_place *ret)
{
	struct finder f = {.w = w, .ret = ret};
	int r;

	*ret = (struct waits_place){};
	for (int i = 0; i < TALLIES; i++)
		tally_init(&f.of[i]);
	r = scan(&f, group, state, add);
	choose(&f, all);
	if (!r && ret->own)
		r = scan(&f, group, state, add_callee);
	if (ret->own && f.of[CALLEE].most && waits_nearly(f.of[CALLEE].most, ret->ns))
		ret->callee = f.of[CALLEE].location;
	for (int i = 0; i < TALLIES; i++)
		tally_fini(&f.of[i]);
	return r;
}

void waits_place_add(const struct costs *c, const struct waits_place *at, struct str *b)
{
	int32_t line = at->own ? profile_get_location(c->p, at->own)->line : 0;

	if (at->callee) {
		str_add(b, "in ");
		costs_name(c, at->callee, b);
	}
	if (!at->own)
		return;
	str_add(b, at->callee ? ", called from " : at->at_line ? "at " : "in ");
	if (!at->at_line) {
		costs_name(c, at->own, b);
		return;
	}
	costs_place(c, at->own, line, b);
	if (at->callee)
		return;
	str_add(b, " (");
	render_names_function(c->names, at->own, b);
	str_add_c(b, ')');
}
