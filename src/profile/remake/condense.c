/* SPDX-License-Identifier: BSD-2-Clause */
/* Condenses a profile: makes it smaller by summing up what is rare; see condense.h. */
#include "profile/remake/condense.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "profile/mark.h"

enum detail { WHOLE, FUNCTIONS, INNERMOST };

/*
 * A frame of a condensed stack is coded as a number. A frame that is kept whole is the id of its
 * location. A frame that is kept without its line is LINELESS | mapping << 32 | function. RARE
 * stands for a frame that isn't kept.
 */
#define RARE	 0
#define LINELESS (1ull << 63)

struct weight {
	uint64_t key;
	int64_t value;
};

typedef VEC(struct weight) weights;

/*
 * Orders entries by value, largest first. Of entries with equal values, the entry with the larger
 * id comes first, because it is newer.
 */
static int compare(const void *va, const void *vb)
{
	const struct weight *a = va, *b = vb;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->key > b->key ? -1 : a->key < b->key;
}

/*
 * The weight that the total of each value gets. The sum of PROFILE_MAX_VALUES such weights still
 * fits in an int64_t.
 */
#define WEIGHT_OF_TOTAL ((int64_t)1 << 58)

/*
 * Sets the factors that turn values into weights, such that the total of each value has the same
 * weight. So a function or stack with a large share of any event is kept, even if the event's
 * numbers are small. In a profile with several values, value 0 ("samples") gets no weight, because
 * it counts the samples of the first event, whose own value has a weight.
 */
static void set_factors(struct condense *c)
{
	unsigned n = profile_meta(c->rebase.copy.to)->n_values;
	int64_t totals[PROFILE_MAX_VALUES] = {};

	for (size_t i = 0; i < c->n_sums; i++)
		sums_foreach(s, c->sums[i]) sums_values(totals, s->values, n);
	for (unsigned v = n > 1; v < n; v++)
		c->factors[v] = totals[v] > 0 ? MAX(WEIGHT_OF_TOTAL / totals[v], (int64_t)1) : 0;
}

/* Returns the weight of an entry: the sum over its values, each as a share of the value's total. */
static int64_t weight_of(const struct condense *c, const struct sums_entry *s)
{
	int64_t sum = 0;

	for (unsigned v = 0; v < profile_meta(c->rebase.copy.to)->n_values; v++) {
		int64_t weight = s->values[v] * c->factors[v];

		sums_values(&sum, &weight, 1);
	}
	return sum;
}

static const struct profile_location *location_at(const struct condense *c, uint32_t location)
{
	return profile_get_location(c->rebase.copy.from, location);
}

/* Tells whether this is the first call for @function since .turn was last changed. */
static bool meet(struct condense *c, uint32_t function)
{
	bool first = c->seen[function] != c->turn;

	c->seen[function] = c->turn;
	return first;
}

static void weigh_functions(struct condense *c, const struct sums *sums, int64_t *values)
{
	sums_foreach(s, sums)
	{
		size_t n = 0;
		int64_t weight = weight_of(c, s);
		const uint32_t *loc =
			s->key.stack ? profile_get_stack(c->rebase.copy.from, s->key.stack, &n)
				     : NULL;

		c->turn++;
		for (size_t i = 0; i < n; i++) {
			uint32_t f = location_at(c, loc[i])->function;

			if (meet(c, f))
				sums_values(&values[f], &weight, 1);
		}
	}
}

static int choose_functions(struct condense *c)
{
	size_t n = profile_n_functions(c->rebase.copy.from);
	_cleanup_free_ int64_t *values = calloc(n + 1, sizeof(*values));
	weights w = {};

	if (!values || vec_reserve(&w, n + 1))
		return -ENOMEM;
	for (size_t i = 0; i < c->n_sums; i++)
		weigh_functions(c, c->sums[i], values);
	for (uint32_t id = 1; id <= n; id++)
		w.v[w.n++] = (struct weight){id, values[id]};
	qsort(w.v, w.n, sizeof(*w.v), compare);
	for (size_t i = 0; i < MIN(w.n, c->keep); i++)
		c->functions[w.v[i].key] = true;
	vec_fini(&w);
	return 0;
}

