/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds new rows to a file's rows; see rows.h. */
#include "unwind/rows/rows.h"

#include "unwind/rows/rule_numbers.h"

struct merged {
	struct unwind_rows *rows;
	VEC(struct unwind_row) v;
	struct rule_numbers numbers;
};

static int add(struct merged *m, uint32_t key, uint32_t rule)
{
	struct unwind_row *last = m->v.n ? &m->v.v[m->v.n - 1] : NULL;

	if (last && last->key == key)
		m->v.n--;
	last = m->v.n ? &m->v.v[m->v.n - 1] : NULL;
	return last && last->rule == rule ? 0 : vec_push(&m->v, (struct unwind_row){key, rule});
}

static int merge(struct merged *m, const unwind_range_vec *ranges)
{
	const struct unwind_row *row = m->rows->rows.v, *end = row + m->rows->rows.n;
	int r = rule_numbers_init(&m->numbers, m->rows);

	(void)!vec_reserve(&m->v, m->rows->rows.n + 2 * ranges->n);
	vec_foreach(range, ranges) {
		uint32_t rule = 0;

		for (; !r && row < end && row->key <= range->start; row++)
			r = add(m, row->key, row->rule);
		if (!r)
			r = rule_number(&m->numbers, &range->rule, &rule);
		if (m->v.n + (size_t)(end - row) + 2 > UNWIND_MAX_ROWS)
			break;
		if (!r)
			r = add(m, range->start, rule);
		/*
		 * before the merge there was no rule for the range, so none of those rows begins
		 * within it
		 */
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

	r = merge(&m, ranges);
	rule_numbers_fini(&m.numbers);
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
