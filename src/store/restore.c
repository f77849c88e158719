/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts the samples of a batch into a profile, with only those definitions that they use; see
 * restore.h.
 */
#include "store/restore.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "profile/intervals/part.h"
#include "profile/remake/copy.h"
#include "store/sealed/paths.h"
#include "store/sort.h"

/* What is known of a label set. TOLD is set as soon as a label set was looked at. */
enum told {
	TOLD = 1,
	TOLD_WANTED = 2,   /* the query wants samples with this label set */
	TOLD_ONE_WAIT = 4, /* samples with this label set are single moments or waits, not sums */
};

struct restoring {
	const struct batch *b;
	const struct store_query *q;
	struct profile *p;
	/* indexed by number in the batch: the id in the profile; 0: not made yet */
	uint32_t *ids[BATCH_TABLES];
	uint32_t *depths; /* indexed by a node's number: how many frames its stack has */
	uint32_t deepest; /* the highest of .depths */
	/* indexed by depth: the node that make_node() made last at that depth */
	struct made {
		uint32_t parent, location, id; /* ids in the profile; .id 0: no node was made */
	} * made;
	uint32_t n_made; /* for how many depths .made has room */
	/* paths in the stacks of one service, known from the blocks that were read before */
	struct paths paths;
	/* indexed by a label set's number: bits of enum told; 0: the set wasn't looked at yet */
	uint8_t *told;
	unsigned value_at[PROFILE_MAX_VALUES];
	struct part part; /* the query's window of time, to which samples are cut */
};

void restore_end(struct restoring *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < BATCH_TABLES; i++)
		free(x->ids[i]);
	free(x->depths);
	free(x->made);
	paths_fini(&x->paths);
	free(x->told);
	free(x);
}
static inline void restoring_free(struct restoring **x)
{
	restore_end(*x);
}

/* Replaces the array at *@v with an array of @n + 1 zeros. */
static int renew(void *v, size_t n, size_t size)
{
	free(*(void **)v);
	*(void **)v = calloc(n + 1, size);
	return *(void **)v ? 0 : err_nomem();
}

static int begin_names(struct restoring *x)
{
	const struct batch *b = x->b;
	int r = renew(&x->ids[BATCH_STRINGS], b->strings.n, sizeof(uint32_t));

	r = r ? r : renew(&x->ids[BATCH_MAPPINGS], b->mappings.n, sizeof(uint32_t));
	r = r ? r : renew(&x->ids[BATCH_FUNCTIONS], b->functions.n, sizeof(uint32_t));
	return r ? r : renew(&x->ids[BATCH_LOCATIONS], b->locations.n, sizeof(uint32_t));
}

static int begin_block(struct restoring *x)
{
	const struct batch *b = x->b;
	int r = renew(&x->ids[BATCH_SETS], b->sets.n, sizeof(uint32_t));

	r = r ? r : renew(&x->ids[BATCH_NODES], b->nodes.n, sizeof(uint32_t));
	r = r ? r : renew(&x->depths, b->nodes.n, sizeof(uint32_t));
	return r ? r : renew(&x->told, b->sets.n, 1);
}

static int contradicts(const char *what)
{
	return err_set(-EBADMSG, "%s", what);
}

/* Checks that stacks aren't too deep, and that inlined functions are below their callers. */
static int check_nodes(struct restoring *x)
{
	const struct batch *b = x->b;

	for (uint32_t i = 1; i <= b->nodes.n; i++) {
		const struct batch_node *node = &b->nodes.v[i - 1];
		uint32_t outer = b->locations.v[node->location - 1].outer;

		x->depths[i] = x->depths[node->parent] + 1;
		x->deepest = MAX(x->deepest, x->depths[i]);
		if (x->deepest > BATCH_MAX_DEPTH)
			return contradicts("a stack is too deep");
		if (outer && (!node->parent || b->nodes.v[node->parent - 1].location != outer))
			return contradicts("an inlined function isn't below its caller");
	}
	return 0;
}

static uint32_t make_string(struct restoring *x, uint32_t number)
{
	size_t n;
	const char *s;

	if (!number || x->ids[BATCH_STRINGS][number])
		return number ? x->ids[BATCH_STRINGS][number] : 0;
	s = batch_text(x->b, number, &n);
	return x->ids[BATCH_STRINGS][number] = profile_string_n(x->p, s, n);
}

