/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the report as JSON, for programs: it has all rows, not only the first ones. */
#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/json.h"
#include "cli/report/report.h"
#include "view/lede/cpu_words.h"
#include "view/waits/waits.h"

static void put(FILE *out, const char *key, const char *value)
{
	fprintf(out, "\"%s\": ", key);
	json_put_string(out, value);
}

static const char *unit_of(const struct report_facts *f)
{
	const char *unit = profile_meta(f->p)->values[f->value].unit;

	return profile_is_count(unit) ? "count" : unit;
}

/*
 * Writes a member whose value is a value of the profile: with fractions, if the profile's values
 * have them.
 */
static void put_value(const struct report_facts *f, const char *key, int64_t value, FILE *out)
{
	fprintf(out, ", \"%s\": ", key);
	json_put_decimal(out, value,
			 profile_fraction_digits(profile_meta(f->p)->values[f->value].unit));
}

static void put_function(const struct report_facts *f, const struct cost *c, FILE *out)
{
	_cleanup_str_ struct str name = {}, place = {};

	costs_name(&f->costs, c->location, &name);
	costs_place(&f->costs, c->location, 0, &place);
	fputs("    {", out);
	put(out, "name", str_cstr(&name));
	fputs(", ", out);
	put(out, "file", str_cstr(&place));
	put_value(f, "own", c->self, out);
	if (c->gc)
		put_value(f, "own_gc", c->gc, out);
	put_value(f, "total", c->total, out);
	fputc('}', out);
}

static void put_line(const struct report_facts *f, const struct cost_line *l, const char *value,
		     FILE *out)
{
	const struct profile_location *at = profile_get_location(f->p, l->location);
	_cleanup_str_ struct str name = {};

	costs_name(&f->costs, l->location, &name);
	fputs("    {", out);
	put(out, "function", str_cstr(&name));
	fputs(", ", out);
	put(out, "file", profile_get_string(f->p, profile_get_function(f->p, at->function)->file));
	fprintf(out, ", \"line\": %d", l->line);
	put_value(f, value, l->self, out);
	fputc('}', out);
}

static void put_lines(const struct report_facts *f, const char *key, const struct cost_lines *lines,
		      const char *value, FILE *out)
{
	const char *apart = "\n";

	fprintf(out, ",\n  \"%s\": [", key);
	vec_foreach(l, &lines->list) {
		fputs(apart, out);
		put_line(f, l, value, out);
		apart = ",\n";
	}
	fputc(']', out);
}

static int put_shares(const struct report_facts *f, const char *by, const char *key, FILE *out)
{
	report_shares shares = {};
	int r = report_shares_of(f, by, &shares);

	if (r == -EINVAL) /* -EINVAL: no sample has the label; that is no error */
		return 0;
	fprintf(out, "  \"%s\": [", key);
	for (size_t i = 0; !r && i < shares.n; i++) {
		fputs(i ? ", {" : "{", out);
		put(out, "name", shares.v[i].name);
		put_value(f, "total", shares.v[i].value, out);
		fputc('}', out);
	}
	fputs("],\n", out);
	report_shares_fini(&shares);
	return r;
}

/* Writes how long threads were in each state. Writes nothing if the recording has no waits. */
static int put_states(const struct report_facts *f, FILE *out)
{
	waits_states states = {};
	int r = waits_states_of(f->p, f->sums, f->n_sums, &states);

	if (!r && states.n)
		fputs("  \"states\": [", out);
	vec_foreach(s, &states) {
		fputs(s == states.v ? "{" : ", {", out);
		put(out, "name", s->name);
		fprintf(out, ", \"nanoseconds\": %lld, \"idle\": %s}", (long long)s->ns,
			s->idle ? "true" : "false");
	}
	if (!r && states.n)
		fputs("],\n", out);
	vec_fini(&states);
	return r ? err_set(r, "out of memory") : 0;
}

/* Writes how much each kind of code ran; the text report has that in its last lines. */
static void put_kinds(const struct report_facts *f, FILE *out)
{
	const char *apart = "";

	fputs("  \"kinds\": [", out);
	for (int i = 0; i < KIND_MAX; i++) {
		if (!f->costs.kinds[i])
			continue;
		fprintf(out, "%s{\"name\": \"%s\"", apart, view_kind_word((enum frame_kind)i));
		put_value(f, "total", f->costs.kinds[i], out);
		fputc('}', out);
		apart = ", ";
	}
	fputs("],\n", out);
}

static void put_tables(const struct report_facts *f, FILE *out)
{
	const char *apart = "\n";

	fputs("  \"functions\": [", out);
	vec_foreach(c, &f->costs.functions) {
		if (!c->total && !c->self)
			continue;
		fputs(apart, out);
		put_function(f, c, out);
		apart = ",\n";
	}
	fputc(']', out);
	put_lines(f, "lines", &f->costs.lines, "own", out);
	put_lines(f, "your_lines", &f->costs.own, "with_libraries", out);
	fputs("\n}\n", out);
}

/* Writes the notes on what the reader of the file left out or mended. */
static void put_notes(const struct report_facts *f, FILE *out)
{
	const char *apart = "";

	fputs("  \"notes\": [", out);
	vec_foreach(text, &profile_meta(f->p)->comments.list) {
		if (!report_is_note(*text))
			continue;
		fputs(apart, out);
		json_put_string(out, *text);
		apart = ", ";
	}
	fputs("],\n", out);
}

int report_print_json(const struct report_facts *f, const struct report_style *style, FILE *out)
{
	const struct profile_meta *m = profile_meta(f->p);
	_cleanup_str_ struct str lede = {};
	int r;

	if (!f->waits.n && cpu_words_add(f->p, &lede))
		str_add(&lede, ". ");
	report_add_lede(f, &lede);
	fputs("{\n  ", out);
	put(out, "file", f->path);
	fputs(",\n  ", out);
	put(out, "summary", str_cstr(&lede));
	fputs(",\n  ", out);
	put(out, "value", m->values[f->value].type);
	fputs(",\n  ", out);
	put(out, "unit", unit_of(f));
	fprintf(out, ",\n  \"duration_ns\": %lld", (long long)m->duration_ns);
	put_value(f, "shown", f->costs.all, out);
	put_value(f, "all", f->totals.all[f->value], out);
	if (f->idle)
		put_value(f, "idle", f->idle, out);
	fputs(",\n", out);
	put_notes(f, out);
	r = put_shares(f, "process", "processes", out);
	if (!r)
		r = put_shares(f, "thread", "threads", out);
	if (!r)
		r = put_shares(f, "gil", "gil", out);
	if (!r)
		r = put_states(f, out);
	if (!r)
		r = report_put_gil_waits(f, out);
	if (!r)
		r = report_put_lock_waits(f, out);
	if (!r && style->by) {
		fputs("  ", out);
		put(out, "by", style->by);
		fputs(",\n", out);
		r = put_shares(f, style->by, "shares", out);
	}
	if (r)
		return r;
	put_kinds(f, out);
	put_tables(f, out);
	return fflush(out) || ferror(out) ? err_sys(errno ? -errno : -EIO, "can't write the report")
					  : 0;
}
