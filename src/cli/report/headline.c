/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the first sentence of `krait report`, which pages and recordings show too; see headline.h
 * and report.h.
 */
#include "cli/report/headline.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/report/report.h"
#include "view/shape/tree.h"
#include "view/waits/waits.h"

int report_find_value(struct report_facts *f, const char *type)
{
	int r = type ? tree_value(f->p, type) : (int)profile_meta(f->p)->default_value;

	if (r < 0)
		return r;
	f->value = (unsigned)r;
	return 0;
}

/*
 * Makes the sentence about waits. It is made only if the shown value is CPU time, waiting time or
 * both, and if filters have left out nothing that threads did.
 */
static int find_waits(struct report_facts *f)
{
	const struct profile_value_type *v = &profile_meta(f->p)->values[f->value];
	bool waits = streq(v->type, "off_cpu") || streq(v->type, "wall");
	int r;

	if (f->partial || !(waits || streq(v->type, "cpu")))
		return 0;
	r = waits_words(&f->costs, f->sums, f->n_sums, waits, &f->waits);
	return r < 0 || f->waits.failed ? err_set(-ENOMEM, "out of memory") : 0;
}

/* Computes what functions and lines cost (.costs) from the sums of samples (.sums). */
static int sum_costs(struct report_facts *f, enum costs_by by, bool inverted)
{
	int r = costs_init(&f->costs, f->p, by);

	f->costs.inverted = inverted;
	f->costs.left_out = f->frames_left_out;
	return r ? r : costs_add(&f->costs, f->sums, f->n_sums, f->value);
}

int report_find_waits(struct report_facts *f, enum costs_by by, bool inverted)
{
	struct report_facts all = {.p = f->p,
				   .value = f->value,
				   .frames_left_out = f->frames_left_out,
				   .partial = f->partial};
	int r = profile_sums(f->p, &all.sums, &all.n_sums);

	r = r ? r : sum_costs(&all, by, inverted);
	r = r ? r : find_waits(&all);
	if (!r) {
		f->waits = all.waits;
		all.waits = (struct str){};
	}
	report_facts_fini(&all);
	return r;
}

int report_find_costs(struct report_facts *f, enum costs_by by, bool inverted)
{
	int r = sum_costs(f, by, inverted);

	r = r ? r : costs_lede(&f->costs, f->sums, f->n_sums, f->value, &f->lede);
	r = r ? r : find_waits(f);
	return r ? r : report_find_too_few(f);
}

void report_facts_fini(struct report_facts *f)
{
	costs_fini(&f->costs);
	str_fini(&f->waits);
	free(f->sums);
}

int headline_add(struct profile *p, const char *value, bool inverted, bool partial, struct str *b)
{
	struct report_facts f = {.p = p, .partial = partial};
	int r = report_find_value(&f, value);

	r = r ? r : profile_sums(p, &f.sums, &f.n_sums);
	r = r ? r : report_find_costs(&f, COSTS_BY_FILE, inverted);
	if (!r)
		/*
		 * The costs are sorted as the report sorts them, because for a difference of
		 * profiles the sentence is about the first row.
		 */
		costs_sort(&f.costs);
	if (!r && (costs_whole(&f.costs) || f.waits.n))
		report_add_lede(&f, b);
	if (!r && f.costs.less)
		str_add(b, ". The picture and the tables leave out negative values");
	r = r ? r : f.waits.n > 0;
	report_facts_fini(&f);
	return r;
}
