/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints an interval of `krait top` as text, or as a line of JSON for scripts. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text/json.h"
#include "cli/top/top.h"
#include "live/text.h"

#define PLAIN_WIDTH 100 /* width of the text; columns that only wider terminals show are left out */

typedef unsigned long long ull;

static const char *const kinds[KIND_MAX] = {
	[KIND_PYTHON] = "python", [KIND_NATIVE] = "native", [KIND_KERNEL] = "kernel",
	[KIND_JIT] = "jit",	  [KIND_GC] = "gc",	    [KIND_MARK] = "mark"};

static int flush(struct str *b)
{
	if (b->failed)
		return err_set(-ENOMEM, "out of memory");
	if (fwrite(str_cstr(b), 1, b->n, stdout) != b->n || fflush(stdout))
		return err_sys(errno ? -errno : -EIO, "can't write to standard output");
	return 0;
}

static size_t n_rows(const struct top *t)
{
	return t->options->rows ? MIN(t->shown.rows.n, t->options->rows) : t->shown.rows.n;
}

static void plain_row(struct top *t, const struct live_row *row, struct str *out)
{
	for (const struct table_column *c = table_columns; c->name; c++) {
		_cleanup_str_ struct str cell = {};

		if (!table_has(&t->shown, c, PLAIN_WIDTH))
			continue;
		if (!row)
			str_add(&cell, c->heading);
		else if (c->value)
			table_number(&t->shown, c->unit, c->value(&t->shown, row), &cell);
		else
			table_name(&t->shown, row, &cell);
		if (row && !c->value)
			table_wait_now(&t->shown, row, &cell);
		str_addf(out, "%*s", c->value ? c->width : 0, c->value ? str_cstr(&cell) : "  ");
		if (!c->value)
			text_clip(out, str_cstr(&cell), INT_MAX, true);
	}
	str_add_c(out, '\n');
}

static void add_alive(struct str *out, unsigned n, unsigned alive, const char *one,
		      const char *many)
{
	str_addf(out, ", %u", MIN(alive, n));
	if (alive < n)
		str_addf(out, " of %u %s alive", n, n == 1 ? one : many);
	else
		str_addf(out, " %s", n == 1 ? one : many);
}

static void plain_amount(const struct top *t, const struct browse_facts *f, struct str *out)
{
	const struct live *l = t->live;
	const struct profile_meta *m = profile_meta(l->p);
	/*
	 * value 0 is the number of samples of the first event; what this event measures is value 1
	 */
	const struct profile_value_type event =
		l->wall ? live_value_type(l) : m->values[MAX(l->value, 1u)];

	str_addf(out, "%.1f s: ", l->seconds[LIVE_SINCE]);
	if (live_has_samples(l))
		str_addf(out, "%llu samples", (ull)f->interval_samples);
	else if (live_shows_waits(l))
		str_addf(out, "%.2f s", (double)l->interval.value / NSEC_PER_SEC);
	else
		str_addf(out, "%lld", (long long)l->interval.value);
	if (m->n_values > 2)
		str_addf(out, " of %s (%s)", event.type, event.unit);
	str_addf(out, " in %.2f s", l->interval_seconds);
}

int top_print_plain(struct top *t)
{
	_cleanup_str_ struct str out = {};
	struct browse_facts f;

	top_facts(t, &f);
	plain_amount(t, &f, &out);
	if (f.cpu >= 0)
		str_addf(&out, ", CPU %.0f %%", f.cpu);
	if (f.gil >= 0)
		str_addf(&out, ", with the GIL %.0f %%", f.gil);
	if (f.gc >= 1)
		str_addf(&out, ", GC %.0f %% of all", f.gc);
	add_alive(&out, f.processes, f.processes_alive, "process", "processes");
	add_alive(&out, f.threads, f.threads_alive, "thread", "threads");
	if (f.recent > 1.1 * t->live->interval_seconds)
		str_addf(&out, "; shares are of the last %.0f s", f.recent);
	str_add_c(&out, '\n');
	table_gil_lines(&t->shown, &out);
	table_lock_lines(&t->shown, &out);
	plain_row(t, NULL, &out);
	for (size_t i = 0; i < n_rows(t); i++)
		plain_row(t, &t->live->rows.v[t->shown.rows.v[i]], &out);
	str_add_c(&out, '\n');
	return flush(&out);
}

