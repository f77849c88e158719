/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads JSON lines; see jsonl_in.h. The members of a line, in any order, are first stored in a
 * struct that has room for all of them. Then the line's type says what they mean.
 */
#include "format/jsonl/jsonl_in.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/common/lines.h"
#include "format/jsonl/jsonl_line.h"

/* The limits of memory are those for pprof files (pprof_read.c). Real files need far less. */
#define BUDGET_BASE	 (256ull << 20)
#define BUDGET_PER_BYTE	 64
#define SAMPLES_BASE	 (1ull << 20)
#define SAMPLES_PER_BYTE 4

#define NO_MEMORY	 err_set(-ENOMEM, "out of memory for reading the profile")

struct reader {
	struct profile *p;
	size_t budget;
	uint64_t max_samples;
	bool has_head;
	/* maps from ids in the file to ids in the profile */
	struct map mappings, frames, stacks, labels;
	struct jsonl_line line;
	VEC(uint32_t) frame_ids; /* locations of the stack that is being read, leaf first */
};

/* Sets the message "JSON lines: line N: FIELD: what" and returns -EINVAL. */
static int bad(const struct reader *r, const char *field, const char *fmt, ...) _printf_(3, 4);
static int bad(const struct reader *r, const char *field, const char *fmt, ...)
{
	char what[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set(-EINVAL, "JSON lines: line %llu: %s: %s", (unsigned long long)r->line.number,
		       field, what);
}

static int put_id(struct reader *r, struct map *ids, uint32_t ours)
{
	int64_t id = r->line.numbers[JSONL_ID];

	if (id <= 0)
		return bad(r, "id", "a number above 0 is needed");
	if (!ours)
		return NO_MEMORY;
	if (map_get(ids, (uint64_t)id))
		return bad(r, "id", "id %lld is used twice", (long long)id);
	return map_put(ids, (uint64_t)id, ours) ? NO_MEMORY : 0;
}

/* Finds the profile's id for the id @id of the file. With @or_none, id 0 is allowed and gives 0. */
static int get_id(const struct reader *r, const struct map *ids, int64_t id, const char *field,
		  bool or_none, uint32_t *ret)
{
	const uint64_t *found = id > 0 ? map_get(ids, (uint64_t)id) : NULL;

	*ret = found ? (uint32_t)*found : 0;
	if (found || (!id && or_none))
		return 0;
	return bad(r, field, "no line before this one defines id %lld", (long long)id);
}

static uint32_t text(const struct reader *r, enum jsonl_text which)
{
	const struct str *s = &r->line.texts[which];

	return profile_string_n(r->p, str_cstr(s), s->n);
}

static int take_head(struct reader *r)
{
	struct profile_meta *m = profile_meta(r->p);
	const struct jsonl_line *l = &r->line;
	int64_t by_default = l->numbers[JSONL_DEFAULT_SAMPLE_TYPE];

	if (r->has_head)
		return bad(r, "type", "a second line has the type krait");
	if (l->numbers[JSONL_VERSION] != 1)
		return bad(r, "version", "this krait reads version 1, not %lld",
			   (long long)l->numbers[JSONL_VERSION]);
	if (!l->n_types)
		return bad(r, "sample_types", "there must be one at least");
	if (by_default < 0 || by_default >= l->n_types)
		return bad(r, "default_sample_type", "there is no sample type %lld",
			   (long long)by_default);
	for (unsigned i = 0; i < l->n_types; i++)
		m->values[i] = jsonl_value_type(r->p, &l->types[i]);
	m->n_values = l->n_types;
	m->default_value = (unsigned)by_default;
	m->period_type = jsonl_value_type(r->p, &l->period_type);
	m->period = l->numbers[JSONL_PERIOD];
	m->time_ns = l->numbers[JSONL_TIME_NANOS];
	m->duration_ns = l->numbers[JSONL_DURATION_NANOS];
	for (size_t i = 0; i < l->n_comments; i++)
		if (comments_add(&m->comments, str_cstr(&l->comments.v[i])))
			return NO_MEMORY;
	r->has_head = true;
	return 0;
}

static int take_mapping(struct reader *r)
{
	struct profile_mapping m = {.name = text(r, JSONL_NAME),
				    .build_id = text(r, JSONL_BUILD_ID),
				    .start = r->line.addresses[JSONL_START],
				    .limit = r->line.addresses[JSONL_LIMIT],
				    .offset = r->line.addresses[JSONL_OFFSET]};

	m.kind = profile_kind(profile_get_string(r->p, m.name));
	return put_id(r, &r->mappings, profile_mapping(r->p, &m));
}

/*
 * Lines and columns have 32 bits in a profile. Values that don't fit count as unknown, as in pprof.
 */
static int32_t to_line(int64_t v)
{
	return v < 0 || v > INT32_MAX ? 0 : (int32_t)v;
}

/* Checks that a location keeps the rules of profile.h about names and about inlined code. */
static int check_frame(const struct reader *r, const struct profile_location *l)
{
	const struct profile_mapping *m = profile_get_mapping(r->p, l->mapping);
	const struct profile_location *outer;

	if (!l->function && (!m->name || m->kind == KIND_PYTHON))
		return bad(r, "name", "a Python frame, or one without a file, needs a name");
	if (!l->outer)
		return 0;
	outer = profile_get_location(r->p, l->outer);
	if (!l->function || !outer->function)
		return bad(r, "inlined_into", "both frames need a name");
	if (outer->mapping != l->mapping || outer->address != l->address)
		return bad(r, "inlined_into", "both frames need the same mapping and address");
	if (profile_n_inlined(r->p, l->outer) >= PROFILE_MAX_INLINED)
		return bad(r, "inlined_into", "more than %d inlined calls", PROFILE_MAX_INLINED);
	return 0;
}

static int take_frame(struct reader *r)
{
	const struct jsonl_line *line = &r->line;
	struct profile_function f = {.name = text(r, JSONL_NAME),
				     .system_name = text(r, JSONL_SYSTEM_NAME),
				     .file = text(r, JSONL_FILE),
				     .made_in = text(r, JSONL_MADE_IN),
				     .start_line = to_line(line->numbers[JSONL_START_LINE])};
	struct profile_location l = {.line = to_line(line->numbers[JSONL_LINE]),
				     .column = to_line(line->numbers[JSONL_COLUMN]),
				     .end_line = to_line(line->numbers[JSONL_END_LINE]),
				     .end_column = to_line(line->numbers[JSONL_END_COLUMN]),
				     .address = line->addresses[JSONL_ADDRESS]};
	int err =
		get_id(r, &r->mappings, line->numbers[JSONL_MAPPING], "mapping", false, &l.mapping);

	profile_check_end(&l);
	if (!err)
		err = get_id(r, &r->frames, line->numbers[JSONL_INLINED_INTO], "inlined_into", true,
			     &l.outer);
	if (err)
		return err;
	if (line->has_name) {
		l.function = profile_function(r->p, &f);
		if (!l.function)
			return NO_MEMORY;
		profile_ran_before(r->p, l.function,
				   (uint64_t)MAX(line->numbers[JSONL_RAN_BEFORE], 0));
	}
	err = check_frame(r, &l);
	return err ? err : put_id(r, &r->frames, profile_location(r->p, &l));
}

/*
 * Reads a stack. An inlined frame must come right after the frame that it was inlined into, counted
 * from the root.
 */
static int take_stack(struct reader *r)
{
	size_t n = r->line.list.n;
	uint32_t before = 0;

	if (vec_reserve(&r->frame_ids, n + 1))
		return NO_MEMORY;
	for (size_t i = 0; i < n; i++) {
		uint32_t id, outer;
		int err = get_id(r, &r->frames, r->line.list.v[i], "frames", false, &id);

		if (err)
			return err;
		outer = profile_get_location(r->p, id)->outer;
		if (outer && outer != before)
			return bad(r, "frames",
				   "the frame that %lld was inlined into doesn't come before it",
				   (long long)r->line.list.v[i]);
		before = id;
		r->frame_ids.v[n - 1 - i] = id;
	}
	return put_id(r, &r->stacks, profile_stack(r->p, r->frame_ids.v, n));
}

static int take_labels(struct reader *r)
{
	_cleanup_free_ struct profile_label *set = calloc(r->line.labels.n + 1, sizeof(*set));
	size_t n = 0;

	if (!set)
		return NO_MEMORY;
	for (; n < r->line.labels.n; n++) {
		const struct jsonl_label *l = &r->line.labels.v[n];

		set[n].key = profile_string_n(r->p, str_cstr(&l->key), l->key.n);
		set[n].value = profile_string_n(r->p, str_cstr(&l->value), l->value.n);
	}
	if (!n)
		return bad(r, "labels", "there must be one at least");
	return put_id(r, &r->labels, profile_labels(r->p, set, n));
}

static int take_sample(struct reader *r)
{
	const struct jsonl_line *l = &r->line;
	unsigned n = profile_meta(r->p)->n_values;
	struct profile_sample s = {.time_ns = l->has_time ? l->numbers[JSONL_TIME] : -1};
	int err = get_id(r, &r->stacks, l->numbers[JSONL_STACK], "stack", true, &s.stack);

	if (!err)
		err = get_id(r, &r->labels, l->numbers[JSONL_LABELS_ID], "labels", true, &s.labels);
	if (err)
		return err;
	if (l->has_time && s.time_ns < 0)
		return bad(r, "time", "it is below 0");
	if (l->list.n != n)
		return bad(r, "values", "%zu values for %u sample types", l->list.n, n);
	for (unsigned i = 0; i < n; i++)
		s.values[i] = l->list.v[i];
	if (!s.stack)
		s.stack = profile_stack(r->p, NULL, 0);
	if (profile_n_samples(r->p) >= r->max_samples)
		return err_set(-E2BIG,
			       "JSON lines: line %llu: there are far more samples than a file of "
			       "this size should have",
			       (unsigned long long)l->number);
	return s.stack ? profile_add(r->p, &s) : NO_MEMORY;
}

static int take_whole(struct reader *r)
{
	static const struct {
		const char *type;
		int (*take)(struct reader *r);
	} types[] = {
		{"sample", take_sample}, {"stack", take_stack},	    {"frame", take_frame},
		{"labels", take_labels}, {"mapping", take_mapping}, {"krait", take_head},
	};
	const char *type = str_cstr(&r->line.texts[JSONL_TYPE]);

	if (!r->has_head && !streq(type, "krait"))
		return bad(r, "type", "the first line must have the type krait");
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (streq(type, types[i].type))
			return types[i].take(r);
	}
	return *type ? 0 : bad(r, "type", "the line lacks this member");
}

