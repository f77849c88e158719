/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives definitions of a growing profile numbers within a segment of the store; see numbering.h. */
#include "store/numbering.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/nomem.h"

void numbering_fini(struct numbering *n)
{
	batch_fini(&n->batch);
	for (size_t i = 0; i < BATCH_TABLES; i++)
		free(n->numbers[i].v);
	vec_fini(&n->sets);
}

void numbering_begin(struct numbering *n)
{
	batch_clear(&n->batch);
	memset(n->batch.base, 0, sizeof(n->batch.base));
	for (size_t i = 0; i < BATCH_TABLES; i++) {
		free(n->numbers[i].v);
		n->numbers[i] = (struct numbers){};
	}
	n->sets.n = 0;
}

void numbering_forget(struct numbering *n)
{
	n->sets.n = 0;
}

/* Returns a pointer to the number of the object @id of the profile, or NULL if memory ran out. */
static uint32_t *number_of(struct numbering *n, enum batch_table table, uint32_t id)
{
	struct numbers *of = &n->numbers[table];
	size_t cap = of->cap ? of->cap : 1024;
	uint32_t *v;

	if (id < of->cap)
		return &of->v[id];
	while (cap <= id)
		cap *= 2;
	v = reallocarray(of->v, cap, sizeof(*v));
	if (!v)
		return NULL;
	memset(v + of->cap, 0, (cap - of->cap) * sizeof(*v));
	of->v = v;
	of->cap = cap;
	return &v[id];
}

/*
 * The number of the object @id of the profile. If @id has no number yet, DEFINE first appends its
 * definition to table @member. The result is 0 if @id is 0 or memory ran out.
 */
#define NUMBER(n, table, member, id, define)                                                       \
	({                                                                                         \
		uint32_t *_at = (id) ? number_of((n), (table), (id)) : NULL;                       \
		if (_at && !*_at && !(define)) {                                                   \
			_at = number_of((n), (table), (id));                                       \
			*_at = (n)->batch.base[table] + (uint32_t)(n)->batch.member.n;             \
		}                                                                                  \
		_at ? *_at : 0;                                                                    \
	})

static int define_string(struct numbering *n, const char *s)
{
	struct batch *b = &n->batch;
	struct batch_string string = {(uint32_t)b->text.n, (uint32_t)strlen(s)};

	str_add_n(&b->text, s, string.n);
	return b->text.failed ? -ENOMEM : vec_push(&b->strings, string);
}

static uint32_t string(struct numbering *n, const struct profile *p, uint32_t id)
{
	return NUMBER(n, BATCH_STRINGS, strings, id, define_string(n, profile_get_string(p, id)));
}

static int define_mapping(struct numbering *n, const struct profile *p, uint32_t id)
{
	struct profile_mapping m = *profile_get_mapping(p, id);

	m.name = string(n, p, m.name);
	m.build_id = string(n, p, m.build_id);
	return vec_push(&n->batch.mappings, m);
}

static uint32_t mapping(struct numbering *n, const struct profile *p, uint32_t id)
{
	return NUMBER(n, BATCH_MAPPINGS, mappings, id, define_mapping(n, p, id));
}

static int define_function(struct numbering *n, const struct profile *p, uint32_t id)
{
	struct profile_function f = *profile_get_function(p, id);

	f.name = string(n, p, f.name);
	f.file = string(n, p, f.file);
	f.system_name = string(n, p, f.system_name);
	f.made_in = string(n, p, f.made_in);
	return vec_push(&n->batch.functions, f);
}

static uint32_t function(struct numbering *n, const struct profile *p, uint32_t id)
{
	return NUMBER(n, BATCH_FUNCTIONS, functions, id, define_function(n, p, id));
}

static uint32_t location(struct numbering *n, const struct profile *p, uint32_t id);

/*
 * Appends location @id to the frame of the store that is being filled. If its code is inlined,
 * @outer is the number of the caller's location, which is defined already.
 */
static int define_location(struct numbering *n, const struct profile *p, uint32_t id,
			   uint32_t outer)
{
	struct profile_location l = *profile_get_location(p, id);

	l.mapping = mapping(n, p, l.mapping);
	l.function = function(n, p, l.function);
	l.outer = outer;
	return vec_push(&n->batch.locations, l);
}

/*
 * Returns the number of location @id. The recursion is short: at most PROFILE_MAX_INLINED functions
 * are inlined into each other.
 */
static uint32_t location(struct numbering *n, const struct profile *p, uint32_t id)
{
	uint32_t *known = id ? number_of(n, BATCH_LOCATIONS, id) : NULL, outer;

	if (!known || *known)
		return known ? *known : 0;
	outer = location(n, p, profile_get_location(p, id)->outer);
	return NUMBER(n, BATCH_LOCATIONS, locations, id, define_location(n, p, id, outer));
}

