/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums up what functions and lines cost; see costs.h. */
#include "view/costs/costs.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "profile/mark.h"
#include "view/names/frame.h"

void costs_name(const struct costs *c, uint32_t location, struct str *b)
{
	int32_t line = location ? profile_get_location(c->p, location)->line : 0;

	if (location)
		view_dotted(c->p, c->names, location, b);
	else
		str_add(b, c->left_out ? "[left out by the filters]" : mark_text(MARK_NO_STACK));
	if (c->by == COSTS_BY_LINE && line > 0)
		str_addf(b, ":%d", line);
}

void costs_place(const struct costs *c, uint32_t location, int32_t line, struct str *b)
{
	const struct profile_location *l = location ? profile_get_location(c->p, location) : NULL;
	const char *file = l && l->function ? render_names_file(c->names, l->function) : "";

	if (!l)
		return;
	if (!*file && l->function)
		file = render_names_mapping(c->names, l->mapping);
	str_add(b, file);
	if (*file && line > 0)
		str_addf(b, ":%d", line);
}

void costs_add_line(const struct costs *c, uint32_t owner, uint32_t at, struct str *b)
{
	int32_t line = at ? profile_get_location(c->p, at)->line : 0;
	_cleanup_str_ struct str place = {};

	costs_name(c, owner, b);
	costs_place(c, at, line, &place);
	if (place.n)
		str_addf(b, " (%s)", str_cstr(&place));
}

static int rank_functions(struct costs *c)
{
	_cleanup_str_ struct str b = {};
	int r = 0;

	for (uint32_t id = 0; !r && id <= profile_n_locations(c->p); id++) {
		str_clear(&b);
		costs_name(c, id, &b);
		if (c->by != COSTS_BY_NAME) {
			str_add_c(&b, '\1');
			costs_place(c, id, 0, &b);
		}
		r = b.failed ? -ENOMEM : rank_add(&c->keys, str_cstr(&b));
	}
	return r ? r : rank_finish(&c->keys);
}

static uint8_t kind_of(const struct profile *p, uint32_t location)
{
	return (uint8_t)profile_get_mapping(p, profile_get_location(p, location)->mapping)->kind;
}

int costs_init(struct costs *c, struct profile *p, enum costs_by by)
{
	int r;

	*c = (struct costs){.p = p, .by = by, .names = render_names_new(p)};
	map_init(&c->lines.at);
	map_init(&c->own.at);
	r = c->names ? rank_functions(c) : -ENOMEM;
	if (!r)
		r = vec_reserve(&c->functions, c->keys.n + 1);
	c->seen = calloc(c->keys.n + 1, sizeof(*c->seen));
	c->lines.of = calloc(profile_n_locations(p) + 1, sizeof(*c->lines.of));
	c->own.of = calloc(profile_n_locations(p) + 1, sizeof(*c->own.of));
	c->kind = calloc(profile_n_locations(p) + 1, sizeof(*c->kind));
	if (r || !c->seen || !c->lines.of || !c->own.of || !c->kind)
		return err_set(-ENOMEM, "out of memory");
	c->kind[0] = KIND_MARK; /* no location */
	for (uint32_t id = 1; id <= profile_n_locations(p); id++)
		c->kind[id] = kind_of(p, id);
	c->functions.n = c->keys.n;
	for (uint32_t id = 0; id < c->keys.n; id++)
		c->functions.v[id] = (struct cost){.key = id, .location = c->keys.first[id]};
	return 0;
}

static void lines_fini(struct cost_lines *lines)
{
	vec_fini(&lines->list);
	map_fini(&lines->at);
	free(lines->of);
}

void costs_fini(struct costs *c)
{
	render_names_free(c->names);
	rank_fini(&c->keys);
	vec_fini(&c->functions);
	lines_fini(&c->lines);
	lines_fini(&c->own);
	vec_fini(&c->unique);
	free(c->seen);
	free(c->kind);
	*c = (struct costs){};
}

bool costs_is_own(const struct costs *c, uint32_t location)
{
	const struct profile_location *l = profile_get_location(c->p, location);

	/* code that a program made from a text at run time counts for the code that calls it */
	return costs_is_python(c, location) && l->function &&
	       !profile_get_function(c->p, l->function)->made_in &&
	       render_names_origin(c->names, l->function) == ORIGIN_OWN;
}

uint32_t costs_own(const struct costs *c, uint32_t stack)
{
	size_t n = 0;
	const uint32_t *frames = stack ? profile_get_stack(c->p, stack, &n) : NULL;

	for (size_t i = 0; i < n; i++)
		if (costs_is_own(c, costs_frame(c, frames, n, i)))
			return costs_frame(c, frames, n, i);
	return 0;
}

/* Returns the innermost frame of the garbage collector among the @n frames; 0: there is none. */
static uint32_t gc_frame(const struct costs *c, const uint32_t *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (costs_kind(c, costs_frame(c, frames, n, i)) == KIND_GC)
			return costs_frame(c, frames, n, i);
	return 0;
}

uint32_t costs_owner(const struct costs *c, uint32_t stack)
{
	const uint32_t *frames;
	size_t n = 0;

	frames = stack ? profile_get_stack(c->p, stack, &n) : NULL;
	for (size_t i = 0; i < n; i++)
		if (costs_is_python(c, costs_frame(c, frames, n, i)))
			return costs_frame(c, frames, n, i);
	return n ? gc_frame(c, frames, n) ?: costs_frame(c, frames, n, 0) : 0;
}

