/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON lines: everything that a recording holds, for scripts, jq and databases.
 * docs/format.md describes them. Each line is an object. An object is written before the objects
 * that refer to it. format/jsonl/jsonl_in.c reads them.
 */
#include "format/common/writers.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/json.h"
#include "profile/sample_order.h"

struct jsonl {
	struct profile *p;
	FILE *out;
};

/* Writes ,"key":"value" unless @value is missing. */
static void put_text(const struct jsonl *j, const char *key, const char *value)
{
	if (!*value)
		return;
	fprintf(j->out, ",\"%s\":", key);
	json_put_string(j->out, value);
}

static void put_number(const struct jsonl *j, const char *key, int64_t v)
{
	if (v)
		fprintf(j->out, ",\"%s\":%lld", key, (long long)v);
}

/*
 * Writes an address as text, because many readers treat numbers as floating point, which can't hold
 * the kernel's addresses.
 */
static void put_address(const struct jsonl *j, const char *key, uint64_t v)
{
	if (v)
		fprintf(j->out, ",\"%s\":\"0x%llx\"", key, (unsigned long long)v);
}

static void put_type(const struct jsonl *j, const struct profile_value_type *t)
{
	fputs("{\"type\":", j->out);
	json_put_string(j->out, t->type);
	fputs(",\"unit\":", j->out);
	json_put_string(j->out, t->unit);
	fputc('}', j->out);
}

static void put_head(const struct jsonl *j)
{
	const struct profile_meta *m = profile_meta(j->p);

	fputs("{\"type\":\"krait\",\"version\":1,\"sample_types\":[", j->out);
	for (unsigned i = 0; i < m->n_values; i++) {
		fputs(i ? "," : "", j->out);
		put_type(j, &m->values[i]);
	}
	fprintf(j->out, "],\"default_sample_type\":%u", m->default_value);
	if (m->period_type.type) {
		fputs(",\"period_type\":", j->out);
		put_type(j, &m->period_type);
	}
	put_number(j, "period", m->period);
	put_number(j, "time_nanos", m->time_ns);
	put_number(j, "duration_nanos", m->duration_ns);
	fputs(",\"comments\":[", j->out);
	vec_foreach(text, &m->comments.list) {
		fputs(text > m->comments.list.v ? "," : "", j->out);
		json_put_string(j->out, *text);
	}
	fputs("]}\n", j->out);
}

static void put_mapping(const struct jsonl *j, uint32_t id)
{
	const struct profile_mapping *m = profile_get_mapping(j->p, id);

	fprintf(j->out, "{\"type\":\"mapping\",\"id\":%u", id);
	put_text(j, "name", profile_get_string(j->p, m->name));
	put_text(j, "build_id", profile_get_string(j->p, m->build_id));
	put_address(j, "start", m->start);
	put_address(j, "limit", m->limit);
	put_address(j, "offset", m->offset);
	fputs("}\n", j->out);
}

/*
 * Writes a frame. If a symbol covers the frame's address, the frame has a member "name", which may
 * be empty.
 */
static void put_frame(const struct jsonl *j, uint32_t id)
{
	const struct profile_location *l = profile_get_location(j->p, id);
	const struct profile_function *f =
		l->function ? profile_get_function(j->p, l->function) : NULL;

	fprintf(j->out, "{\"type\":\"frame\",\"id\":%u,\"mapping\":%u", id, l->mapping);
	if (f) {
		fputs(",\"name\":", j->out);
		json_put_string(j->out, profile_get_string(j->p, f->name));
		put_text(j, "system_name", profile_get_string(j->p, f->system_name));
		put_text(j, "file", profile_get_string(j->p, f->file));
		put_text(j, "made_in", profile_get_string(j->p, f->made_in));
		put_number(j, "start_line", f->start_line);
		put_number(j, "ran_before", profile_get_ran_before(j->p, l->function));
	}
	put_number(j, "line", l->line);
	put_number(j, "column", l->column);
	put_number(j, "end_line", l->end_line);
	put_number(j, "end_column", l->end_column);
	put_address(j, "address", l->address);
	put_number(j, "inlined_into", l->outer);
	fputs("}\n", j->out);
}

static void put_stack(const struct jsonl *j, uint32_t id)
{
	size_t n;
	const uint32_t *stack = profile_get_stack(j->p, id, &n);

	fprintf(j->out, "{\"type\":\"stack\",\"id\":%u,\"frames\":[", id);
	for (size_t i = n; i--;)
		fprintf(j->out, "%u%s", stack[i], i ? "," : "");
	fputs("]}\n", j->out);
}

static void put_labels(const struct jsonl *j, uint32_t id)
{
	size_t n;
	const struct profile_label *labels = profile_get_labels(j->p, id, &n);

	fprintf(j->out, "{\"type\":\"labels\",\"id\":%u,\"labels\":{", id);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? "," : "", j->out);
		json_put_string(j->out, profile_get_string(j->p, labels[i].key));
		fputc(':', j->out);
		json_put_string(j->out, profile_get_string(j->p, labels[i].value));
	}
	fputs("}}\n", j->out);
}

static int put_sample(void *arg, const struct profile_sample *s)
{
	const struct jsonl *j = arg;
	unsigned n = profile_meta(j->p)->n_values;

	fputs("{\"type\":\"sample\"", j->out);
	put_number(j, "stack", s->stack);
	put_number(j, "labels", s->labels);
	if (s->time_ns >= 0)
		fprintf(j->out, ",\"time\":%lld", (long long)s->time_ns);
	fputs(",\"values\":[", j->out);
	for (unsigned i = 0; i < n; i++)
		fprintf(j->out, "%s%lld", i ? "," : "", (long long)s->values[i]);
	fputs("]}\n", j->out);
	return ferror(j->out) ? -EIO : 0;
}

int jsonl_write(struct profile *p, FILE *out, const struct render_options *opt)
{
	struct jsonl j = {p, out};
	int r;

	put_head(&j);
	for (uint32_t id = 1; id <= profile_n_mappings(p); id++)
		put_mapping(&j, id);
	for (uint32_t id = 1; id <= profile_n_locations(p); id++)
		put_frame(&j, id);
	for (uint32_t id = 1; id <= profile_n_stacks(p); id++)
		put_stack(&j, id);
	for (uint32_t id = 1; id <= profile_n_labels(p); id++)
		put_labels(&j, id);
	r = profile_each_sum(p, opt->times, put_sample, &j);
	if ((!r || r == -EIO) && (fflush(out) || ferror(out)))
		r = err_sys(errno ? -errno : -EIO, "can't write the JSON lines");
	return r;
}