static bool is_blank(const struct line *line)
{
	for (size_t i = 0; i < line->n; i++) {
		if (line->s[i] != ' ' && line->s[i] != '\t' && line->s[i] != '\r')
			return false;
	}
	return true;
}

static int take_line(void *arg, const struct line *line)
{
	struct reader *r = arg;
	int err;

	if (is_blank(line))
		return 0;
	err = jsonl_line_read(&r->line, line);
	if (!err)
		err = take_whole(r);
	if (!err && profile_failed(r->p))
		return NO_MEMORY;
	if (!err && profile_bytes(r->p) > r->budget)
		return err_set(-E2BIG,
			       "JSON lines: line %llu: the profile needs far more memory than a "
			       "file of this size should",
			       (unsigned long long)line->number);
	return err;
}

int jsonl_read(const uint8_t *data, size_t n, struct profile **ret)
{
	struct reader r = {.p = profile_new(),
			   .budget = BUDGET_BASE + n * BUDGET_PER_BYTE,
			   .max_samples = SAMPLES_BASE + n * SAMPLES_PER_BYTE};
	struct map *const maps[] = {&r.mappings, &r.frames, &r.stacks, &r.labels};
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		map_init(maps[i]);
	err = r.p ? lines_each(data, n, "JSON lines", take_line, &r) : NO_MEMORY;
	if (!err && !r.has_head)
		err = err_set(-EINVAL, "JSON lines: line 1: the file is empty");
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		map_fini(maps[i]);
	jsonl_line_fini(&r.line);
	vec_fini(&r.frame_ids);
	if (err)
		profile_free(r.p);
	else
		*ret = r.p;
	return err;
}

static size_t skip(const char *s, size_t n, const char *what)
{
	size_t i = 0, m = strlen(what);

	while (i < n && (s[i] == ' ' || s[i] == '\t'))
		i++;
	return n - i >= m && !memcmp(s + i, what, m) ? i + m : 0;
}

/*
 * Recognizes the format by the first member of the file. A file whose members are sorted by name
 * isn't recognized.
 */
bool jsonl_probe(const uint8_t *head, size_t n)
{
	static const char *const words[] = {"{", "\"type\"", ":", "\"krait\""};
	const char *s = (const char *)head;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t used = skip(s, n, words[i]);

		if (!used)
			return false;
		s += used;
		n -= used;
	}
	return true;
}
