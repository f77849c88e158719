/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of a Firefox profile; see firefox_tables.h. */
#include "profile/firefox_tables.h"

#include "base/error.h"

static const struct {
	const char *table, *name;
} columns[FF_COLUMNS] = {
	[STACK_FRAME] = {"stackTable", "frame"},
	[STACK_PREFIX] = {"stackTable", "prefix"},
	[STACK_OFFSET] = {"stackTable", "prefixOffset"},
	[FRAME_FUNC] = {"frameTable", "func"},
	[FRAME_LINE] = {"frameTable", "line"},
	[FRAME_COLUMN] = {"frameTable", "column"},
	[FRAME_CATEGORY] = {"frameTable", "category"},
	[FRAME_LIB] = {"frameTable", "lib"},
	[FRAME_FLAGS] = {"frameTable", "flags"},
	[FUNC_NAME] = {"funcTable", "name"},
	[FUNC_FILE] = {"funcTable", "fileName"},
	[FUNC_SOURCE] = {"funcTable", "source"},
	[FUNC_LINE] = {"funcTable", "lineNumber"},
	[FUNC_RESOURCE] = {"funcTable", "resource"},
	[FUNC_FLAGS] = {"funcTable", "flags"},
	[RESOURCE_LIB] = {"resourceTable", "lib"},
	[RESOURCE_NAME] = {"resourceTable", "name"},
	[SOURCE_FILE] = {"sources", "filename"},
};

void ff_texts_fini(struct ff_texts *t)
{
	str_fini(&t->bytes);
	vec_fini(&t->starts);
}

void ff_tables_fini(struct ff_tables *t)
{
	for (size_t i = 0; i < FF_COLUMNS; i++)
		vec_fini(&t->columns[i].v);
	ff_texts_fini(&t->strings);
	*t = (struct ff_tables){};
}

const char *ff_text(const struct ff_texts *t, int64_t i)
{
	return i >= 0 && (uint64_t)i < t->starts.n ? str_cstr(&t->bytes) + t->starts.v[i] : NULL;
}

int ff_add_text(struct ff_texts *to, const struct str *text)
{
	if (vec_push(&to->starts, to->bytes.n))
		return VIEWER_NO_MEMORY;
	str_add(&to->bytes, str_cstr(text));
	str_add_c(&to->bytes, '\0');
	return to->bytes.failed ? VIEWER_NO_MEMORY : 0;
}

static int read_texts(struct ff_reader *r, struct json_in *in, const char *field,
		      struct ff_texts *to)
{
	int more, err = ff_in_field(json_in_enter(in, '['), field);

	while (!err && (more = json_in_item(in))) {
		err = ff_in_field(more < 0 ? more : json_in_string(in, &r->text), field);
		err = err < 0 ? err : ff_add_text(to, &r->text);
		err = err ? err
			  : viewer_in_check_memory(FF_FORMAT, in, field, r->p,
						   to->bytes.n + to->starts.n * sizeof(size_t),
						   r->budget);
	}
	return err;
}

/* Whole ff_numbers of 31 bits; all else is none. */
static int read_numbers(struct ff_reader *r, struct json_in *in, const char *field, ff_numbers *to)
{
	int more, err = ff_in_field(json_in_enter(in, '['), field);

	while (!err && (more = json_in_item(in))) {
		struct json_in before = *in;
		int64_t v = FF_NONE;

		if (more < 0)
			return ff_in_field(more, field);
		if (json_in_integer(in, &v)) {
			*in = before;
			v = FF_NONE;
			err = ff_in_field(json_in_skip(in), field);
		}
		if (!err && vec_push(to, v >= 0 && v <= INT32_MAX ? (int32_t)v : FF_NONE))
			err = VIEWER_NO_MEMORY;
		err = err ? err
			  : viewer_in_check_memory(FF_FORMAT, in, field, r->p,
						   to->n * sizeof(*to->v), r->budget);
	}
	return err;
}

static int read_table(struct ff_reader *r, struct json_in *in, const char *table,
		      struct ff_tables *to)
{
	int more, err = ff_in_field(json_in_enter(in, '{'), table);

	while (!err && (more = json_in_key(in, &r->key))) {
		size_t i = 0;

		if (more < 0)
			return ff_in_field(more, table);
		while (i < FF_COLUMNS && !(streq(columns[i].table, table) &&
					   streq(columns[i].name, str_cstr(&r->key))))
			i++;
		if (i == FF_COLUMNS || to->columns[i].there) {
			err = ff_in_field(json_in_skip(in), table);
			continue;
		}
		to->columns[i].there = true;
		err = read_numbers(r, in, columns[i].name, &to->columns[i].v);
	}
	return err;
}

int ff_take_table(struct ff_reader *r, struct json_in *in, struct ff_tables *to)
{
	const char *key = str_cstr(&r->key);
	int err;

	if (streq(key, "stringArray") && !to->has_strings) {
		to->has_strings = to->any = true;
		err = read_texts(r, in, "stringArray", &to->strings);
		return err ? err : 1;
	}
	for (size_t i = 0; i < FF_COLUMNS; i++) {
		if (!streq(columns[i].table, key))
			continue;
		to->any = true;
		err = read_table(r, in, columns[i].table, to);
		return err ? err : 1;
	}
	return 0;
}

int ff_read_shared(struct ff_reader *r)
{
	struct json_in in = r->shared_at;
	int more, err = in.at ? ff_in_field(json_in_enter(&in, '{'), "shared") : 0;

	while (!err && in.at && (more = json_in_key(&in, &r->key))) {
		int taken =
			more < 0 ? ff_in_field(more, "shared") : ff_take_table(r, &in, &r->shared);

		err = taken < 0 ? taken : taken ? 0 : ff_in_field(json_in_skip(&in), "shared");
	}
	return err;
}

int32_t ff_cell(const struct ff_reader *r, enum ff_column c, int64_t row)
{
	const struct ff_tables *t = r->own.columns[c].there ? &r->own : &r->shared;
	const ff_numbers *v = &t->columns[c].v;

	return row >= 0 && (uint64_t)row < v->n ? v->v[row] : FF_NONE;
}

int32_t ff_flagged(const struct ff_reader *r, enum ff_column c, int64_t row, enum ff_column flags,
		   int bit)
{
	int32_t set = ff_cell(r, flags, row);

	return set == FF_NONE || set & bit ? ff_cell(r, c, row) : FF_NONE;
}

const char *ff_string(const struct ff_reader *r, int64_t i)
{
	return ff_text(r->own.has_strings ? &r->own.strings : &r->shared.strings, i);
}
