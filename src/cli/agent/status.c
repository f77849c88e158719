/* SPDX-License-Identifier: BSD-2-Clause */
/* `krait agent status`: prints what the agent stores, costs and loses. */
#include "cli/agent/agent.h"

#include <stdio.h>

#include "agent/confine/confine.h"
#include "base/error.h"
#include "base/system/clock.h"
#include "base/system/log.h"
#include "cli/advice.h"
#include "cli/exit.h"
#include "cli/options/values.h"
#include "query/facts.h"

struct status_options {
	const char *store;
	bool json, prometheus;
};

static void print_time(const char *what, int64_t ms)
{
	char text[64];

	clock_local(ms, "%F %T %z", text);
	printf("%-10s%s\n", what, text);
}

static double mebibytes(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

/* Prints how much CPU time the agent has taken since it began, as a percentage of one CPU. */
static void print_cost(const struct store_facts *f)
{
	const int64_t *v = f->figures;
	double ms = (double)facts_recorded_ms(f);

	if (ms <= 0)
		return;
	printf("%-10s%.2f %% of a CPU: sampler %.2f s, writer %.2f s in %.0f s\n", "costs",
	       (double)(v[BATCH_SAMPLER_CPU] + v[BATCH_WRITER_CPU]) / 1e4 / ms,
	       (double)v[BATCH_SAMPLER_CPU] / NSEC_PER_SEC,
	       (double)v[BATCH_WRITER_CPU] / NSEC_PER_SEC, ms / 1000);
}

/* Prints which of the kernel's mechanisms confine the agent's processes. */
static void print_confined(unsigned confined)
{
	if (!(confined & CONFINED_FILES))
		printf("%-10sthis kernel lacks Landlock: only file rights keep the writer to its "
		       "directory\n",
		       "confined");
	if (!(confined & CONFINED_CALLS))
		printf("%-10sthis kernel lacks seccomp: the agent may make any system call\n",
		       "confined");
}

static void print_facts(const struct store_facts *f)
{
	const int64_t *v = f->figures;

	if (f->writer)
		printf("%-10sprocess %ld records\n", "agent", (long)f->writer);
	else
		printf("%-10snone records now\n", "agent");
	printf("%-10s%llu samples in %.1f MiB, of which %.1f MiB are free", "keeps",
	       (unsigned long long)f->samples, mebibytes(f->bytes), mebibytes(f->free_bytes));
	if (v[BATCH_LIMIT] > 0)
		printf("; at most %.0f MiB", mebibytes((uint64_t)v[BATCH_LIMIT]));
	putchar('\n');
	if (!f->samples)
		return;
	print_time("from", f->first_ms);
	print_time("to", f->last_ms);
	print_cost(f);
	if (v[BATCH_HZ] < v[BATCH_ASKED_HZ])
		printf("%-10s%lld samples a second instead of %lld, because the agent took too "
		       "much CPU\n",
		       "limit", (long long)v[BATCH_HZ], (long long)v[BATCH_ASKED_HZ]);
	if (f->writer && v[BATCH_HZ] > v[BATCH_ASKED_HZ])
		printf("%-10s%lld samples a second instead of %lld, because a trigger's condition "
		       "is met\n",
		       "rate", (long long)v[BATCH_HZ], (long long)v[BATCH_ASKED_HZ]);
	printf("%-10s%lld samples in the kernel, %lld on the way to the disk, %lld when a writer "
	       "died, of %lld\n",
	       "lost", (long long)v[BATCH_LOST], (long long)v[BATCH_DROPPED],
	       (long long)v[BATCH_WRITER_LOST], (long long)v[BATCH_SAMPLES]);
	if (v[BATCH_RESTARTS])
		printf("%-10swas started again %lld times\n", "writer",
		       (long long)v[BATCH_RESTARTS]);
	print_confined((unsigned)v[BATCH_CONFINED]);
}

/* how many pins (kept windows of time) are printed, the newest first; --json has all of them */
#define PINS_SHOWN 10

static void print_pin(const struct pin *p, bool first)
{
	char from[64], to[64];

	clock_local(p->since_ms, "%F %T", from);
	clock_local(p->until_ms, "%T %z", to);
	printf("%-10s%lld: %s to %s, %s: %s\n", first ? "pins" : "", (long long)p->id, from, to,
	       p->cause, p->words);
}

static void print_pins(const struct pins *pins)
{
	size_t hidden = pins->list.n - MIN(pins->list.n, (size_t)PINS_SHOWN);

	for (size_t i = hidden; i < pins->list.n; i++)
		print_pin(&pins->list.v[i], i == hidden);
	if (hidden)
		printf("%-10sand %zu older ones\n", "", hidden);
	vec_foreach(c, &pins->counts)
		printf("%-10s%s: %lld pin%s\n", c == pins->counts.v ? "triggers" : "", c->cause,
		       (long long)c->times, c->times == 1 ? "" : "s");
}

static void print(const struct status_options *o, const struct store_facts *f,
		  const struct totals *t, const struct pins *pins)
{
	_cleanup_str_ struct str text = {};

	if (o->json) {
		facts_json(o->store, f, pins, &text);
	} else if (o->prometheus) {
		facts_prometheus(f, &text);
		facts_pins(pins, &text);
		facts_totals(t, &text);
	} else {
		print_facts(f);
		print_pins(pins);
	}
	fputs(str_cstr(&text), stdout);
}

static int look(const struct status_options *o)
{
	struct store *s = NULL;
	_cleanup_(totals_fini) struct totals totals = {};
	_cleanup_(pins_fini) struct pins pins = {};
	struct store_facts facts;
	int r = store_open(o->store, 0, &s);

	r = r ? r : store_facts(s, &facts);
	if (!r && o->prometheus)
		r = store_totals(s, &totals);
	r = r ? r : store_read_pins(s, &pins);
	if (!r)
		print(o, &facts, &totals, &pins);
	store_close(s);
	return r;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct status_options o = {.store = STORE_DIRECTORY};
	struct operands operands;
	int r = options_read(self, argc, argv, &o, &operands);

	if (r >= 0)
		return r;
	if (o.json && o.prometheus) {
		log_error("--json and --prometheus exclude each other; keep one");
		return EXIT_USAGE;
	}
	if (!look(&o))
		return EXIT_DONE;
	log_error("%s", error_words());
	return EXIT_FAILED;
}

static const struct option_row rows[] = {
	AGENT_ROW_STORE("The store", offsetof(struct status_options, store)),
	{.group = "Output",
	 .name = "json",
	 .set = value_flag,
	 .field = offsetof(struct status_options, json),
	 .help = "as JSON; docs/schema describes it"},
	{.name = "prometheus",
	 .set = value_flag,
	 .field = offsetof(struct status_options, prometheus),
	 .help = "as metrics in Prometheus' text format"},
	OPTION_HELP,
	{},
};

const struct command command_agent_status = {
	.name = "agent status",
	.summary = "Say what the agent keeps, costs and loses.",
	.synopsis =
		(const char *const[]){"agent status [--store DIR] [--json | --prometheus]", NULL},
	.rows = rows,
	.run = run,
};
