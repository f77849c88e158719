/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of thread states: how long threads ran, were ready to run, and waited for what. */
#include <errno.h>
#include "base/error.h"
#include "cli/cells.h"
#include "cli/report/report.h"
#include "picture/markup.h"
#include "view/waits/waits.h"

#define ROWS 6 /* how many rows the table has; the last one sums up the states with less time */
/* how many columns a state's name may take; in a file from elsewhere, a name may have any length */
#define COLUMNS 60

static void add_row(const struct waits_state *s, int64_t all, bool md, struct str *out)
{
	_cleanup_str_ struct str time = {}, plain = {}, name = {};

	markup_add_value(&time, s->ns, "nanoseconds");
	cells_add(&plain, s->name, COLUMNS, false, false);
	if (md)
		markup_add_md(&name, str_cstr(&plain), plain.n);
	else
		str_add(&name, str_cstr(&plain));
	if (s->idle)
		str_add(&name, ", waiting for work");
	if (md && s->idle)
		str_addf(out, "| | %s | %s |\n", str_cstr(&time), str_cstr(&name));
	else if (md)
		str_addf(out, "| %.1f %% | %s | %s |\n", 100.0 * (double)s->ns / (double)all,
			 str_cstr(&time), str_cstr(&name));
	else if (s->idle)
		str_addf(out, "           %9s   %s\n", str_cstr(&time), str_cstr(&name));
	else
		str_addf(out, "%6.1f %%   %9s   %s\n", 100.0 * (double)s->ns / (double)all,
			 str_cstr(&time), str_cstr(&name));
}

/* Sums up the states that have no row of their own, in one row. */
static void fold(waits_states *states)
{
	size_t n = MIN(states->n, (size_t)ROWS - 1), kept = n;
	struct waits_state rest = {.name = "other states"};

	if (states->n <= ROWS)
		return;
	for (size_t i = n; i < states->n; i++) {
		if (states->v[i].idle)
			states->v[kept++] = states->v[i];
		else
			costs_sum(&rest.ns, states->v[i].ns);
	}
	states->n = kept;
	if (rest.ns && !vec_push(states, rest)) {
		/* the new row stands before the rows of threads without work */
		memmove(&states->v[n + 1], &states->v[n], (kept - n) * sizeof(*states->v));
		states->v[n] = rest;
	}
}

int report_add_states(const struct report_facts *f, bool md, struct str *out)
{
	waits_states states = {};
	int r = waits_states_of(f->p, f->sums, f->n_sums, &states);
	int64_t all = 0;

	vec_foreach(s, &states)
		costs_sum(&all, s->idle ? 0 : s->ns);
	if (!r && states.n)
		str_add(out, md ? "\n| share | time | what threads did |\n|---:|---:|---|\n"
				: "\n  share        time   what threads did\n");
	fold(&states);
	vec_foreach(s, &states)
		add_row(s, all, md, out);
	vec_fini(&states);
	return r ? err_set(r, "out of memory") : 0;
}