static uint32_t make_mapping(struct restoring *x, uint32_t number)
{
	uint32_t *id = &x->ids[BATCH_MAPPINGS][number];
	struct profile_mapping m;

	if (*id)
		return *id;
	m = x->b->mappings.v[number - 1];
	m.name = make_string(x, m.name);
	m.build_id = make_string(x, m.build_id);
	m.kind = profile_kind(profile_get_string(x->p, m.name));
	return *id = profile_mapping(x->p, &m);
}

static uint32_t make_function(struct restoring *x, uint32_t number)
{
	uint32_t *id = &x->ids[BATCH_FUNCTIONS][number];
	struct profile_function f;

	if (!number || *id)
		return *id;
	f = x->b->functions.v[number - 1];
	f.name = make_string(x, f.name);
	f.file = make_string(x, f.file);
	f.system_name = make_string(x, f.system_name);
	f.made_in = make_string(x, f.made_in);
	f.start_line = MAX(f.start_line, 0);
	return *id = profile_function(x->p, &f);
}

/* Removes lines, columns and inlining from a location; the address too, if it has a function. */
static void outline(struct profile_location *l)
{
	l->outer = 0;
	l->line = l->column = l->end_line = l->end_column = 0;
	l->address = l->function ? 0 : l->address;
}

/* Returns the profile's id of location @number. The recursion is short: batch_check_inlined(). */
static uint32_t make_location(struct restoring *x, uint32_t number)
{
	uint32_t *id = &x->ids[BATCH_LOCATIONS][number];
	struct profile_location l;

	if (!number || *id)
		return *id;
	l = x->b->locations.v[number - 1];
	l.mapping = make_mapping(x, l.mapping);
	l.function = make_function(x, l.function);
	if (x->q->outline) {
		outline(&l);
		return *id = profile_location(x->p, &l);
	}
	l.outer = make_location(x, l.outer);
	l.line = MAX(l.line, 0);
	l.column = MAX(l.column, 0);
	profile_check_end(&l);
	return *id = profile_location(x->p, &l);
}

bool restore_tells(enum store_outline outline, const char *key, size_t n)
{
	static const char *const keys[] = {STORE_SERVICE_KEY, "version", "cgroup"};
	size_t told = outline == OUTLINE_SERVICES ? 2 : ARRAY_SIZE(keys);

	for (size_t i = 0; i < told; i++)
		if (n == strlen(keys[i]) && !memcmp(key, keys[i], n))
			return true;
	return outline == OUTLINE_NONE;
}

static bool is_told(const struct restoring *x, uint32_t key)
{
	size_t n;
	const char *s = batch_text(x->b, key, &n);

	return restore_tells(x->q->outline, s, n);
}

static uint32_t make_labels(struct restoring *x, uint32_t number)
{
	uint32_t *id = &x->ids[BATCH_SETS][number];
	const struct batch_set *set = number ? &x->b->sets.v[number - 1] : NULL;
	VEC(struct profile_label) labels = {};

	if (!number || *id)
		return *id;
	for (uint32_t i = 0; i < set->n; i++) {
		const struct profile_label *l = &x->b->labels.v[set->at + i];
		struct profile_label made;

		if (!is_told(x, l->key))
			continue;
		made = (struct profile_label){make_string(x, l->key), make_string(x, l->value)};
		if (made.key && vec_push(&labels, made))
			profile_no_memory(x->p);
	}
	*id = profile_labels(x->p, labels.v, labels.n);
	vec_fini(&labels);
	return *id;
}

#define WANTED UINT32_MAX /* marks a node that a sample needs, or that has such a node below it */

/* Makes room in .made for all depths of the block's tree. */
static int begin_made(struct restoring *x)
{
	int r = x->deepest < x->n_made ? 0 : renew(&x->made, x->deepest, sizeof(*x->made));

	x->n_made = r ? 0 : MAX(x->n_made, x->deepest + 1);
	return r;
}

/*
 * Returns the profile's id of node @at. Siblings are sorted by location, and in an outline (an
 * answer without lines) all lines of a function become one location. So a node is often the one
 * that was made last at its depth.
 */
static uint32_t make_node(struct restoring *x, size_t at)
{
	const struct batch_node *node = &x->b->nodes.v[at - 1];
	uint32_t depth = x->depths[at], parent = x->ids[BATCH_NODES][node->parent];
	uint32_t *known = x->q->sums ? paths_find(&x->paths, depth, node->location) : NULL;
	struct made *made = &x->made[depth];
	uint32_t location;

	if (x->q->sums && !known)
		return profile_no_memory(x->p);
	if (known && *known)
		return *known;
	location = make_location(x, node->location);
	if (!made->id || made->parent != parent || made->location != location)
		*made = (struct made){parent, location, profile_node(x->p, parent, location)};
	if (known)
		*known = made->id;
	return made->id;
}