const uint32_t *costs_keys(struct costs *c, uint32_t stack, size_t *n)
{
	const uint32_t *frames;
	size_t n_frames = 0;

	frames = stack ? profile_get_stack(c->p, stack, &n_frames) : NULL;
	if (vec_reserve(&c->unique, MAX(n_frames, (size_t)1)))
		return NULL;
	c->unique.n = 0;
	c->stamp++;
	if (!n_frames)
		c->unique.v[c->unique.n++] = c->keys.of[0];
	for (size_t i = 0; i < n_frames; i++) {
		uint32_t key = c->keys.of[frames[i]];

		if (c->seen[key] == c->stamp)
			continue;
		c->seen[key] = c->stamp;
		c->unique.v[c->unique.n++] = key;
	}
	*n = c->unique.n;
	return c->unique.v;
}

bool costs_is_gc(const struct costs *c, uint32_t stack)
{
	size_t n = 0;
	const uint32_t *frames = stack ? profile_get_stack(c->p, stack, &n) : NULL;

	return gc_frame(c, frames, n);
}

/*
 * Returns a key that is the same for one line of a file, whichever functions contain the line. Many
 * texts may be called <string> or the like, so a line of such a text is told apart by its function.
 */
static uint64_t line_key(const struct costs *c, uint32_t location)
{
	const struct profile_location *l = profile_get_location(c->p, location);
	uint32_t file = l->function ? profile_get_function(c->p, l->function)->file : 0;
	bool by_file = file && *profile_get_string(c->p, file) != '<';

	return (uint64_t)(by_file ? file : c->keys.of[location]) << 32 | (uint32_t)by_file << 31 |
	       (uint32_t)l->line;
}

/* Adds a value to the costs of a line. @location 0: the stack has no such line. */
static int add_line(const struct costs *c, struct cost_lines *lines, uint32_t location,
		    int64_t value)
{
	int32_t line = location ? profile_get_location(c->p, location)->line : 0;
	uint64_t at, *found;
	struct cost_line l = {
		.key = c->keys.of[location], .location = location, .line = line, .self = value};

	if (line <= 0)
		return 0;
	at = line_key(c, location);
	found = map_get(&lines->at, at);
	costs_sum(&lines->of[location], value);
	if (found) {
		struct cost_line *known = &lines->list.v[*found];

		costs_sum(&known->self, value);
		if (lines->of[location] > lines->of[known->location])
			known->location = location;
		return 0;
	}
	return map_put(&lines->at, at, lines->list.n) || vec_push(&lines->list, l) ? -ENOMEM : 0;
}

static void add_kind(struct costs *c, uint32_t stack, uint32_t owner, int64_t value)
{
	size_t n = 0;
	const uint32_t *frames = stack ? profile_get_stack(c->p, stack, &n) : NULL;
	enum frame_kind kind;

	if (!n) {
		costs_sum(&c->no_frames, value);
		return;
	}
	kind = costs_kind(c, gc_frame(c, frames, n) ?: costs_frame(c, frames, n, 0));
	costs_sum(&c->kinds[kind], value);
	if (kind == KIND_GC)
		costs_sum(&c->functions.v[c->keys.of[owner]].gc, value);
}

static int add_sum(struct costs *c, uint32_t stack, int64_t value)
{
	uint32_t owner = costs_owner(c, stack);
	const uint32_t *keys;
	size_t n;

	keys = costs_keys(c, stack, &n);
	if (!keys || add_line(c, &c->lines, owner, value) ||
	    add_line(c, &c->own, costs_own(c, stack), value))
		return -ENOMEM;
	costs_sum(&c->all, value);
	costs_sum(&c->less, value < 0 ? -MAX(value, -INT64_MAX) : 0);
	costs_sum(&c->functions.v[c->keys.of[owner]].self, value);
	for (size_t i = 0; i < n; i++)
		costs_sum(&c->functions.v[keys[i]].total, value);
	add_kind(c, stack, owner, value);
	return 0;
}

int costs_add(struct costs *c, const struct profile_sum *sums, size_t n, unsigned value)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		if (sums[i].values[value])
			r = add_sum(c, sums[i].stack, sums[i].values[value]);
	return r ? err_set(r, "out of memory") : 0;
}

static uint64_t size(int64_t v)
{
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

static int compare(int64_t a, int64_t b)
{
	return size(a) > size(b) ? -1 : size(a) < size(b) ? 1 : a > b ? -1 : a < b;
}

static int compare_functions(const void *va, const void *vb)
{
	const struct cost *a = va, *b = vb;
	int r = compare(a->self, b->self);

	r = r ? r : compare(a->total, b->total);
	return r ? r : a->key < b->key ? -1 : a->key > b->key;
}

static int compare_lines(const void *va, const void *vb)
{
	const struct cost_line *a = va, *b = vb;
	int r = compare(a->self, b->self);

	r = r ? r : a->key < b->key ? -1 : a->key > b->key;
	return r ? r : a->line - b->line;
}

static void sort_lines(struct cost_lines *lines)
{
	if (lines->list.n)
		qsort(lines->list.v, lines->list.n, sizeof(*lines->list.v), compare_lines);
}

void costs_sort(struct costs *c)
{
	if (c->functions.n)
		qsort(c->functions.v, c->functions.n, sizeof(*c->functions.v), compare_functions);
	sort_lines(&c->lines);
	sort_lines(&c->own);
}
