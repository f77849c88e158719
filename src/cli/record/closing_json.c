/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the numbers of the closing lines as JSON; see closing.h. */
#include <stdio.h>

#include "base/error.h"
#include "base/text/json.h"
#include "base/nomem.h"
#include "cli/record/closing.h"

static const char *const outcome_names[] = {
#define X(name, mark, words, sentence) #name,
	WALK_OUTCOMES(X)
#undef X
};
static const char *const native_names[] = {
#define X(name, words, sentence) #name,
	NATIVE_OUTCOMES(X)
#undef X
};

static void json_counts(FILE *f, const char *key, const char *const *names, const uint64_t *counts,
			unsigned n)
{
	fprintf(f, "  \"%s\": {", key);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%s\"%s\": %llu", i ? ", " : "", names[i], (ull)counts[i]);
	fputs("},\n", f);
}

static void json_unsupported(FILE *f, const struct collect_stats *st)
{
	fputs("  \"unsupported\": [", f);
	for (size_t i = 0; i < st->n_unsupported; i++) {
		fputs(i ? ", {\"reason\": " : "{\"reason\": ", f);
		json_put_string(f, st->unsupported[i].reason);
		fprintf(f, ", \"samples\": %llu, \"processes\": %u}",
			(ull)st->unsupported[i].samples, st->unsupported[i].processes);
	}
	fputs("],\n", f);
}

static void json_events(FILE *f, const struct session *s, const struct summary *m)
{
	fputs("  \"events\": [", f);
	for (unsigned i = 0; i < s->events.n; i++) {
		const struct event *e = &s->events.v[i];

		fputs(i ? ", {\"event\": " : "{\"event\": ", f);
		json_put_string(f, e->name);
		fputs(", \"value\": ", f);
		json_put_string(f, e->sample_type);
		fputs(", \"unit\": ", f);
		json_put_string(f, e->source->unit);
		fprintf(f, ", \"samples\": %llu, \"sum\": %llu, \"throttled\": %llu}",
			(ull)m->collect.sources[i].samples, (ull)m->collect.sources[i].weight,
			(ull)m->kernel.sources[i].throttled);
	}
	fputs("],\n", f);
}

static void json_waits(FILE *f, const struct collect_stats *st)
{
	const struct collect_accounts *a = &st->accounts;

	fputs("  \"waits\": {", f);
	for (unsigned i = 0; i < st->n_waited; i++) {
		fputs(i ? ", " : "", f);
		json_put_string(f, st->waited[i].state);
		fprintf(f, ": %llu", (ull)st->waited[i].ns);
	}
	fprintf(f, "},\n  \"runnable_ns\": %llu,\n  \"stolen_ns\": %llu,\n", (ull)a->ready_ns,
		(ull)a->stolen_ns);
	fprintf(f,
		"  \"wait_check\": {\"threads\": %llu, \"switches_ns\": %llu, "
		"\"kernel_ns\": %llu},\n",
		(ull)a->threads, (ull)a->switches_ns, (ull)a->kernel_ns);
}

static void json_write(FILE *f, const struct session *s, const struct summary *m, const char *path)
{
	const struct collect_stats *st = &m->collect;
	uint64_t throttled = 0;

	for (unsigned i = 0; i < s->events.n; i++)
		throttled += m->kernel.sources[i].throttled;
	fputs("{\n  \"output\": ", f);
	if (path)
		json_put_string(f, path);
	else
		fputs("null", f);
	fprintf(f, ",\n  \"wall_seconds\": %.3f,\n  \"samples\": %llu,\n  \"processes\": %u,\n",
		summary_seconds(m->wall_ns), (ull)st->samples, st->processes);
	fprintf(f, "  \"reached_hz\": %.2f,\n  \"due\": %llu,\n  \"missing\": %llu,\n",
		m->reached_hz, (ull)m->due, (ull)m->missing);
	fprintf(f, "  \"lost_records\": %llu,\n  \"throttled\": %llu,\n",
		(ull)sampler_lost(&m->kernel), (ull)throttled);
	fprintf(f, "  \"shadowed\": %llu,\n", (ull)m->shadowed);
	json_events(f, s, m);
	json_waits(f, st);
	json_counts(f, "outcomes", outcome_names, st->outcomes, WALK_OUTCOME_MAX);
	json_counts(f, "native_outcomes", native_names, st->native, NATIVE_OUTCOME_MAX);
	json_unsupported(f, st);
	fprintf(f, "  \"not_python\": %llu,\n  \"unknown\": %llu,\n", (ull)st->not_python,
		(ull)st->unknown);
	fprintf(f, "  \"crowded_processes\": %u,\n  \"crowded_samples\": %llu,\n",
		st->crowded.processes, (ull)st->crowded.samples);
	fprintf(f, "  \"unwind_tables_given_up\": %llu,\n", (ull)st->rows_given_up);
	fprintf(f, "  \"condensed\": %u,\n", s->condensed);
	fprintf(f, "  \"stacks\": %zu,\n  \"code_objects\": %zu,\n", st->stacks, st->codes);
	fprintf(f, "  \"kernel_ns_per_sample\": %.0f,\n",
		m->kernel.run_count ? (double)m->kernel.run_ns / m->kernel.run_count : 0);
	fprintf(f, "  \"kernel_ns_longest_sample\": %llu,\n", (ull)m->kernel.longest_ns);
	fprintf(f, "  \"kernel_long_samples\": %llu,\n", (ull)m->kernel.long_samples);
	fprintf(f,
		"  \"krait_cpu_seconds\": %.3f,\n  \"krait_rss_bytes\": %zu,\n"
		"  \"krait_kernel_bytes\": %zu\n}\n",
		summary_seconds(m->own_cpu_ns), m->own_rss_bytes, m->map_bytes);
}

int closing_write_json(const struct session *s, const struct summary *m, const char *path,
		       struct output *out)
{
	err_memory_begin();
	json_write(out->stream, s, m, path);
	return output_commit(out);
}
