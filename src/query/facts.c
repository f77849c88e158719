/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes facts about the agent and its store as JSON and as metrics; see facts.h. */
#include "query/facts.h"

#include "base/text/json.h"
#include "base/text/utf8.h"

int64_t facts_recorded_ms(const struct store_facts *f)
{
	int64_t began = f->figures[BATCH_BEGAN_MS], ms;

	return !began || __builtin_sub_overflow(f->last_ms, began, &ms) ? 0 : MAX(ms, 0);
}

static double seconds(int64_t ns)
{
	return (double)ns / (double)NSEC_PER_SEC;
}

static void add_costs(const struct store_facts *f, struct str *ret)
{
	const int64_t *v = f->figures;

	str_addf(ret,
		 "\"costs\": {\"seconds\": %.3f, \"sampler_cpu_seconds\": %.6f, "
		 "\"writer_cpu_seconds\": %.6f}, ",
		 (double)facts_recorded_ms(f) / 1000, seconds(v[BATCH_SAMPLER_CPU]),
		 seconds(v[BATCH_WRITER_CPU]));
}

static void add_kept(const struct store_facts *f, struct str *ret)
{
	str_add(ret, "\"keeps\": {");
	if (f->samples)
		str_addf(ret, "\"from\": %.3f, \"to\": %.3f, ", (double)f->first_ms / 1000,
			 (double)f->last_ms / 1000);
	else
		str_add(ret, "\"from\": null, \"to\": null, ");
	str_addf(ret,
		 "\"samples\": %llu, \"segments\": %llu, \"frames\": %llu, \"bytes\": %llu, "
		 "\"free_bytes\": %llu, \"limit_bytes\": ",
		 (unsigned long long)f->samples, (unsigned long long)f->segments,
		 (unsigned long long)f->frames, (unsigned long long)f->bytes,
		 (unsigned long long)f->free_bytes);
	if (f->figures[BATCH_LIMIT] > 0)
		str_addf(ret, "%lld}, ", (long long)f->figures[BATCH_LIMIT]);
	else
		str_add(ret, "null}, ");
}

static void add_pin(const struct pin *p, struct str *ret)
{
	str_addf(ret,
		 "{\"id\": %lld, \"since\": %.3f, \"until\": %.3f, \"made\": %.3f, \"cause\": ",
		 (long long)p->id, (double)p->since_ms / 1000, (double)p->until_ms / 1000,
		 (double)p->made_ms / 1000);
	json_string(ret, p->cause);
	str_add(ret, ", \"words\": ");
	json_string(ret, p->words);
	str_add(ret, "}");
}

static void add_pins(const struct pins *pins, struct str *ret)
{
	if (!pins) {
		str_add(ret, ", \"pins\": null, \"triggers\": null");
		return;
	}
	str_add(ret, ", \"pins\": [");
	vec_foreach(p, &pins->list) {
		str_add(ret, p == pins->list.v ? "" : ", ");
		add_pin(p, ret);
	}
	str_add(ret, "], \"triggers\": {");
	vec_foreach(c, &pins->counts) {
		str_add(ret, c == pins->counts.v ? "" : ", ");
		json_string(ret, c->cause);
		str_addf(ret, ": %lld", (long long)c->times);
	}
	str_add(ret, "}");
}

void facts_json(const char *dir, const struct store_facts *f, const struct pins *pins,
		struct str *ret)
{
	const int64_t *v = f->figures;

	str_add(ret, "{\"schema\": 1, \"krait\": ");
	json_string(ret, KRAIT_VERSION);
	str_add(ret, ", \"store\": ");
	json_string(ret, dir);
	if (f->writer)
		str_addf(ret, ", \"agent\": {\"pid\": %ld}, ", (long)f->writer);
	else
		str_add(ret, ", \"agent\": null, ");
	add_kept(f, ret);
	add_costs(f, ret);
	str_addf(ret, "\"rate\": {\"hz\": %lld, \"asked_hz\": %lld, \"lowered\": %lld}, ",
		 (long long)v[BATCH_HZ], (long long)v[BATCH_ASKED_HZ], (long long)v[BATCH_LOWERED]);
	str_addf(ret, "\"recorded\": %lld, \"lost\": {\"kernel\": %lld, \"disk\": %lld}",
		 (long long)v[BATCH_SAMPLES], (long long)v[BATCH_LOST],
		 (long long)v[BATCH_DROPPED]);
	add_pins(pins, ret);
	str_add(ret, "}\n");
}

