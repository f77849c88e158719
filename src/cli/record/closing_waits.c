/* SPDX-License-Identifier: BSD-2-Clause */
/* The closing lines about waits: how long threads waited, and for what. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/str.h"
#include "cli/record/closing_lines.h"

#define STATES_NAMED 3

static int longer_first(const void *a, const void *b)
{
	const struct collect_waited *x = a, *y = b;

	return x->ns < y->ns ? 1 : -(x->ns > y->ns);
}

static void add_sum(struct closing *c)
{
	const struct collect_stats *st = &c->m->collect;
	_cleanup_str_ struct str most = {}, open = {};
	struct collect_waited waited[COLLECT_STATES];
	unsigned n = st->n_waited;
	uint64_t sum = 0;

	memcpy(waited, st->waited, sizeof(waited));
	qsort(waited, n, sizeof(*waited), longer_first);
	for (unsigned i = 0; i < n; i++) {
		sum += waited[i].ns;
		if (i < STATES_NAMED)
			str_addf(&most, "%s%s %.1f s", i ? ", " : "", waited[i].state,
				 summary_seconds(waited[i].ns));
	}
	if (st->open_waits)
		str_addf(&open, "; %llu of them still waited at the end, for %.1f s",
			 (ull)st->open_waits, summary_seconds(st->open_ns));
	if (n)
		closing_line(c, LOG_NOTE, "threads waited %.1f s in all: %s%s%s",
			     summary_seconds(sum), str_cstr(&most), n > STATES_NAMED ? ", ..." : "",
			     str_cstr(&open));
}

void closing_add_waits(struct closing *c)
{
	uint64_t all = c->m->kernel.counters[COUNT_WAITS];
	uint64_t left = MIN(all, c->m->kernel.counters[COUNT_WAITS_LEFT]);

	add_sum(c);
	if (left)
		closing_note(
			c, true,
			"stacks were taken for %.1f %% of %llu waits, chosen at random (more often "
			"where waits are long on average), because all would have taken more "
			"than 1 %% of a CPU; so it is an estimate how long threads waited where",
			summary_percent(all - left, all), (ull)all);
}
