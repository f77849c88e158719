/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the members of one JSON line; see jsonl_line.h. */
#include "format/jsonl/jsonl_line.h"

#include <errno.h>
#include <stdio.h>
#include "base/error.h"
#include "base/text/json_in.h"

#define MAX_FRAMES 65536
#define MAX_LABELS 256

#define NO_MEMORY  err_set(-ENOMEM, "out of memory for reading the profile")

static const char *const text_keys[JSONL_TEXTS] = {
	[JSONL_TYPE] = "type",	       [JSONL_NAME] = "name",
	[JSONL_BUILD_ID] = "build_id", [JSONL_SYSTEM_NAME] = "system_name",
	[JSONL_MADE_IN] = "made_in",   [JSONL_FILE] = "file"};
static const char *const address_keys[JSONL_ADDRESSES] = {[JSONL_START] = "start",
							  [JSONL_LIMIT] = "limit",
							  [JSONL_OFFSET] = "offset",
							  [JSONL_ADDRESS] = "address"};
/*
 * In a sample, the member "labels" is a number. In the line that defines a label set, it is an
 * object.
 */
static const char *const number_keys[JSONL_NUMBERS] = {
	[JSONL_VERSION] = "version",
	[JSONL_DEFAULT_SAMPLE_TYPE] = "default_sample_type",
	[JSONL_PERIOD] = "period",
	[JSONL_TIME_NANOS] = "time_nanos",
	[JSONL_DURATION_NANOS] = "duration_nanos",
	[JSONL_ID] = "id",
	[JSONL_MAPPING] = "mapping",
	[JSONL_START_LINE] = "start_line",
	[JSONL_RAN_BEFORE] = "ran_before",
	[JSONL_LINE] = "line",
	[JSONL_COLUMN] = "column",
	[JSONL_END_LINE] = "end_line",
	[JSONL_END_COLUMN] = "end_column",
	[JSONL_INLINED_INTO] = "inlined_into",
	[JSONL_STACK] = "stack",
	[JSONL_LABELS_ID] = "labels",
	[JSONL_TIME] = "time",
};

static int too_many(const char *what, unsigned max)
{
	return err_set(-EINVAL, "more than %u %s", max, what);
}

/* Empties the members that the preceding line has set, but keeps their memory. */
static void clear(struct jsonl_line *l, uint64_t number)
{
	l->number = number;
	for (size_t i = 0; i < JSONL_TEXTS; i++)
		str_clear(&l->texts[i]);
	memset(l->numbers, 0, sizeof(l->numbers));
	memset(l->addresses, 0, sizeof(l->addresses));
	l->has_name = l->has_time = false;
	l->list.n = l->labels.n = 0;
	l->n_types = l->n_comments = 0;
	str_clear(&l->period_type.type);
	str_clear(&l->period_type.unit);
}

static void type_fini(struct jsonl_type *t)
{
	str_fini(&t->type);
	str_fini(&t->unit);
}

void jsonl_line_fini(struct jsonl_line *l)
{
	for (size_t i = 0; i < JSONL_TEXTS; i++)
		str_fini(&l->texts[i]);
	for (size_t i = 0; i < PROFILE_MAX_VALUES; i++)
		type_fini(&l->types[i]);
	type_fini(&l->period_type);
	vec_foreach(comment, &l->comments)
		str_fini(comment);
	vec_fini(&l->comments);
	for (size_t i = 0; i < l->labels_made; i++) {
		str_fini(&l->labels.v[i].key);
		str_fini(&l->labels.v[i].value);
	}
	free(l->labels.v);
	free(l->list.v);
	str_fini(&l->key);
	*l = (struct jsonl_line){};
}

static int take_address(struct jsonl_line *l, struct json_in *in, uint64_t *ret)
{
	_cleanup_str_ struct str text = {};
	const char *digits;
	int r = json_in_string(in, &text);

	if (r)
		return r;
	digits = str_cstr(&text) + 2;
	if (text.n < 3 || text.n > 18 || !str_starts(str_cstr(&text), "0x") ||
	    digits[strspn(digits, "0123456789abcdefABCDEF")])
		return err_set(-EINVAL, "the value isn't an address such as \"0x12ab\"");
	*ret = strtoull(digits, NULL, 16);
	return 0;
}

static int take_list(struct jsonl_line *l, struct json_in *in)
{
	int r = json_in_enter(in, '[');

	l->list.n = 0;
	while (!r && (r = json_in_item(in)) > 0) {
		if (l->list.n == MAX_FRAMES)
			return too_many("numbers", MAX_FRAMES);
		if (vec_push(&l->list, 0))
			return NO_MEMORY;
		r = json_in_integer(in, &l->list.v[l->list.n - 1]);
	}
	return r;
}

/* Adds a label. Uses the memory of an earlier line's label if there is one. NULL: out of memory. */
static struct jsonl_label *new_label(struct jsonl_line *l)
{
	if (l->labels.n == l->labels_made) {
		if (vec_push(&l->labels, (struct jsonl_label){}))
			return NULL;
		return &l->labels.v[l->labels_made++];
	}
	return &l->labels.v[l->labels.n++];
}

