/* SPDX-License-Identifier: BSD-2-Clause */
#include "unwind/rows/rule_numbers.h"

static uint64_t hash_of(const struct unwind_rule *rule)
{
	uint64_t w[2];

	_Static_assert(sizeof(*rule) == sizeof(w), "all of it");
	memcpy(w, rule, sizeof(w));
	return w[0] * 0x9e3779b97f4a7c15ull ^ w[1];
}

int rule_numbers_init(struct rule_numbers *n, struct unwind_rows *rows)
{
	const struct unwind_rule unknown = {};
	int r = rows->rules.n ? 0 : vec_push(&rows->rules, unknown);

	n->rows = rows;
	map_init(&n->by_hash);
	for (uint32_t i = 0; !r && i < rows->rules.n; i++) {
		uint64_t hash = hash_of(&rows->rules.v[i]);

		while (map_get(&n->by_hash, hash))
			hash++;
		r = map_put(&n->by_hash, hash, i);
	}
	return r;
}

void rule_numbers_fini(struct rule_numbers *n)
{
	map_fini(&n->by_hash);
}

int rule_number(struct rule_numbers *n, const struct unwind_rule *rule, uint32_t *ret)
{
	uint64_t hash = hash_of(rule), *known;
	int r;

	for (; (known = map_get(&n->by_hash, hash)); hash++) {
		*ret = (uint32_t)*known;
		if (!memcmp(&n->rows->rules.v[*ret], rule, sizeof(*rule)))
			return 0;
	}
	*ret = 0;
	if (n->rows->rules.n >= UNWIND_MAX_RULES)
		return 0;
	r = map_put(&n->by_hash, hash, n->rows->rules.n);
	if (!r)
		r = vec_push(&n->rows->rules, *rule);
	if (!r)
		*ret = (uint32_t)n->rows->rules.n - 1;
	return r;
}
