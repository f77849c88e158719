/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the page's header line: JSON with everything but the tree and the samples; see html.h. */
#include "format/common/options.h"
#include "picture/html/html.h"

#include "base/cleanup.h"
#include "picture/html/html_diff.h"
#include "picture/markup.h"
#include "view/lede/cpu_words.h"

struct header {
	struct html *h;
	FILE *out;
	struct str buf;
	VEC(const char *) strings;
	/* from the address of an interned string to the string's index in .strings */
	struct map string_at;
	/* the numbers of the list that is being written, such as indexes in "strings" */
	VEC(uint32_t) ids;
	bool failed;
};

static void put_text(struct header *d, const char *s)
{
	str_clear(&d->buf);
	markup_add_json(&d->buf, s);
	d->failed |= d->buf.failed;
	fputs(str_cstr(&d->buf), d->out);
}

static void put_pair(struct header *d, const char *name, const char *value)
{
	fprintf(d->out, ",\"%s\":", name);
	put_text(d, value);
}

static void put_integer(struct header *d, const char *name, int64_t value)
{
	fprintf(d->out, ",\"%s\":%lld", name, (long long)value);
}

static void put_values(struct header *d)
{
	const struct profile_meta *meta = profile_meta(d->h->p);

	fputs("\"values\":[", d->out);
	for (unsigned v = 0; v < meta->n_values; v++) {
		fputs(v ? ",[" : "[", d->out);
		put_text(d, meta->values[v].type);
		fputc(',', d->out);
		put_text(d, meta->values[v].unit);
		fprintf(d->out, ",%lld]", (long long)html_usual(d->h, v));
	}
	fputc(']', d->out);
}

static void put_numbers(struct header *d, const char *name, const int64_t *numbers)
{
	fprintf(d->out, ",\"%s\":[", name);
	for (unsigned v = 0; v < profile_meta(d->h->p)->n_values; v++)
		fprintf(d->out, "%s%lld", v ? "," : "", (long long)numbers[v]);
	fputc(']', d->out);
}

/*
 * Writes how much the program waited, because shares of CPU time don't show that. Writes nothing if
 * the headline says it already, or for a comparison, for which waiting time isn't known.
 */
static void put_use(struct header *d)
{
	_cleanup_str_ struct str words = {};

	if (!d->h->opt->diff && !d->h->opt->tells_waits)
		(void)cpu_words_add(d->h->p, &words);
	put_pair(d, "cpuUse", str_cstr(&words));
}

/* Names of groupings that aren't labels. ui/data/samples.js has the same names. */
#define BY_PROGRAM     "process, by name"
#define BY_THREAD_NAME "thread, by name"

/*
 * Returns the page's name for what --by groups by. A comparison groups processes and threads by
 * name, because they have different ids in its two recordings.
 */
static const char *grouping(const struct render_options *opt)
{
	if (opt->diff && opt->by && streq(opt->by, "process"))
		return BY_PROGRAM;
	if (opt->diff && opt->by && streq(opt->by, "thread"))
		return BY_THREAD_NAME;
	return opt->by ? opt->by : "";
}

static void put_meta(struct header *d)
{
	const struct profile_meta *meta = profile_meta(d->h->p);
	const struct render_options *opt = d->h->opt;

	put_pair(d, "title", str_cstr(&d->h->title));
	if (opt->headline && *opt->headline)
		put_pair(d, "headline", opt->headline);
	put_use(d);
	put_pair(d, "by", grouping(opt));
	put_integer(d, "value", d->h->value);
	put_integer(d, "preview", (int64_t)d->h->preview.n);
	put_integer(d, "timed", d->h->timed);
	put_pair(d, "previewBy", !d->h->grouped ? "" : opt->by ? opt->by : BY_PROGRAM);
	put_numbers(d, "totals", d->h->totals);
	put_numbers(d, "less", d->h->less);
	put_pair(d, "periodType", meta->period_type.type ? meta->period_type.type : "");
	put_pair(d, "periodUnit", meta->period_type.unit ? meta->period_type.unit : "");
	put_integer(d, "period", meta->period);
	put_integer(d, "timeMs", meta->time_ns / (int64_t)NSEC_PER_MSEC);
	put_integer(d, "durationNs", meta->duration_ns);
	put_integer(d, "timeUnitNs", html_time_unit(d->h));
	put_integer(d, "boxes", d->h->tree.boxes.n);
	put_integer(d, "nodes", d->h->tree.nodes.n);
	put_integer(d, "samples", (int64_t)profile_n_samples(d->h->p));
	fputs(",\"comments\":[", d->out);
	vec_foreach(text, &meta->comments.list) {
		fputs(text > meta->comments.list.v ? "," : "", d->out);
		put_text(d, *text);
	}
	fputc(']', d->out);
}

