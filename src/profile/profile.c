/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the profile's tables. A stack is a path in a tree of (parent, location) nodes, outermost
 * frame first. Stacks that differ only in their innermost frame share all other nodes, which keeps
 * deep recursion small. look_up.c reads the tables; samples.c has the samples.
 */
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "marks.h"
#include "base/text/utf8.h"
#include "profile/internal.h"

enum frame_kind profile_kind(const char *mapping)
{
	static const struct {
		const char *prefix;
		enum frame_kind kind;
	} kinds[] = {
		{"[python", KIND_PYTHON},
		/* names that begin with this include perf's [kernel.kallsyms] */
		{"[kernel", KIND_KERNEL},
		{"[jit]", KIND_JIT},
		{"[gc]", KIND_GC},
		{MARK_MAPPING, KIND_MARK},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (str_starts(mapping, kinds[i].prefix))
			return kinds[i].kind;
	}
	return KIND_NATIVE;
}

struct profile *profile_new(void)
{
	struct profile *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	intern_init(&p->t.strings, 0);
	intern_init(&p->t.mappings, sizeof(struct profile_mapping));
	intern_init(&p->t.functions, sizeof(struct profile_function));
	intern_init(&p->t.locations, sizeof(struct profile_location));
	intern_init(&p->t.nodes, sizeof(struct profile_node));
	intern_init(&p->t.stacks, sizeof(uint32_t));
	intern_init(&p->t.labels, 0);
	samplelog_init(&p->log);
	return p;
}

void profile_add_comment(struct profile *p, const char *key, const char *value)
{
	_cleanup_free_ char *text = NULL;

	if (value && asprintf(&text, "%s: %s", key, value) >= 0)
		(void)!comments_add(&p->meta.comments, text);
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	comments_fini(&p->meta.comments);
	intern_fini(&p->t.strings);
	intern_fini(&p->t.mappings);
	intern_fini(&p->t.functions);
	intern_fini(&p->t.locations);
	intern_fini(&p->t.nodes);
	intern_fini(&p->t.stacks);
	intern_fini(&p->t.labels);
	samplelog_fini(&p->log);
	str_fini(&p->scratch);
	vec_fini(&p->ran_before);
	vec_fini(&p->stack_at);
	for (unsigned i = 0; i < ARRAY_SIZE(p->known); i++) {
		free(p->known[i].v);
		free(p->known[i].nodes);
	}
	free(p);
}

struct profile_meta *profile_meta(struct profile *p)
{
	return &p->meta;
}

int profile_time_value(struct profile *p, const char *type)
{
	const struct profile_value_type ns = {type, "nanoseconds"};
	const struct profile_meta *m = profile_meta(p);

	for (unsigned i = 0; i < m->n_values; i++)
		if (profile_same_type(&m->values[i], &ns))
			return (int)i;
	return -1;
}

void profile_swap(struct profile *a, struct profile *b)
{
	struct profile was = *a;

	*a = *b;
	*b = was;
	b->meta = a->meta;
	a->meta = was.meta;
}

bool profile_failed(const struct profile *p)
{
	return p->failed;
}

uint32_t profile_no_memory(struct profile *p)
{
	(void)err_nomem();
	p->failed = true;
	return 0;
}

void profile_forget_failure(struct profile *p)
{
	p->failed = false;
}

static uint32_t put(struct profile *p, struct intern *t, const void *key, size_t n)
{
	uint32_t id = intern_put(t, key, n);

	p->failed |= !id;
	return id;
}

uint32_t profile_string_n(struct profile *p, const char *s, size_t n)
{
	if (!n)
		return 0;
	if (utf8_valid(s, n) == n)
		return put(p, &p->t.strings, s, n);
	str_clear(&p->scratch);
	utf8_clean(&p->scratch, s, n);
	if (p->scratch.failed) {
		p->failed = true;
		return 0;
	}
	return put(p, &p->t.strings, p->scratch.s, p->scratch.n);
}

uint32_t profile_string(struct profile *p, const char *s)
{
	return profile_string_n(p, s, strlen(s));
}

uint32_t profile_mapping(struct profile *p, const struct profile_mapping *m)
{
	struct profile_mapping key;

	/* the padding must be zero too, because keys are compared byte by byte */
	memset(&key, 0, sizeof(key));
	key.name = m->name;
	key.build_id = m->build_id;
	key.kind = m->kind;
	key.start = m->start;
	key.limit = m->limit;
	key.offset = m->offset;
	return put(p, &p->t.mappings, &key, sizeof(key));
}

uint32_t profile_function(struct profile *p, const struct profile_function *f)
{
	_Static_assert(sizeof(*f) == 4 * sizeof(uint32_t) + sizeof(int32_t), "no padding");

	return put(p, &p->t.functions, f, sizeof(*f));
}

void profile_ran_before(struct profile *p, uint32_t function, uint64_t ms)
{
	ms = MIN(ms, PROFILE_MAX_RAN_BEFORE);
	while (ms && p->ran_before.n < function) {
		if (vec_push(&p->ran_before, 0)) {
			p->failed = true;
			return;
		}
	}
	if (ms)
		p->ran_before.v[function - 1] = MAX(p->ran_before.v[function - 1], ms);
}

