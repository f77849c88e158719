/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of two sources as one; see unwind_rows.h. */
#include "elf/unwind_rows.h"

#include "base/map.h"

struct merged {
	struct unwind_rows *rows;
	VEC(struct unwind_row) v;
	struct map by_hash; /* of a rule -> its index */
};

static int add(struct merged *m, uint32_t key, uint32_t rule)
{
	struct unwind_row *last = m->v.n ? &m->v.v[m->v.n - 1] : NULL;

	if (last && last->key == key)
		m->v.n--;
	last = m->v.n ? &m->v.v[m->v.n - 1] : NULL;
	return last && last->rule == rule ? 0 : vec_push(&m->v, (struct unwind_row){key, rule});
}

static uint64_t hash_of(const struct unwind_rule *rule)
{
	uint64_t w[2];

	memcpy(w, rule, sizeof(w));
	return w[0] * 0x9e3779b97f4a7c15ull ^ w[1];
}

/* The number of @rule; UNWIND_UNKNOWN's if there is no room for another. */
static int number(struct merged *m, const struct unwind_rule *rule, uint32_t *ret)
{
	uint64_t hash = hash_of(rule), *known;
	int r;

	for (; (known = map_get(&m->by_hash, hash)); hash++) {
		*ret = (uint32_t)*known;
		if (!memcmp(&m->rows->rules.v[*ret], rule, sizeof(*rule)))
			return 0;
	}
	*ret = 0;
	if (m->rows->rules.n >= UNWIND_MAX_RULES)
		return 0;
	r = map_put(&m->by_hash, hash, m->rows->rules.n);
	if (!r)
		r = vec_push(&m->rows->rules, *rule);
	if (!r)
		*ret = (uint32_t)m->rows->rules.n - 1;
	return r;
}

static int know_rules(struct merged *m)
{
	const struct unwind_rule unknown = {};
	int r = m->rows->rules.n ? 0 : vec_push(&m->rows->rules, unknown);

	for (uint32_t i = 0; !r && i < m->rows->rules.n; i++) {
		uint64_t hash = hash_of(&m->rows->rules.v[i]);

		while (map_get(&m->by_hash, hash))
			hash++;
		r = map_put(&m->by_hash, hash, i);
	}
	return r;
}

static int merge(struct merged *m, const unwind_range_vec *ranges)
{
	const struct unwind_row *row = m->rows->rows.v, *end = row + m->rows->rows.n;
	int r = know_rules(m);

	vec_foreach(range, ranges) {
		uint32_t rule = 0;

		for (; !r && row < end && row->key <= range->start; row++)
			r = add(m, row->key, row->rule);
		if (!r)
			r = number(m, &range->rule, &rule);
		if (m->v.n + (size_t)(end - row) + 2 > UNWIND_MAX_ROWS)
			break;
		if (!r)
			r = add(m, range->start, rule);
		/* Nothing was known there: no row begins within. */
		if (!r)
			r = add(m, range->end, 0);
		if (r)
			return r;
	}
	for (; !r && row < end; row++)
		r = add(m, row->key, row->rule);
	return r;
}

int unwind_rows_merge(struct unwind_rows *rows, const unwind_range_vec *ranges)
{
	struct merged m = {.rows = rows};
	int r;

	map_init(&m.by_hash);
	r = merge(&m, ranges);
	map_fini(&m.by_hash);
	if (r) {
		vec_fini(&m.v);
		return r;
	}
	free(rows->rows.v);
	rows->rows.v = m.v.v;
	rows->rows.n = m.v.n;
	rows->rows.cap = m.v.cap;
	return 0;
}
