/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the tables of a Firefox profile, such as frames and funcs; see firefox_in_tables.h. */
#include "format/firefox/firefox_in_tables.h"

#include "base/error.h"

enum target { NUMBERS, STACKS, FRAMES, FUNCS, RESOURCES, SOURCES, STRINGS, CATEGORIES, LIBS };

/*
 * The columns of the tables, and what their numbers are: plain numbers, or rows of another table.
 */
static const struct {
	const char *table, *name;
	enum target target;
	bool needed; /* no cell of the column may be null */
	enum ff_column flags;
	/* which bit in the row's column .flags says that the cell is set; 0: no bit does */
	int bit;
} columns[FF_COLUMNS] = {
	[STACK_FRAME] = {"stackTable", "frame", FRAMES, true},
	[STACK_PREFIX] = {"stackTable", "prefix", STACKS},
	[STACK_OFFSET] = {"stackTable", "prefixOffset"},
	[FRAME_FUNC] = {"frameTable", "func", FUNCS, true},
	[FRAME_LINE] = {"frameTable", "line"},
	[FRAME_COLUMN] = {"frameTable", "column"},
	[FRAME_CATEGORY] = {"frameTable", "category", CATEGORIES, false, FRAME_FLAGS,
			    FRAME_HAS_CATEGORY},
	[FRAME_LIB] = {"frameTable", "lib", LIBS, false, FRAME_FLAGS, FRAME_HAS_LIB},
	[FRAME_FLAGS] = {"frameTable", "flags"},
	[FUNC_NAME] = {"funcTable", "name", STRINGS},
	[FUNC_FILE] = {"funcTable", "fileName", STRINGS},
	[FUNC_SOURCE] = {"funcTable", "source", SOURCES, false, FUNC_FLAGS, FUNC_HAS_SOURCE},
	[FUNC_LINE] = {"funcTable", "lineNumber"},
	[FUNC_RESOURCE] = {"funcTable", "resource", RESOURCES, false, FUNC_FLAGS,
			   FUNC_HAS_RESOURCE},
	[FUNC_FLAGS] = {"funcTable", "flags"},
	[RESOURCE_LIB] = {"resourceTable", "lib", LIBS},
	[RESOURCE_NAME] = {"resourceTable", "name", STRINGS},
	[SOURCE_FILE] = {"sources", "filename", STRINGS},
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

void ff_skip_blanks(struct json_in *in)
{
	while (in->at < in->end && *in->at && strchr(" \t\r\n", *in->at))
		in->at++;
}

int ff_read_number(struct json_in *in, const char *field, int32_t *ret)
{
	struct json_in before;
	int64_t v = FF_NONE;
	bool none;
	int err;

	ff_skip_blanks(in);
	before = *in;
	none = in->at < in->end && *in->at == 'n';
	err = ff_in_field(none ? json_in_skip(in) : json_in_integer(in, &v), field);

	if (!err && (v < FF_NONE || v > INT32_MAX))
		err = ff_bad(&before, field, "the value is neither null nor in -1..2147483647");
	*ret = (int32_t)v;
	return err;
}

static int read_numbers(struct ff_reader *r, struct json_in *in, const char *field, ff_numbers *to)
{
	int more, err = ff_in_field(json_in_enter(in, '['), field);

	while (!err && (more = json_in_item(in))) {
		int32_t v;

		err = more < 0 ? ff_in_field(more, field) : ff_read_number(in, field, &v);
		if (!err && vec_push(to, v))
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
		to->columns[i].at = *in;
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

static const struct ff_tables *tables_of(const struct ff_reader *r, enum ff_column c)
{
	return r->own.columns[c].there ? &r->own : &r->shared;
}

int32_t ff_cell(const struct ff_reader *r, enum ff_column c, int64_t row)
{
	const ff_numbers *v = &tables_of(r, c)->columns[c].v;

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

/*
 * Sets the message that @row of a column is wrong, with the byte in the file where the row is.
 * Because the places of rows aren't stored, the column is read again up to this row.
 */
static int bad_cell(const struct ff_reader *r, enum ff_column c, size_t row, const char *what)
{
	struct json_in in = tables_of(r, c)->columns[c].at;
	int err = json_in_enter(&in, '[');

	for (size_t i = 0; i <= row && !err && json_in_item(&in) > 0; i++)
		err = i < row ? json_in_skip(&in) : 0;
	ff_skip_blanks(&in);
	return err ? ff_in_field(err, columns[c].name) : ff_bad(&in, columns[c].name, what);
}

/*
 * Returns the number of rows of the table that @target means. *own: the table belongs to the
 * thread, not to all threads. *known: false if the file doesn't have the table.
 */
static size_t rows_of(const struct ff_reader *r, enum target target, bool *own, bool *known)
{
	static const enum ff_column of[] = {[STACKS] = STACK_FRAME,
					    [FRAMES] = FRAME_FUNC,
					    [FUNCS] = FUNC_NAME,
					    [RESOURCES] = RESOURCE_NAME,
					    [SOURCES] = SOURCE_FILE};
	const struct ff_texts *texts = target == LIBS ? &r->lib_paths : &r->categories;

	*known = true;
	if (target == STRINGS) {
		*own = r->own.has_strings;
		return (*own ? &r->own : &r->shared)->strings.starts.n;
	}
	if (target == LIBS || target == CATEGORIES) {
		*own = false;
		*known = target == LIBS ? r->libs.at != NULL : texts->starts.n > 0;
		return texts->starts.n;
	}
	*own = r->own.columns[of[target]].there;
	/* a table of resources may have only one of the columns RESOURCE_NAME and RESOURCE_LIB */
	if (target == RESOURCES)
		*own |= r->own.columns[RESOURCE_LIB].there;
	return target == RESOURCES ? MAX(tables_of(r, RESOURCE_NAME)->columns[RESOURCE_NAME].v.n,
					 tables_of(r, RESOURCE_LIB)->columns[RESOURCE_LIB].v.n)
				   : tables_of(r, of[target])->columns[of[target]].v.n;
}

static int check_column(struct ff_reader *r, enum ff_column c, size_t rows)
{
	const ff_numbers *v = &tables_of(r, c)->columns[c].v;

	if (v->n > r->steps)
		return bad_cell(
			r, c, 0,
			"the threads share far more than they should in a file of this size");
	r->steps -= v->n;
	for (size_t i = 0; i < v->n; i++) {
		int32_t cell = columns[c].bit ? ff_flagged(r, c, (int64_t)i, columns[c].flags,
							   columns[c].bit)
					      : v->v[i];

		if (cell == FF_NONE && columns[c].needed)
			return bad_cell(r, c, i, "null isn't allowed here");
		if (cell != FF_NONE && (size_t)cell >= (c == STACK_PREFIX ? i : rows))
			return bad_cell(r, c, i,
					c == STACK_PREFIX
						? "a stack's caller isn't before it in the table"
						: "the table has no such row");
	}
	return 0;
}

static int check_offsets(struct ff_reader *r)
{
	const ff_numbers *v = &tables_of(r, STACK_OFFSET)->columns[STACK_OFFSET].v;

	for (size_t i = 0; i < v->n; i++)
		if (v->v[i] > 0 && (size_t)v->v[i] > i)
			return bad_cell(r, STACK_OFFSET, i,
					"a stack's caller isn't before it in the table");
	return 0;
}

int ff_check_tables(struct ff_reader *r)
{
	int err = 0;

	for (enum ff_column c = 0; !err && c < FF_COLUMNS; c++) {
		bool own = false, known = true, was = r->shared_checked[c];
		size_t rows;

		if (columns[c].target == NUMBERS && c != STACK_OFFSET)
			continue;
		rows = columns[c].target ? rows_of(r, columns[c].target, &own, &known) : 0;
		own |= r->own.columns[c].there ||
		       (columns[c].bit && r->own.columns[columns[c].flags].there);
		/* Columns that threads share are checked once, not for every thread. */
		if (!known || (was && !own))
			continue;
		r->shared_checked[c] |= !own;
		err = c == STACK_OFFSET ? check_offsets(r) : check_column(r, c, rows);
	}
	return err;
}