static int take_labels(struct jsonl_line *l, struct json_in *in)
{
	int r = json_in_enter(in, '{');

	l->labels.n = 0;
	while (!r && (r = json_in_key(in, &l->key)) > 0) {
		struct jsonl_label *label = l->labels.n < MAX_LABELS ? new_label(l) : NULL;

		if (!label)
			return l->labels.n < MAX_LABELS ? NO_MEMORY
							: too_many("labels", MAX_LABELS);
		str_clear(&label->key);
		str_add_n(&label->key, str_cstr(&l->key), l->key.n);
		if (label->key.failed)
			return NO_MEMORY;
		r = json_in_string(in, &label->value);
	}
	return r;
}

static int take_type(struct jsonl_line *l, struct json_in *in, struct jsonl_type *t)
{
	int r = json_in_enter(in, '{');

	str_clear(&t->type);
	str_clear(&t->unit);
	while (!r && (r = json_in_key(in, &l->key)) > 0) {
		if (streq(str_cstr(&l->key), "type"))
			r = json_in_string(in, &t->type);
		else if (streq(str_cstr(&l->key), "unit"))
			r = json_in_string(in, &t->unit);
		else
			r = json_in_skip(in);
	}
	return r;
}

static int take_types(struct jsonl_line *l, struct json_in *in)
{
	int r = json_in_enter(in, '[');

	l->n_types = 0;
	while (!r && (r = json_in_item(in)) > 0) {
		if (l->n_types == PROFILE_MAX_VALUES)
			return too_many("types", PROFILE_MAX_VALUES);
		r = take_type(l, in, &l->types[l->n_types++]);
	}
	return r;
}

static int take_comments(struct jsonl_line *l, struct json_in *in)
{
	int r = json_in_enter(in, '[');

	l->n_comments = 0;
	while (!r && (r = json_in_item(in)) > 0) {
		if (l->n_comments == JSONL_MAX_COMMENTS)
			return too_many("comments", JSONL_MAX_COMMENTS);
		if (l->n_comments == l->comments.n && vec_push(&l->comments, (struct str){}))
			return NO_MEMORY;
		r = json_in_string(in, &l->comments.v[l->n_comments++]);
	}
	return r;
}

/*
 * Reads a member that is a list or an object, not a text, an address or a number. Returns 1 if @key
 * isn't the name of such a member.
 */
static int take_other(struct jsonl_line *l, struct json_in *in, const char *key)
{
	struct json_in ahead = *in;

	if (streq(key, "frames") || streq(key, "values"))
		return take_list(l, in);
	if (streq(key, "sample_types"))
		return take_types(l, in);
	if (streq(key, "period_type"))
		return take_type(l, in, &l->period_type);
	if (streq(key, "comments"))
		return take_comments(l, in);
	if (streq(key, "labels") && !json_in_enter(&ahead, '{'))
		return take_labels(l, in);
	return 1;
}

/* Reads the value of the member with the name @key. */
static int take_member(struct jsonl_line *l, struct json_in *in, const char *key)
{
	int r = take_other(l, in, key);

	if (r <= 0)
		return r;
	for (size_t i = 0; i < JSONL_NUMBERS; i++) {
		if (!streq(key, number_keys[i]))
			continue;
		l->has_time |= i == JSONL_TIME;
		return json_in_integer(in, &l->numbers[i]);
	}
	for (size_t i = 0; i < JSONL_TEXTS; i++) {
		if (!streq(key, text_keys[i]))
			continue;
		l->has_name |= i == JSONL_NAME;
		return json_in_string(in, &l->texts[i]);
	}
	for (size_t i = 0; i < JSONL_ADDRESSES; i++) {
		if (streq(key, address_keys[i]))
			return take_address(l, in, &l->addresses[i]);
	}
	return json_in_skip(in);
}

int jsonl_line_read(struct jsonl_line *l, const struct line *line)
{
	char field[64] = "the line";
	struct json_in in;
	int r;

	clear(l, line->number);
	json_in_init(&in, line->s, line->n);
	r = json_in_enter(&in, '{');
	while (!r && (r = json_in_key(&in, &l->key)) > 0) {
		snprintf(field, sizeof(field), "%s", str_cstr(&l->key));
		r = take_member(l, &in, field);
	}
	if (!r)
		r = json_in_end(&in);
	if (r == -EINVAL)
		return err_wrap(r, "JSON lines: line %llu: %s", (unsigned long long)line->number,
				field);
	return r;
}

struct profile_value_type jsonl_value_type(struct profile *p, const struct jsonl_type *t)
{
	uint32_t type = profile_string_n(p, str_cstr(&t->type), t->type.n);
	uint32_t unit = profile_string_n(p, str_cstr(&t->unit), t->unit.n);

	return (struct profile_value_type){profile_get_string(p, type),
					   profile_get_string(p, unit)};
}