static void json_percent(struct str *out, const char *key, double value)
{
	if (value < 0)
		str_addf(out, ",\"%s\":null", key);
	else
		str_addf(out, ",\"%s\":%.3f", key, value);
}

static void json_count(struct str *out, const struct table *v, const struct live_count *n,
		       enum live_span span)
{
	if (live_has_samples(v->live))
		str_addf(out, "{\"samples\":%lld", (long long)n->samples);
	else
		str_add(out, "{\"samples\":null");
	str_addf(out, ",\"value\":%lld", (long long)n->value);
	json_percent(out, "percent", table_share(v, n, span));
	json_percent(out, "cpu_percent", table_cpu(v, n, span));
	json_percent(out, "gil_percent", table_gil(n));
	json_percent(out, "gc_percent", table_gc(n));
	str_add_c(out, '}');
}

static void json_field(struct str *out, const char *key, const char *text)
{
	str_addf(out, ",\"%s\":", key);
	json_string(out, text);
}

static void json_location(struct str *out, const struct top *t, const struct live_row *row)
{
	const struct profile *p = t->live->p;
	const struct profile_location *l = profile_get_location(p, row->location);
	const struct profile_mapping *m = profile_get_mapping(p, l->mapping);

	json_field(out, "kind", kinds[m->kind]);
	json_field(out, "module", profile_get_string(p, m->name));
	if (l->function && t->live->table != LIVE_MODULES) {
		const struct profile_function *f = profile_get_function(p, l->function);

		json_field(out, "function", profile_get_string(p, f->name));
		json_field(out, "file", profile_get_string(p, f->file));
		str_addf(out, ",\"line\":%d",
			 t->live->table == LIVE_LINES ? l->line : f->start_line);
	}
}

static void json_who(struct str *out, const struct top *t, const struct live_row *row)
{
	static const char *const keys[] = {"process", "thread", "cgroup", "container"};
	const struct profile *p = t->live->p;

	str_addf(out, ",\"pid\":%s", profile_label_text(p, row->labels, "pid"));
	if (t->live->table == LIVE_THREADS)
		str_addf(out, ",\"tid\":%s", profile_label_text(p, row->labels, "tid"));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (t->live->table == LIVE_THREADS || !streq(keys[i], "thread"))
			json_field(out, keys[i], profile_label_text(p, row->labels, keys[i]));
}

/* If the row is a thread that waits now, writes what it waits for. */
static void json_wait_now(struct str *out, struct top *t, const struct live_row *row)
{
	const struct live_wait *w = live_wait_now(t->live, row);
	const struct profile *p = t->live->p;
	_cleanup_str_ struct str name = {};
	const uint32_t *loc;
	const char *on;
	size_t n;

	if (!w)
		return;
	on = profile_label_text(p, w->labels, "on");
	str_add(out, ",\"waits\":{\"state\":");
	json_string(out, profile_label_text(p, w->labels, "state"));
	if (*on)
		json_field(out, "on", on);
	str_addf(out, ",\"idle\":%s,\"nanoseconds\":%lld",
		 *profile_label_text(p, w->labels, "idle") ? "true" : "false",
		 (long long)w->told[OPEN_WAITED]);
	loc = live_stack(t->live, w->stack, &n);
	if (n)
		table_location_name(&t->shown, LIVE_LINES, loc[0], &name);
	json_field(out, "name", str_cstr(&name));
	str_add_c(out, '}');
}

/* Writes how long the row's threads were in each state in the interval. */
static void json_states(struct str *out, const struct live *l, const struct live_row *row)
{
	static const char *const words[] = {
#define X(name, word, heading, meaning, states) word,
		LIVE_STATES(X)
#undef X
	};

	if (!live_shows_waits(l))
		return;
	for (unsigned i = 0; i < LIVE_STATE_MAX; i++)
		str_addf(out, "%s\"%s\":%lld", i ? "," : ",\"states\":{", words[i],
			 (long long)live_in_state(l, row, i));
	str_add_c(out, '}');
}