/*
 * Marks the functions and stacks of the samples in @last as kept. These samples are the last
 * interval's, which krait top shows.
 */
static void keep_last(struct condense *c, const struct sums *last)
{
	sums_foreach(s, last)
	{
		size_t n = 0;
		const uint32_t *loc =
			s->key.stack ? profile_get_stack(c->rebase.copy.from, s->key.stack, &n)
				     : NULL;

		c->detail[s->key.stack] = WHOLE;
		for (size_t i = 0; i < n; i++)
			c->functions[location_at(c, loc[i])->function] = true;
	}
}

/*
 * Tells whether the code at @i is inlined into the code at @i + 1. If so, both frames are kept, or
 * neither is.
 */
static bool is_inlined(const struct condense *c, const uint32_t *loc, size_t n, size_t i)
{
	return i + 1 < n && location_at(c, loc[i])->outer == loc[i + 1];
}

/*
 * Returns the location of frame @i of a stack if the frame is kept, else RARE. Code without a
 * symbol is kept. It has no function, but its mapping tells what it is.
 */
static uint64_t whole_frame(const struct condense *c, const uint32_t *loc, size_t n, size_t i)
{
	size_t first = i;

	while (first && is_inlined(c, loc, n, first - 1))
		first--;
	for (; first <= i; first++) {
		uint32_t f = location_at(c, loc[first])->function;

		if (!f || c->functions[f])
			return loc[i];
	}
	return RARE;
}

static uint64_t lineless_frame(const struct condense *c, uint32_t location)
{
	const struct profile_location *at = location_at(c, location);

	if (!at->function)
		return location;
	return c->functions[at->function] ? LINELESS | (uint64_t)at->mapping << 32 | at->function
					  : RARE;
}

static int add_frame(struct condense *c, uint64_t frame)
{
	if (frame == RARE && c->frames.n && c->frames.v[c->frames.n - 1] == RARE)
		return 0;
	return vec_push(&c->frames, frame);
}

/* Sets .frames to the frames that stack @stack has in the condensed profile, outermost first. */
static int make_frames(struct condense *c, uint32_t stack, enum detail detail)
{
	size_t n, inner = 1;
	const uint32_t *loc = profile_get_stack(c->rebase.copy.from, stack, &n);
	int r = 0;

	while (inner < n && (detail == WHOLE || is_inlined(c, loc, n, inner - 1)))
		inner++;
	c->frames.n = 0;
	c->turn++;
	for (size_t i = n; !r && i-- > inner;) {
		uint64_t frame = detail == FUNCTIONS ? lineless_frame(c, loc[i]) : RARE;

		if (!(frame & LINELESS) || meet(c, (uint32_t)frame))
			r = add_frame(c, frame);
	}
	for (size_t i = MIN(inner, n); !r && i--;)
		r = add_frame(c, whole_frame(c, loc, n, i));
	return r;
}

static int hash_frames(struct condense *c, uint32_t stack, enum detail detail, uint64_t *ret)
{
	int r = make_frames(c, stack, detail);

	if (!r)
		*ret = XXH3_64bits(c->frames.v, c->frames.n * sizeof(*c->frames.v));
	return r;
}

static int weigh_stacks(struct condense *c, enum detail detail, const struct sums *sums,
			struct map *values)
{
	uint64_t hash, *at;

	sums_foreach(s, sums)
	{
		int64_t weight;

		if (!s->key.stack || c->detail[s->key.stack] < INNERMOST)
			continue;
		if (hash_frames(c, s->key.stack, detail, &hash))
			return -ENOMEM;
		weight = weight_of(c, s);
		at = map_get(values, hash);
		if (at)
			sums_values(&weight, (const int64_t *)at, 1);
		if (map_put(values, hash, (uint64_t)weight))
			return -ENOMEM;
	}
	return 0;
}

