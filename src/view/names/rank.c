/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers texts such that the numbers sort as the texts do; see rank.h. */
#include "view/names/rank.h"

#include "base/cleanup.h"

void rank_fini(struct rank *r)
{
	str_fini(&r->bytes);
	vec_fini(&r->starts);
	free(r->of);
	free(r->first);
	*r = (struct rank){};
}

int rank_add(struct rank *r, const char *text)
{
	if (r->starts.n >= UINT32_MAX - 1)
		return -ENOMEM;
	if (vec_push(&r->starts, r->bytes.n))
		return -ENOMEM;
	str_add_n(&r->bytes, text, strlen(text) + 1);
	return r->bytes.failed ? -ENOMEM : 0;
}

static const char *input_text(const struct rank *r, uint32_t input)
{
	return r->bytes.s + r->starts.v[input];
}

static int compare(const void *a, const void *b, void *arg)
{
	return strcmp(input_text(arg, *(const uint32_t *)a), input_text(arg, *(const uint32_t *)b));
}

int rank_finish(struct rank *r)
{
	size_t n = r->starts.n;
	_cleanup_free_ uint32_t *order = calloc(n + 1, sizeof(*order));

	r->of = calloc(n + 1, sizeof(*r->of));
	r->first = calloc(n + 1, sizeof(*r->first));
	if (!order || !r->of || !r->first)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), compare, r);
	for (size_t i = 0; i < n; i++) {
		if (!i || compare(&order[i - 1], &order[i], r))
			r->first[r->n++] = order[i];
		r->of[order[i]] = r->n - 1;
	}
	return 0;
}

const char *rank_text(const struct rank *r, uint32_t rank)
{
	return input_text(r, r->first[rank]);
}
