/* SPDX-License-Identifier: BSD-2-Clause */
/* As `krait report` begins; see headline.h. */
#include "cli/headline.h"

#include <stdlib.h>
#include "cli/report.h"
#include "render/tree.h"

static int find(struct report_facts *f, bool inverted)
{
	int r = profile_sums(f->p, &f->sums, &f->n_sums);

	r = r ? r : costs_init(&f->costs, f->p, COSTS_BY_FILE);
	f->costs.inverted = inverted;
	r = r ? r : costs_add(&f->costs, f->sums, f->n_sums, f->value);
	return r ? r : costs_lede(&f->costs, f->sums, f->n_sums, f->value, &f->lede);
}

int headline_add(struct profile *p, const char *value, bool inverted, struct str *b)
{
	struct report_facts f = {.p = p};
	int r = value ? tree_value(p, value) : (int)profile_meta(p)->default_value;

	if (r < 0)
		return r;
	f.value = (unsigned)r;
	r = find(&f, inverted);
	if (!r && costs_whole(&f.costs))
		report_add_lede(&f, b);
	costs_fini(&f.costs);
	free(f.sums);
	return r;
}