/* Removes all entries from @values except the @keep entries with the largest values. */
static int leave_heaviest(struct map *values, size_t keep)
{
	weights w = {};

	if (vec_reserve(&w, values->n + 1))
		return -ENOMEM;
	map_foreach(slot, values)
		w.v[w.n++] = (struct weight){slot->key, (int64_t)slot->value};
	qsort(w.v, w.n, sizeof(*w.v), compare);
	for (size_t i = keep; i < w.n; i++)
		map_del(values, w.v[i].key);
	vec_fini(&w);
	return 0;
}

/*
 * Chooses up to c->keep stacks to keep with this detail (whole, or only their functions): the
 * heaviest of those for which no detail was chosen yet. Stacks that look alike with this detail
 * count as one.
 */
static int choose_stacks(struct condense *c, enum detail detail)
{
	_cleanup_(map_fini) struct map values = {};
	uint64_t hash;
	int r = 0;

	for (size_t i = 0; !r && i < c->n_sums; i++)
		r = weigh_stacks(c, detail, c->sums[i], &values);
	r = r ? r : leave_heaviest(&values, c->keep);
	for (size_t i = 0; !r && i < c->n_sums; i++) {
		sums_foreach(s, c->sums[i])
		{
			if (!s->key.stack || c->detail[s->key.stack] < INNERMOST)
				continue;
			r = hash_frames(c, s->key.stack, detail, &hash);
			if (r)
				break;
			if (map_get(&values, hash))
				c->detail[s->key.stack] = detail;
		}
	}
	return r;
}

static uint32_t rare_function(struct profile *p)
{
	return profile_function(
		p, &(struct profile_function){.name = profile_string(p, mark_text(MARK_RARE))});
}

static void add_own(struct condense *c)
{
	static const char *const ended[][2] = {
		{"pid", CONDENSE_ENDED}, {"tid", CONDENSE_ENDED}, {"thread", "[ended]"}};
	struct profile *p = c->rebase.copy.to;
	struct profile_mapping m = {.name = profile_string(p, MARK_MAPPING), .kind = KIND_MARK};

	c->rare = profile_location(p, &(struct profile_location){.mapping = profile_mapping(p, &m),
								 .function = rare_function(p)});
	for (size_t i = 0; i < ARRAY_SIZE(ended); i++)
		c->ended[i] = (struct profile_label){profile_string(p, ended[i][0]),
						     profile_string(p, ended[i][1])};
}

static int choose(struct condense *c, const struct sums *last, uint32_t rare)
{
	size_t n = profile_n_functions(c->rebase.copy.from),
	       stacks = profile_n_stacks(c->rebase.copy.from) + 1;
	int r;

	c->functions = calloc(n + 1, sizeof(*c->functions));
	c->seen = calloc(n + 1, sizeof(*c->seen));
	c->detail = malloc(stacks * sizeof(*c->detail));
	if (!c->functions || !c->seen || !c->detail)
		return -ENOMEM;
	memset(c->detail, INNERMOST, stacks);
	set_factors(c);
	r = choose_functions(c);
	keep_last(c, last);
	/*
	 * the frame "[rare code]" of an earlier condensing isn't kept as a function: it is joined
	 * with what becomes rare now
	 */
	c->functions[rare] = false;
	r = r ? r : choose_stacks(c, WHOLE);
	r = r ? r : choose_stacks(c, FUNCTIONS);
	for (uint32_t id = 1; id <= n; id++)
		c->given_up += !c->functions[id] && id != rare;
	return r;
}

static void fini(struct condense *c)
{
	free(c->functions);
	free(c->seen);
	free(c->detail);
	vec_fini(&c->frames);
	vec_fini(&c->locations);
}

/*
 * Ends the condensing. Frees what the profile held before; if @r is an error, puts the old contents
 * back instead. Returns @r, or an error of rebase_end().
 */
static int end(struct condense *c, int r)
{
	struct profile *before = NULL;

	fini(c);
	r = rebase_end(&c->rebase, r, &before);
	profile_free(before);
	return r;
}