static int define_node(struct numbering *n, const struct profile *p, uint32_t id)
{
	uint32_t parent, of;

	profile_get_node(p, id, &parent, &of);
	of = location(n, p, of);
	parent = parent ? *number_of(n, BATCH_NODES, parent) : 0;
	return of ? vec_push(&n->batch.nodes, (struct batch_node){parent, of}) : -ENOMEM;
}

/*
 * Returns the number of node @id. Defines the nodes on the way from the root to it that have no
 * number yet, parents first.
 */
static uint32_t node(struct numbering *n, const struct profile *p, uint32_t id)
{
	VEC(uint32_t) path = {};
	uint32_t number = 0, of;
	int r = 0;

	for (uint32_t at = id; !r && at; profile_get_node(p, at, &at, &of)) {
		uint32_t *known = number_of(n, BATCH_NODES, at);

		r = known ? 0 : -ENOMEM;
		if (r || *known)
			break;
		r = vec_push(&path, at);
	}
	for (size_t i = path.n; !r && i--;)
		r = NUMBER(n, BATCH_NODES, nodes, path.v[i], define_node(n, p, path.v[i]))
			    ? 0
			    : -ENOMEM;
	if (!r && id)
		number = *number_of(n, BATCH_NODES, id);
	vec_fini(&path);
	return number;
}

static uint64_t hash_of(const struct profile *p, uint32_t id)
{
	size_t n;
	const struct profile_label *labels = profile_get_labels(p, id, &n);

	return XXH3_64bits(labels, n * sizeof(*labels));
}

static int define_set(struct numbering *n, const struct profile *p, uint32_t id, uint32_t number)
{
	struct batch *b = &n->batch;
	size_t labels;
	const struct profile_label *l = profile_get_labels(p, id, &labels);
	struct batch_set set = {number, (uint32_t)b->labels.n, (uint32_t)labels};

	for (size_t i = 0; i < labels; i++) {
		struct profile_label label = {string(n, p, l[i].key), string(n, p, l[i].value)};

		if (!label.key || vec_push(&b->labels, label))
			return -ENOMEM;
	}
	return vec_push(&b->sets, set);
}

static uint32_t set(struct numbering *n, const struct profile *p, uint32_t id)
{
	uint32_t *known = id ? number_of(n, BATCH_SETS, id) : NULL;
	uint32_t number = (uint32_t)n->sets.n + 1;

	if (!known || *known)
		return known ? *known : 0;
	if (vec_push(&n->sets, (struct numbered_set){id, hash_of(p, id)}) ||
	    define_set(n, p, id, number))
		return 0;
	return *number_of(n, BATCH_SETS, id) = number;
}

int numbering_add(struct numbering *n, const struct profile *p, const struct profile_sample *s,
		  int64_t ms)
{
	struct batch *b = &n->batch;
	uint32_t at = profile_stack_node(p, s->stack);
	unsigned n_values = profile_meta((struct profile *)p)->n_values;
	struct batch_sample sample = {ms, node(n, p, at), set(n, p, s->labels)};

	if ((at && !sample.node) || (s->labels && !sample.labels) ||
	    vec_push(&b->samples, sample) || vec_reserve(&b->values, b->values.n + n_values))
		return err_nomem();
	memcpy(b->values.v + b->values.n, s->values, n_values * sizeof(*s->values));
	b->values.n += n_values;
	return 0;
}

/* Defines a text that has no id in the profile, such as a value's name. Returns its number. */
static uint32_t text(struct numbering *n, const char *s)
{
	if (!s || !*s || define_string(n, s))
		return 0;
	return n->batch.base[BATCH_STRINGS] + (uint32_t)n->batch.strings.n;
}

static int describe(struct numbering *n, const struct profile_meta *m)
{
	struct batch_meta *to = &n->batch.meta;
	int r = 0;

	to->default_value = m->default_value;
	to->period = m->period;
	to->period_type.type = text(n, m->period_type.type);
	to->period_type.unit = text(n, m->period_type.unit);
	for (unsigned i = 0; i < m->n_values; i++) {
		to->values[i].type = text(n, m->values[i].type);
		to->values[i].unit = text(n, m->values[i].unit);
	}
	for (size_t i = 0; !r && i < MIN(m->comments.list.n, (size_t)BATCH_MAX_COMMENTS); i++)
		r = vec_push(&to->comments, text(n, m->comments.list.v[i]));
	return r || n->batch.text.failed ? err_nomem() : 0;
}

int numbering_end(struct numbering *n, struct profile *p)
{
	const struct profile_meta *m = profile_meta(p);
	bool first = !n->batch.base[BATCH_STRINGS];

	n->batch.meta.n_values = m->n_values;
	for (uint32_t i = 0; i < n->sets.n; i++) {
		struct numbered_set *s = &n->sets.v[i];
		uint64_t hash = hash_of(p, s->id);

		if (hash == s->hash)
			continue;
		s->hash = hash;
		if (define_set(n, p, s->id, i + 1))
			return err_nomem();
	}
	return first ? describe(n, m) : 0;
}