/* Makes the nodes that samples need, in preorder: each node is near the last one in memory. */
static int make_nodes(struct restoring *x)
{
	const struct batch_node *nodes = x->b->nodes.v;
	uint32_t *ids = x->ids[BATCH_NODES];
	size_t n = 0;

	for (size_t i = x->b->nodes.n; i; i--) {
		n += ids[i] == WANTED;
		if (ids[i] == WANTED)
			ids[nodes[i - 1].parent] = WANTED;
	}
	ids[0] = 0;
	profile_expect_nodes(x->p, n);
	for (size_t i = 1; i <= x->b->nodes.n && !profile_failed(x->p); i++)
		if (ids[i] == WANTED)
			ids[i] = make_node(x, i);
	return profile_failed(x->p) ? err_nomem() : x->q->sums ? paths_end(&x->paths, n) : 0;
}

static uint32_t make_stack(struct restoring *x, uint32_t number)
{
	return number ? profile_stack_at(x->p, x->ids[BATCH_NODES][number], x->deepest)
		      : profile_stack(x->p, NULL, 0);
}

/*
 * Tells whether a sample with label set @set is one wait, not a sum of several. The batch's labels
 * tell this, because an outline (an answer with few labels) lacks the label `state`.
 */
static bool is_one_wait(const struct restoring *x, uint32_t set)
{
	static const struct profile_label_text sums[] = {{"state", 5, "runnable"},
							 {"state", 5, "stolen"}};

	return !batch_has_label(x->b, set, &sums[0]) && !batch_has_label(x->b, set, &sums[1]);
}

static unsigned ask_set(struct restoring *x, uint32_t set)
{
	uint8_t *told = &x->told[set];

	if (*told)
		return *told;
	*told = TOLD;
	if (batch_has_labels(x->b, set, x->q->labels, x->q->n_labels))
		*told |= TOLD_WANTED;
	if (is_one_wait(x, set))
		*told |= TOLD_ONE_WAIT;
	return *told;
}

static int find_value(struct restoring *x, const struct profile_value_type *type)
{
	struct profile_meta *m = profile_meta(x->p);

	for (unsigned i = 0; i < m->n_values; i++)
		if (profile_same_type(&m->values[i], type))
			return (int)i;
	if (m->n_values == PROFILE_MAX_VALUES)
		return err_set(-E2BIG, "there are more than %d kinds of values",
			       PROFILE_MAX_VALUES);
	m->values[m->n_values] = profile_copy_value_type(x->p, type);
	return (int)m->n_values++;
}

static struct profile_value_type value_type(struct restoring *x, uint32_t type, uint32_t unit)
{
	return (struct profile_value_type){profile_get_string(x->p, make_string(x, type)),
					   profile_get_string(x->p, make_string(x, unit))};
}

/*
 * Adds the batch's kinds of values to the profile. The first batch also sets the profile's period
 * and its default value.
 */
static int map_values(struct restoring *x)
{
	const struct batch_meta *from = &x->b->meta;
	struct profile_meta *to = profile_meta(x->p);
	bool first = !to->n_values;

	for (uint32_t i = 0; i < from->n_values; i++) {
		struct profile_value_type type =
			value_type(x, from->values[i].type, from->values[i].unit);
		int at = find_value(x, &type);

		if (at < 0)
			return at;
		x->value_at[i] = (unsigned)at;
	}
	if (!first)
		return 0;
	to->default_value = x->value_at[from->default_value];
	to->period_type = value_type(x, from->period_type.type, from->period_type.unit);
	to->period = from->period;
	return 0;
}

static int take_comments(struct restoring *x)
{
	struct comments *to = &profile_meta(x->p)->comments;
	int r = 0;

	vec_foreach(comment, &x->b->meta.comments) {
		const char *s = profile_get_string(x->p, make_string(x, *comment));
		bool known = !*s;

		vec_foreach(have, &to->list)
			known |= streq(*have, s);
		r = r || known ? r : comments_add(to, s);
	}
	return r;
}