int condense_begin(struct condense *c, struct profile *p, const struct sums *last,
		   const struct sums *const *sums, size_t n, size_t keep)
{
	uint32_t rare = rare_function(p);
	int r;

	*c = (struct condense){.sums = sums, .n_sums = n, .keep = keep};
	r = rare ? rebase_begin(&c->rebase, p) : err_set(-ENOMEM, "out of memory");
	if (r)
		return r;
	c->rebase.condense = c;
	r = choose(c, last, rare);
	if (r)
		return end(c, err_set(r, "out of memory"));
	c->sums = NULL;
	add_own(c);
	sums_foreach(s, last)(void) condense_labels_whole(c, s->key.labels);
	return 0;
}

uint32_t condense_function(struct condense *c, uint32_t id)
{
	if (!id || c->functions[id])
		return profile_copy_function(&c->rebase.copy, id);
	return profile_get_location(c->rebase.copy.to, c->rare)->function;
}

static uint32_t new_location(struct condense *c, uint64_t frame)
{
	struct profile_location l;

	if (frame == RARE)
		return c->rare;
	if (!(frame & LINELESS))
		return profile_copy_location(&c->rebase.copy, (uint32_t)frame);
	l = (struct profile_location){
		.mapping =
			profile_copy_mapping(&c->rebase.copy, (uint32_t)(frame >> 32) & INT32_MAX),
		.function = profile_copy_function(&c->rebase.copy, (uint32_t)frame)};
	return profile_location(c->rebase.copy.to, &l);
}

uint32_t condense_stack(struct condense *c, uint32_t id)
{
	if (!id || c->rebase.copy.stacks[id])
		return id ? c->rebase.copy.stacks[id] : 0;
	if (make_frames(c, id, c->detail[id]))
		return 0;
	c->locations.n = 0;
	for (size_t i = c->frames.n; i--;)
		if (vec_push(&c->locations, new_location(c, c->frames.v[i])))
			return 0;
	c->rebase.copy.stacks[id] =
		profile_stack(c->rebase.copy.to, c->locations.v, c->locations.n);
	return c->rebase.copy.stacks[id];
}

uint32_t condense_labels(struct condense *c, uint32_t id)
{
	size_t n = c->keeps_ended ? 0 : ARRAY_SIZE(c->ended);

	return id ? profile_copy_labels(&c->rebase.copy, id, c->ended, n) : 0;
}

uint32_t condense_labels_whole(struct condense *c, uint32_t id)
{
	return id ? profile_copy_labels(&c->rebase.copy, id, NULL, 0) : 0;
}

/*
 * Replaces the ids *stack and *labels by the new ids in the condensed profile. 0 or -ENOMEM +
 * message.
 */
static int renew(struct condense *c, uint32_t *stack, uint32_t *labels)
{
	uint32_t before = *stack;

	*stack = condense_stack(c, before);
	*labels = condense_labels(c, *labels);
	if ((before && !*stack) || profile_failed(c->rebase.copy.to))
		return err_set(-ENOMEM, "out of memory");
	return 0;
}

int condense_sums(struct condense *c, struct sums *s)
{
	struct sums now;
	int r = 0;

	sums_init(&now, s->n_values);
	sums_foreach(e, s)
	{
		r = r ? r : renew(c, &e->key.stack, &e->key.labels);
		r = r ? r : sums_add(&now, &e->key, e->values);
	}
	sums_fini(s);
	*s = now;
	return r;
}

static int take_sample(void *arg, const struct profile_sample *s)
{
	struct condense *c = arg;
	struct profile_sample sample = *s;
	int r = renew(c, &sample.stack, &sample.labels);

	return r ? r : profile_add(c->rebase.copy.to, &sample);
}

int condense_end(struct condense *c, int r)
{
	struct profile *before = (struct profile *)c->rebase.copy.from;

	return end(c, r ? r : profile_each(before, take_sample, c));
}
