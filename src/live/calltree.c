/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds stacks to a tree of callers or callees, interval by interval; see calltree.h. */
#include "live/calltree.h"

#include "base/error.h"

/* the deepest level that has nodes; a deeper frame counts for its ancestor at this level */
#define MAX_DEPTH 1024

static struct live_only swap_only(struct live *l, struct live_only only)
{
	struct live_only before = l->only;

	l->only = only;
	return before;
}

/*
 * Returns a hash of @parent and @key. Other pairs may have the same hash; child() tells them apart.
 */
static uint64_t child_key(uint32_t parent, uint64_t key)
{
	return key ^ (uint64_t)parent * 0x9e3779b97f4a7c15ull;
}

/* Returns the child of @parent that has @key. Adds it if it is new. 0: there is no room for it. */
static uint32_t child(struct calltree *t, uint32_t parent, uint64_t key, uint32_t location)
{
	uint64_t at = child_key(parent, key);
	const uint64_t *found;
	struct calltree_node node = {.key = key, .parent = parent, .location = location};

	/*
	 * Children with the same hash are told apart: counting up from the hash, the first number
	 * that is free or belongs to this child is taken.
	 */
	for (found = map_get(&t->children, at); found; found = map_get(&t->children, ++at))
		if (t->nodes.v[*found].parent == parent && t->nodes.v[*found].key == key)
			return *found;
	if (t->nodes.n >= CALLTREE_MAX_NODES)
		return 0;
	node.next = t->nodes.v[parent].first;
	node.depth = t->nodes.v[parent].depth + 1;
	if (map_put(&t->children, at, t->nodes.n) || vec_push(&t->nodes, node))
		return 0;
	t->nodes.v[parent].first = t->nodes.n - 1;
	return t->nodes.n - 1;
}

static void count(struct calltree *t, uint32_t node, int64_t value, bool last, bool since)
{
	struct calltree_node *n = &t->nodes.v[node];

	if (n->tick != t->tick) {
		n->tick = t->tick;
		n->last = 0;
	}
	n->last += last ? value : 0;
	n->since += since ? value : 0;
}

/*
 * Finds the frame in a stack (innermost frame first) that belongs to the tree's row. The callers or
 * callees that are to be added begin next to this frame.
 */
static bool find_start(const struct calltree *t, const uint32_t *loc, size_t n, size_t *ret)
{
	if (t->everything) {
		*ret = t->callers ? (size_t)-1 : n;
		return true;
	}
	for (size_t i = 0; i < n; i++) {
		/*
		 * If the row is in the stack several times, callers are those of its innermost
		 * call, and callees are those of its outermost call.
		 */
		size_t at = t->callers ? i : n - 1 - i;

		if (live_key(t->live, t->table, loc[at]) != t->key)
			continue;
		*ret = at;
		return true;
	}
	return false;
}

static void add_stack(struct calltree *t, const struct sums_entry *s, bool last, bool since)
{
	int64_t value = live_value(t->live, s->values);
	uint64_t key, last_key = t->everything ? 0 : t->key;
	uint32_t node = 0;
	size_t n, at;
	const uint32_t *loc;

	if (!value || !live_shows(t->live, &s->key))
		return;
	loc = live_stack(t->live, s->key.stack, &n);
	if (!find_start(t, loc, n, &at))
		return;
	count(t, 0, value, last, since);
	while (t->callers ? at + 1 < n : at > 0) {
		at += t->callers ? 1 : -1;
		if (t->nodes.v[node].depth >= MAX_DEPTH)
			break;
		key = live_key(t->live, t->table, loc[at]);
		/* Consecutive frames of the same module are one node of the tree. */
		if (t->table == LIVE_MODULES && key == last_key)
			continue;
		last_key = key;
		node = child(t, node, key, loc[at]);
		if (!node) {
			t->no_room++;
			return;
		}
		count(t, node, value, last, since);
	}
}

static void add_all(struct calltree *t, const struct sums *sums, bool last, bool since)
{
	struct live_only before = swap_only(t->live, t->only);

	sums_foreach(s, sums) add_stack(t, s, last, since);
	(void)swap_only(t->live, before);
}

int calltree_build(struct calltree *t)
{
	t->nodes.n = 0;
	map_fini(&t->children);
	map_init(&t->children);
	t->tick = t->live->tick;
	if (vec_push(&t->nodes, (struct calltree_node){}))
		return err_set(-ENOMEM, "out of memory for the tree");
	add_all(t, &t->live->since, false, true);
	add_all(t, live_recent(t->live), true, false);
	return 0;
}

void calltree_fini(struct calltree *t)
{
	vec_fini(&t->nodes);
	map_fini(&t->children);
	*t = (struct calltree){};
}

int calltree_tick(struct calltree *t)
{
	if (t->tick == t->live->tick)
		return 0;
	t->tick = t->live->tick;
	add_all(t, &t->live->last, false, true);
	add_all(t, live_recent(t->live), true, false);
	return 0;
}

int64_t calltree_last(const struct calltree *t, uint32_t node)
{
	return t->nodes.v[node].tick == t->tick ? t->nodes.v[node].last : 0;
}

struct order {
	const struct calltree *t;
	bool by_key;
};

static int compare(const void *va, const void *vb, void *arg)
{
	const struct order *o = arg;
	const struct calltree_node *a = &o->t->nodes.v[*(const uint32_t *)va];
	const struct calltree_node *b = &o->t->nodes.v[*(const uint32_t *)vb];

	if (!o->by_key && a->since != b->since)
		return a->since > b->since ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

int calltree_children(const struct calltree *t, uint32_t node, bool by_key, calltree_list *ret)
{
	struct order order = {t, by_key};

	ret->n = 0;
	for (uint32_t i = t->nodes.v[node].first; i; i = t->nodes.v[i].next)
		if (vec_push(ret, i))
			return err_set(-ENOMEM, "out of memory for the tree");
	if (ret->n)
		qsort_r(ret->v, ret->n, sizeof(*ret->v), compare, &order);
	return 0;
}