static void add_head(struct str *ret, const char *name, const char *type, const char *help)
{
	str_addf(ret, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_gauge(struct str *ret, const char *name, const char *help, double value)
{
	add_head(ret, name, "gauge", help);
	str_addf(ret, "%s %.17g\n", name, value);
}

/* Returns a counter's sum over this agent and all earlier agents that used the store. */
static int64_t all_agents(const struct store_facts *f, enum batch_figure now,
			  enum batch_figure earlier)
{
	return add_up_to_max(f->figures[now], f->figures[earlier]);
}

static void add_agent(const struct store_facts *f, struct str *ret)
{
	add_gauge(ret, "krait_agent_up", "Whether an agent writes to the store.", f->writer != 0);
	add_gauge(ret, "krait_agent_start_time_seconds",
		  "When the newest agent began, in seconds since the epoch.",
		  (double)f->figures[BATCH_BEGAN_MS] / 1000);
	add_head(ret, "krait_agent_cpu_seconds_total", "counter",
		 "CPU time of the agent's processes.");
	str_addf(ret, "krait_agent_cpu_seconds_total{process=\"sampler\"} %.17g\n",
		 seconds(all_agents(f, BATCH_SAMPLER_CPU, BATCH_EARLIER_SAMPLER_CPU)));
	str_addf(ret, "krait_agent_cpu_seconds_total{process=\"writer\"} %.17g\n",
		 seconds(all_agents(f, BATCH_WRITER_CPU, BATCH_EARLIER_WRITER_CPU)));
	add_head(ret, "krait_agent_samples_total", "counter", "Samples that were recorded.");
	str_addf(ret, "krait_agent_samples_total %lld\n",
		 (long long)all_agents(f, BATCH_SAMPLES, BATCH_EARLIER_SAMPLES));
	add_head(ret, "krait_agent_lost_samples_total", "counter", "Samples that were lost.");
	str_addf(ret, "krait_agent_lost_samples_total{reason=\"kernel\"} %lld\n",
		 (long long)all_agents(f, BATCH_LOST, BATCH_EARLIER_LOST));
	str_addf(ret, "krait_agent_lost_samples_total{reason=\"disk\"} %lld\n",
		 (long long)all_agents(f, BATCH_DROPPED, BATCH_EARLIER_DROPPED));
}

static void add_rate(const struct store_facts *f, struct str *ret)
{
	add_gauge(ret, "krait_agent_frequency_hertz",
		  "Samples that the agent takes per second of CPU time.",
		  (double)f->figures[BATCH_HZ]);
	add_gauge(ret, "krait_agent_frequency_asked_hertz",
		  "Samples that the agent was asked to take per second of CPU time.",
		  (double)f->figures[BATCH_ASKED_HZ]);
	add_head(ret, "krait_agent_frequency_lowered_total", "counter",
		 "How often the frequency was halved because the agent cost too much.");
	str_addf(ret, "krait_agent_frequency_lowered_total %lld\n",
		 (long long)all_agents(f, BATCH_LOWERED, BATCH_EARLIER_LOWERED));
}

static void add_store(const struct store_facts *f, struct str *ret)
{
	add_gauge(ret, "krait_store_size_bytes", "Size of the store's files.", (double)f->bytes);
	add_gauge(ret, "krait_store_free_bytes", "Unused space in the store's files.",
		  (double)f->free_bytes);
	if (f->figures[BATCH_LIMIT] > 0)
		add_gauge(ret, "krait_store_limit_bytes", "Size limit of the store.",
			  (double)f->figures[BATCH_LIMIT]);
	add_gauge(ret, "krait_store_samples", "Samples in the store.", (double)f->samples);
	add_gauge(ret, "krait_store_segments", "Sealed segments in the store.",
		  (double)f->segments);
	if (!f->samples)
		return;
	add_gauge(ret, "krait_store_first_timestamp_seconds",
		  "Start of the time that the store covers.", (double)f->first_ms / 1000);
	add_gauge(ret, "krait_store_last_timestamp_seconds",
		  "End of the time that the store covers.", (double)f->last_ms / 1000);
}

void facts_prometheus(const struct store_facts *f, struct str *ret)
{
	add_agent(f, ret);
	add_rate(f, ret);
	add_store(f, ret);
}

/* Appends the value of a metric's label as UTF-8; backslashes, quotes and newlines are escaped. */
static void add_value(struct str *ret, const char *text)
{
	_cleanup_str_ struct str clean = {};

	utf8_clean(&clean, text, strlen(text));
	for (const char *c = str_cstr(&clean); *c; c++) {
		if (*c == '\\' || *c == '"')
			str_add_c(ret, '\\');
		if (*c == '\n')
			str_add(ret, "\\n");
		else
			str_add_c(ret, *c);
	}
	ret->failed |= clean.failed;
}

static void add_totals(const struct totals *t, enum total_kind kind, const char *what, bool cpu,
		       struct str *ret)
{
	const char *time = cpu ? "cpu" : "waiting";
	char name[64], help[96];

	snprintf(name, sizeof(name), "krait_%s_%s_seconds_total", what, time);
	snprintf(help, sizeof(help), "%s of a %s since the store was made.",
		 cpu ? "CPU time" : "Time that threads waited", what);
	add_head(ret, name, "counter", help);
	vec_foreach(total, &t->list) {
		if (total->kind != kind)
			continue;
		str_addf(ret, "%s{%s=\"", name, what);
		add_value(ret, total->name);
		str_addf(ret, "\"} %.17g\n", seconds(cpu ? total->cpu_ns : total->waiting_ns));
	}
}

void facts_totals(const struct totals *t, struct str *ret)
{
	for (int cpu = 1; cpu >= 0; cpu--) {
		add_totals(t, TOTAL_SERVICE, "service", cpu, ret);
		add_totals(t, TOTAL_FUNCTION, "function", cpu, ret);
	}
}

void facts_pins(const struct pins *pins, struct str *ret)
{
	add_gauge(ret, "krait_store_pins", "Windows of time that are pinned.",
		  (double)pins->list.n);
	add_head(ret, "krait_agent_triggers_total", "counter",
		 "Windows of time that were pinned since the store was made.");
	vec_foreach(c, &pins->counts) {
		str_add(ret, "krait_agent_triggers_total{cause=\"");
		add_value(ret, c->cause);
		str_addf(ret, "\"} %lld\n", (long long)c->times);
	}
}