/* Tells whether a sample (or a part of it, if it is a wait) may lie in the query's window. */
static bool touches(const struct restoring *x, int64_t ms, const int64_t *values)
{
	int64_t longest = 0;

	if (ms >= x->q->since_ms && ms < x->q->until_ms && ms < MOST_MS)
		return true;
	for (uint32_t i = 0; i < x->b->meta.n_values; i++)
		longest = MAX(longest, values[i]);
	longest = x->q->sums ? 0 : longest / (int64_t)NSEC_PER_MSEC + 1;
	return ms >= 0 && ms < MOST_MS && ms - longest < x->q->until_ms &&
	       ms + longest >= x->q->since_ms;
}

static int add_up(struct restoring *x, const struct profile_sample *s)
{
	const struct sums_key key = {s->stack, s->labels, -1};

	return sums_add_near(x->q->into, &key, s->values);
}

/* Tells whether the query wants sample @at. Sets *to to the sample's part in the query's window. */
static bool cut_sample(struct restoring *x, size_t at, struct profile_sample *to)
{
	const struct batch_sample *s = &x->b->samples.v[at];
	const int64_t *values = x->b->values.v + at * x->b->meta.n_values;
	unsigned told;

	if (!touches(x, s->ms, values))
		return false;
	told = ask_set(x, s->labels);
	if (!(told & TOLD_WANTED))
		return false;
	*to = (struct profile_sample){.time_ns = s->ms * (int64_t)NSEC_PER_MSEC};
	for (uint32_t i = 0; i < x->b->meta.n_values; i++)
		to->values[x->value_at[i]] = values[i];
	return x->q->sums || part_cut_as(&x->part, x->p, to, told & TOLD_ONE_WAIT);
}

static int take_sample(struct restoring *x, size_t at)
{
	const struct batch_sample *s = &x->b->samples.v[at];
	struct profile_sample to;

	if (!cut_sample(x, at, &to))
		return 0;
	to.labels = make_labels(x, s->labels);
	to.time_ns -= x->q->origin_ms * (int64_t)NSEC_PER_MSEC;
	to.stack = make_stack(x, s->node);
	if (profile_failed(x->p))
		return err_nomem();
	return x->q->into ? add_up(x, &to) : profile_add(x->p, &to);
}

/*
 * Tells whether sample @at is in the answer. If its time is within the query's window, it needn't
 * be cut.
 */
static bool is_taken(struct restoring *x, size_t at)
{
	int64_t ms = x->b->samples.v[at].ms;
	struct profile_sample cut;

	if (ms > x->q->since_ms && ms < x->q->until_ms)
		return ask_set(x, x->b->samples.v[at].labels) & TOLD_WANTED;
	return cut_sample(x, at, &cut);
}

/* Adds the samples. Sums are sorted by node first, so that each node is near the last in memory. */
static int take_samples(struct restoring *x)
{
	const struct batch *b = x->b;
	_cleanup_free_ uint32_t *order = NULL;
	int r;

	for (size_t i = 0; i < b->samples.n; i++)
		if (is_taken(x, i))
			x->ids[BATCH_NODES][b->samples.v[i].node] = WANTED;
	r = make_nodes(x);
	if (!r && x->q->sums && b->samples.n)
		r = sort_rows(&b->samples.v->node, sizeof(*b->samples.v), b->samples.n, &order);
	for (size_t i = 0; !r && i < b->samples.n; i++)
		r = take_sample(x, order ? order[i] : i);
	return r;
}

int restore_begin(const struct batch *b, const struct store_query *q, struct profile *p,
		  struct restoring **ret)
{
	struct restoring *x = *ret = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return err_nomem();
	*x = (struct restoring){.b = b, .q = q, .p = p};
	r = begin_names(x);
	return r ? r : batch_check_inlined(b);
}

int restore_block(struct restoring *x)
{
	int r = begin_block(x);

	r = r ? r : check_nodes(x);
	r = r ? r : begin_made(x);
	r = r ? r : map_values(x);
	r = r ? r : take_comments(x);
	if (!r && x->q->into)
		r = sums_widen(x->q->into, profile_meta(x->p)->n_values);
	x->part = part_of(x->p, (uint64_t)x->q->since_ms * NSEC_PER_MSEC,
			  (uint64_t)x->q->until_ms * NSEC_PER_MSEC);
	r = r ? r : take_samples(x);
	if (!r && profile_failed(x->p))
		r = err_nomem();
	return r;
}

int restore(const struct batch *b, const struct store_query *q, struct profile *p)
{
	_cleanup_(restoring_free) struct restoring *x = NULL;
	int r = restore_begin(b, q, p, &x);

	return r ? r : restore_block(x);
}
