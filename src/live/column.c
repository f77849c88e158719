/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of columns of `krait top`, and functions that compute what each column shows. */
#include "live/table.h"

double table_share(const struct table *v, const struct live_count *n, enum live_span span)
{
	int64_t all = v->live->all[span].value;

	return all > 0 ? 100.0 * n->value / all : 0;
}

double table_cpu(const struct table *v, const struct live_count *n, enum live_span span)
{
	double seconds = v->live->seconds[span];

	if (!v->clock || (int)v->live->value == v->live->waits)
		return -1;
	return seconds > 0 ? 100.0 * n->running / NSEC_PER_SEC / seconds : 0;
}

double table_gil(const struct live_count *n)
{
	return n->known > 0 ? 100.0 * n->held / n->known : -1;
}

double table_gc(const struct live_count *n)
{
	return n->value > 0 ? 100.0 * n->gc / n->value : 0;
}

static double self_last(const struct table *v, const struct live_row *row)
{
	struct live_count n = live_self(v->live, row, LIVE_RECENT);

	return table_share(v, &n, LIVE_RECENT);
}

static double total_last(const struct table *v, const struct live_row *row)
{
	struct live_count n = live_total(v->live, row, LIVE_RECENT);

	return table_share(v, &n, LIVE_RECENT);
}

static double self_since(const struct table *v, const struct live_row *row)
{
	return table_share(v, &row->self[LIVE_SINCE], LIVE_SINCE);
}

static double total_since(const struct table *v, const struct live_row *row)
{
	return table_share(v, &row->total[LIVE_SINCE], LIVE_SINCE);
}

static double self_value(const struct table *v, const struct live_row *row)
{
	return (double)row->self[LIVE_SINCE].value;
}

static double total_value(const struct table *v, const struct live_row *row)
{
	return (double)row->total[LIVE_SINCE].value;
}

static double cpu_last(const struct table *v, const struct live_row *row)
{
	struct live_count n = live_total(v->live, row, LIVE_RECENT);

	return table_cpu(v, &n, LIVE_RECENT);
}

static double gil_last(const struct table *v, const struct live_row *row)
{
	struct live_count n = live_total(v->live, row, LIVE_RECENT);

	return table_gil(&n);
}

/* Returns which percentage of the row's recent time its threads spent in @state. */
static double in_state(const struct table *v, const struct live_row *row, enum live_state state)
{
	struct live_count n = live_total(v->live, row, LIVE_RECENT);

	return n.value > 0 ? 100.0 * live_in_state(v->live, row, state) / n.value : 0;
}

#define X(name, word, heading, meaning, states)                                                    \
	static double state_##name(const struct table *v, const struct live_row *row)              \
	{                                                                                          \
		return in_state(v, row, LIVE_STATE_##name);                                        \
	}
LIVE_STATES(X)
#undef X

const struct table_column table_columns[] = {
	{"self", "OWN%",
	 "share of the last 10 s: the function itself and hidden frames that it called",
	 TABLE_OF_CODE, 7, 0, UNIT_PERCENT, self_last},
	{"total", "TOTAL%", "share of the last 10 s: the function and all that it called",
	 TABLE_OF_CODE, 7, 0, UNIT_PERCENT, total_last},
	{"cpu", "CPU%", "CPU time in the last 10 s; 100 % is one CPU", TABLE_OF_WHO, 7, 0,
	 UNIT_PERCENT, cpu_last},
	{"cpu", "CPU%",
	 "CPU time of the function and all that it called, in the last 10 s; 100 % is one CPU",
	 TABLE_OF_CODE, 7, 110, UNIT_PERCENT, cpu_last},
	{"share", "SHARE%", "share of the total of the last 10 s", TABLE_OF_WHO, 7, 0, UNIT_PERCENT,
	 total_last},
	{"gil", "GIL%",
	 "part of the row's CPU time in the last 10 s in which its threads held the GIL",
	 TABLE_OF_CODE | TABLE_OF_WHO, 6, 50, UNIT_PERCENT, gil_last},
#define X(name, word, heading, meaning, states)                                                    \
	{word,                                                                                     \
	 heading,                                                                                  \
	 "part of its time in the last 10 s: " meaning,                                            \
	 TABLE_OF_CODE | TABLE_OF_WHO,                                                             \
	 7,                                                                                        \
	 60,                                                                                       \
	 UNIT_PERCENT,                                                                             \
	 state_##name,                                                                             \
	 .of_waits = true},
	LIVE_STATES(X)
#undef X
		{"self-share", "OWN%ALL", "share since the start: the function itself",
		 TABLE_OF_CODE, 9, 110, UNIT_PERCENT, self_since},
	{"total-share", "TOTAL%ALL", "share since the start: the function and all that it called",
	 TABLE_OF_CODE, 10, 110, UNIT_PERCENT, total_since},
	{"total-share", "SHARE%ALL", "share of all since the start", TABLE_OF_WHO, 10, 70,
	 UNIT_PERCENT, total_since},
	{"self-time", "OWN", "time (or events) since the start: the function itself", TABLE_OF_CODE,
	 9, 60, UNIT_VALUE, self_value},
	{"total-time", "TOTAL",
	 "time (or events) since the start: the function and all that it called", TABLE_OF_CODE, 9,
	 70, UNIT_VALUE, total_value},
	{"total-time", "TIME", "time (or events) since the start", TABLE_OF_WHO, 9, 60, UNIT_VALUE,
	 total_value},
	{"name", "NAME", "", TABLE_OF_CODE | TABLE_OF_WHO, 0, 0, UNIT_TEXT, NULL},
	{},
};