uint32_t profile_location(struct profile *p, const struct profile_location *l)
{
	struct profile_location key;

	/* the padding must be zero too, because keys are compared byte by byte */
	memset(&key, 0, sizeof(key));
	key.mapping = l->mapping;
	key.function = l->function;
	key.outer = l->outer;
	key.line = l->line;
	key.column = l->column;
	key.end_line = l->end_line;
	key.end_column = l->end_column;
	key.address = l->address;
	return put(p, &p->t.locations, &key, sizeof(key));
}

/* Gives both buffers of profile_get_stack() room for @n ids, so that look-ups can't fail. */
static int reserve_stack(struct profile *p, size_t n)
{
	size_t cap = MAX(n, p->stack_cap * 2);

	if (n <= p->stack_cap)
		return 0;
	for (unsigned i = 0; i < ARRAY_SIZE(p->known); i++) {
		uint32_t *v = reallocarray(p->known[i].v, cap, sizeof(*v));
		uint32_t *nodes = NULL;

		p->known[i].v = v ?: p->known[i].v;
		if (v)
			nodes = reallocarray(p->known[i].nodes, cap, sizeof(*nodes));
		if (!nodes)
			return err_nomem();
		p->known[i].nodes = nodes;
	}
	p->stack_cap = cap;
	return 0;
}

/*
 * Does what put() does, for a node at @depth of a stack. A stack mostly begins like the last one.
 * So the node at that depth of the last stack is tried first.
 */
static uint32_t put_node(struct profile *p, size_t depth, const struct profile_node *node)
{
	uint32_t *last = depth < ARRAY_SIZE(p->last_nodes) ? &p->last_nodes[depth] : NULL, id;

	if (last && *last && *last <= p->t.nodes.n &&
	    !memcmp(intern_get(&p->t.nodes, *last, NULL), node, sizeof(*node)))
		return *last;
	id = put(p, &p->t.nodes, node, 0);
	if (last)
		*last = id;
	return id;
}

/* Returns the id of the stack that ends at @node, which is made if it is new. */
static uint32_t stack_at(struct profile *p, uint32_t node)
{
	size_t had = p->stack_at.n;
	uint32_t *at;

	if (node >= had) {
		if (vec_reserve(&p->stack_at, node + 1))
			return profile_no_memory(p);
		p->stack_at.n = p->stack_at.cap;
		memset(p->stack_at.v + had, 0, (p->stack_at.n - had) * sizeof(*at));
	}
	at = &p->stack_at.v[node];
	if (!*at)
		*at = intern_append(&p->t.stacks, &node);
	p->failed |= !*at;
	return *at;
}

uint32_t profile_stack(struct profile *p, const uint32_t *locations, size_t n)
{
	uint32_t at = 0;

	if (reserve_stack(p, MAX(n, (size_t)64))) {
		p->failed = true;
		return 0;
	}
	for (size_t i = n; i--;) {
		/* id 0: the location couldn't be made, because memory ran out */
		p->failed |= !locations[i];
		if (!locations[i])
			return 0;
		at = put_node(p, n - 1 - i, &(struct profile_node){at, locations[i]});
		if (!at)
			return 0;
	}
	return stack_at(p, at);
}

uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t location)
{
	p->failed |= !location;
	return location ? put(p, &p->t.nodes, &(struct profile_node){parent, location}, 0) : 0;
}

void profile_expect_nodes(struct profile *p, size_t n)
{
	intern_reserve(&p->t.nodes, p->t.nodes.n + n);
}

uint32_t profile_stack_at(struct profile *p, uint32_t node, size_t n)
{
	if (!reserve_stack(p, MAX(n, (size_t)64)))
		return stack_at(p, node);
	p->failed = true;
	return 0;
}

/*
 * Renames the key "time" to "time.label". In pprof the label "time" is the sample's time, and a key
 * has one kind of value there.
 */
static uint32_t label_key(struct profile *p, uint32_t key)
{
	return streq(profile_get_string(p, key), "time") ? profile_string(p, "time.label") : key;
}

uint32_t profile_labels(struct profile *p, const struct profile_label *labels, size_t n)
{
	_cleanup_free_ struct profile_label *set = NULL;
	size_t used = 0, at;

	if (!n)
		return 0;
	set = reallocarray(NULL, n, sizeof(*set));
	if (!set)
		return profile_no_memory(p);
	/*
	 * Insertion sort by key, because a set has only about ten labels. Of labels with the same
	 * key the last one counts.
	 */
	for (size_t i = 0; i < n; i++) {
		uint32_t key = label_key(p, labels[i].key);

		for (at = used; at && set[at - 1].key >= key; at--)
			;
		if (at == used || set[at].key != key) {
			memmove(set + at + 1, set + at, (used - at) * sizeof(*set));
			used++;
		}
		set[at] = (struct profile_label){key, labels[i].value};
	}
	return put(p, &p->t.labels, set, used * sizeof(*set));
}

/*
 * The set is changed in place, so that it keeps its id. The table of sets still has it under its
 * old hash, so an equal set that is made later gets another id. That doesn't matter: sets that are
 * changed belong to one thread, and no other thread has an equal set.
 */
bool profile_relabel(struct profile *p, uint32_t id, uint32_t key, uint32_t value)
{
	size_t n;
	struct profile_label *set = (struct profile_label *)profile_get_labels(p, id, &n);

	for (size_t i = 0; i < n; i++) {
		if (set[i].key != key)
			continue;
		set[i].value = value;
		return true;
	}
	return false;
}