static void json_row(struct str *out, struct top *t, const struct live_row *row)
{
	struct live_count self = live_self(t->live, row, LIVE_RECENT);
	struct live_count total = live_total(t->live, row, LIVE_RECENT);
	_cleanup_str_ struct str name = {};

	table_name(&t->shown, row, &name);
	str_add(out, "{\"name\":");
	json_string(out, str_cstr(&name));
	if (row->location)
		json_location(out, t, row);
	else if (t->live->table != LIVE_BY)
		json_who(out, t, row);
	str_add(out, ",\"self\":");
	json_count(out, &t->shown, &self, LIVE_RECENT);
	str_add(out, ",\"total\":");
	json_count(out, &t->shown, &total, LIVE_RECENT);
	json_states(out, t->live, row);
	if (t->live->table == LIVE_THREADS)
		json_wait_now(out, t, row);
	str_add(out, ",\"since_start\":{\"self\":");
	json_count(out, &t->shown, &row->self[LIVE_SINCE], LIVE_SINCE);
	str_add(out, ",\"total\":");
	json_count(out, &t->shown, &row->total[LIVE_SINCE], LIVE_SINCE);
	str_add(out, "}}");
}

static void json_head(struct str *out, const struct top *t)
{
	const struct live *l = t->live;
	struct browse_facts f;

	top_facts(t, &f);
	str_addf(out, "{\"table\":\"%s\",\"sort\":\"%s\",\"value\":\"%s\",\"unit\":\"%s\"",
		 table_word(l->table), t->shown.sort->name, live_value_type(l).type,
		 live_value_type(l).unit);
	if (l->table == LIVE_BY)
		json_field(out, "by", l->by);
	str_addf(out, ",\"seconds\":%.3f,\"interval_seconds\":%.3f,\"hz\":%.2f",
		 t->live->seconds[LIVE_SINCE], l->seconds[LIVE_RECENT], f.hz);
	str_addf(out, ",\"processes\":%u,\"threads\":%u", f.processes, f.threads);
	str_addf(out, ",\"processes_alive\":%u,\"threads_alive\":%u",
		 MIN(f.processes_alive, f.processes), MIN(f.threads_alive, f.threads));
	str_addf(out, ",\"lost\":%llu,\"incomplete\":%llu", (ull)f.lost, (ull)f.incomplete);
	str_addf(out, ",\"unsupported\":%llu,\"unknown\":%llu,\"not_kept\":%llu,\"condensed\":%u",
		 (ull)f.unsupported, (ull)f.unknown, (ull)(l->not_kept + l->no_row), f.condensed);
	str_add(out, ",\"last\":");
	json_count(out, &t->shown, &l->all[LIVE_RECENT], LIVE_RECENT);
	str_add(out, ",\"since_start\":");
	json_count(out, &t->shown, &l->all[LIVE_SINCE], LIVE_SINCE);
}

/*
 * Writes which threads waited for which others in the interval, if any did. 0 or -ENOMEM + message.
 */
static int json_waits(struct str *out, struct live *l)
{
	_cleanup_(lock_waits_fini) struct lock_waits locks = {};
	int r = live_lock_waits(l, false, &locks);

	if (l->gil.cells && l->gil.waits.n) {
		str_add(out, ",\"gil_waits\":[");
		gil_pairs_json(&l->gil, out);
		str_add_c(out, ']');
	}
	if (!r && locks.waits.n) {
		str_add(out, ",\"lock_waits\":[");
		lock_waits_json(&locks, out);
		str_add_c(out, ']');
	}
	return r;
}

int top_print_json(struct top *t)
{
	_cleanup_str_ struct str out = {};
	int r;

	json_head(&out, t);
	r = json_waits(&out, t->live);
	if (r)
		return r;
	str_add(&out, ",\"rows\":[");
	for (size_t i = 0; i < n_rows(t); i++) {
		if (i)
			str_add_c(&out, ',');
		json_row(&out, t, &t->live->rows.v[t->shown.rows.v[i]]);
	}
	str_add(&out, "]}\n");
	return flush(&out);
}