/* Returns the index of a text in the header's "strings". */
static uint32_t string(struct header *d, const char *s)
{
	uint64_t *found = map_get(&d->string_at, (uintptr_t)s);

	if (found)
		return *found;
	d->failed |= map_put(&d->string_at, (uintptr_t)s, d->strings.n) || vec_push(&d->strings, s);
	return d->strings.n - 1;
}

static void put_strings(struct header *d, const char *name)
{
	fprintf(d->out, ",\"%s\":[", name);
	vec_foreach(s, &d->strings) {
		fputs(s == d->strings.v ? "" : ",", d->out);
		put_text(d, *s);
	}
	fputc(']', d->out);
	d->strings.n = 0;
	map_clear(&d->string_at);
}

static void put_ids(struct header *d, const char *name)
{
	fprintf(d->out, ",\"%s\":[", name);
	vec_foreach(id, &d->ids)
		fprintf(d->out, id == d->ids.v ? "%u" : ",%u", *id);
	fputc(']', d->out);
	d->ids.n = 0;
}

static void add_id(struct header *d, uint32_t id)
{
	d->failed |= vec_push(&d->ids, id) != 0;
}

/*
 * Returns the number of the function's colour within its family: in .class, such as "p3", the digit
 * after the letter of the family.
 */
static uint32_t member(const struct function *f)
{
	return f->class[1] ? f->class[1] - '0' : 0;
}

/*
 * Writes for each function: indexes in "strings" of its name, file, path, mapping, module and
 * language; then its kind, origin, colour and first line.
 */
static void put_functions(struct header *d)
{
	for (uint32_t key = 0; key < d->h->functions.keys.n; key++) {
		struct function f;

		d->failed |= functions_get(&d->h->functions, key, &f) != 0;
		if (d->failed)
			return;
		add_id(d, string(d, f.name));
		add_id(d, string(d, f.file));
		add_id(d, string(d, f.path));
		add_id(d, string(d, f.mapping));
		add_id(d, string(d, f.imported));
		add_id(d, string(d, f.language));
		add_id(d, f.kind);
		add_id(d, f.origin);
		add_id(d, member(&f));
		add_id(d, MAX(f.start_line, 0));
	}
	put_strings(d, "strings");
	put_ids(d, "functions");
}

/*
 * Writes three lists about spots (lines and expressions of functions, see html_tree.h): how many
 * spots each function has; line and column of each spot; where each spot's expression ends, as the
 * number of lines after its first line, and a column.
 */
static void put_spots(struct header *d)
{
	const struct html_tree *t = &d->h->tree;

	for (size_t i = 0; i + 1 < t->first_spot.n; i++)
		add_id(d, t->first_spot.v[i + 1] - t->first_spot.v[i]);
	put_ids(d, "spotCounts");
	vec_foreach(s, &t->spots) {
		add_id(d, s->line);
		add_id(d, s->column);
	}
	put_ids(d, "spots");
	vec_foreach(s, &t->spots) {
		add_id(d, s->end_column ? s->end_line - s->line : 0);
		add_id(d, s->end_column);
	}
	put_ids(d, "spotEnds");
}

/*
 * Writes all label sets, first the empty one. Each is its number of labels, then key and value of
 * each label.
 */
static void put_labels(struct header *d)
{
	const struct profile *p = d->h->p;

	add_id(d, 0);
	for (uint32_t id = 1; id <= profile_n_labels(p); id++) {
		size_t n;
		const struct profile_label *l = profile_get_labels(p, id, &n);

		add_id(d, n);
		for (size_t i = 0; i < n; i++) {
			add_id(d, string(d, profile_get_string(p, l[i].key)));
			add_id(d, string(d, profile_get_string(p, l[i].value)));
		}
	}
	put_strings(d, "labelStrings");
	put_ids(d, "labels");
	for (uint32_t id = 0; id <= profile_n_labels(p); id++)
		if (!d->h->used[id])
			add_id(d, id);
	put_ids(d, "unusedLabels");
}

int html_put_header(struct html *h, FILE *out)
{
	struct header d = {.h = h, .out = out};

	map_init(&d.string_at);
	fputc('{', out);
	put_values(&d);
	put_meta(&d);
	put_functions(&d);
	put_spots(&d);
	put_labels(&d);
	if (h->opt->diff)
		d.failed |= html_put_diff(h, out) != 0;
	fputs("}\n", out);
	str_fini(&d.buf);
	map_fini(&d.string_at);
	vec_fini(&d.strings);
	vec_fini(&d.ids);
	return d.failed ? -ENOMEM : 0;
}
