/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects, sorts and names the rows of a table; see table.h. */
#include "live/table.h"

#include <limits.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "view/shape/roots.h"

static const char *const table_names[LIVE_TABLES] = {"functions", "lines",     "modules",
						     "threads",	  "processes", "by"};

const char *table_word(enum live_table table)
{
	return table_names[table];
}

enum live_table table_beside(const struct table *v, int step)
{
	int n = v->live->by ? LIVE_TABLES : LIVE_BY;

	return (enum live_table)(((int)v->live->table + step + n) % n);
}

static bool has_column(const struct table *v, const struct table_column *c)
{
	return c->tables & TABLE_OF(v->live->table);
}

static bool may_have(const struct table *v, const struct table_column *c, int width)
{
	bool gil = v->live->all[LIVE_SINCE].known;

	return has_column(v, c) && c->from_width <= width && (gil || !streq(c->name, "gil")) &&
	       (!c->of_waits || live_shows_waits(v->live));
}

/* When waits are shown beside names, a name keeps at least this many characters of its line. */
#define NAME_LEAST 24

/*
 * Tells whether there is room for the column. States have many columns; those that stand first in
 * the table get the room.
 */
static bool has_room(const struct table *v, const struct table_column *c, int width)
{
	int used = 0;

	for (const struct table_column *before = table_columns; before < c; before++)
		if (may_have(v, before, width) &&
		    (!before->from_width || used + before->width <= width - NAME_LEAST))
			used += before->width;
	return used + c->width <= width - NAME_LEAST;
}

bool table_has(const struct table *v, const struct table_column *c, int width)
{
	return may_have(v, c, width) &&
	       (!c->from_width || !live_shows_waits(v->live) || has_room(v, c, width));
}

bool table_sort(struct table *v, const char *name)
{
	for (const struct table_column *c = table_columns; c->name; c++) {
		if (!has_column(v, c) || !streq(c->name, name))
			continue;
		v->sort = c;
		v->ascending = !c->value;
		return true;
	}
	return false;
}

void table_sort_step(struct table *v, int step)
{
	const struct table_column *c = v->sort, *last = table_columns;

	while (last[1].name)
		last++;
	do {
		c += step;
		if (c < table_columns)
			c = last;
		else if (!c->name)
			c = table_columns;
	} while (!table_has(v, c, INT_MAX));
	v->sort = c;
	v->ascending = !c->value;
}

static bool is_code(enum live_table table)
{
	return TABLE_OF(table) & TABLE_OF_CODE;
}

/*
 * Sorts by column @name. In tables of code, sorts by "self" in place of "cpu", because narrow
 * terminals don't show CPU% there. If the table has no column @name, sorts by "self", or by "cpu"
 * if it has no column "self" either.
 */
static void sort_like(struct table *v, const char *name)
{
	if (is_code(v->live->table) && streq(name, "cpu"))
		name = "self";
	if (!table_sort(v, name) && !table_sort(v, "self"))
		(void)table_sort(v, "cpu");
}

void table_switch(struct table *v, enum live_table table)
{
	const char *by = v->sort ? v->sort->name : "self";
	bool before = is_code(v->live->table), now = is_code(table);
	struct table_order kept = v->orders[now];

	v->orders[before] = (struct table_order){v->sort, v->ascending};
	live_show(v->live, table, v->live->only);
	if (before == now || !kept.sort) {
		sort_like(v, by);
		return;
	}
	v->sort = kept.sort;
	v->ascending = kept.ascending;
}

static void note_unit(struct table *v)
{
	v->clock = streq(live_value_type(v->live).unit, "nanoseconds");
}

void table_init(struct table *v, struct live *l)
{
	*v = (struct table){.live = l, .p = l->p};
	note_unit(v);
	table_switch(v, l->table);
}

void table_show_value(struct table *v, unsigned value, bool wall)
{
	live_show_value(v->live, value, wall);
	note_unit(v);
	if (!table_has(v, v->sort, INT_MAX))
		sort_like(v, "self");
}

void table_fini(struct table *v)
{
	vec_fini(&v->rows);
	*v = (struct table){};
}

void table_location_name(struct table *v, enum live_table table, uint32_t location, struct str *ret)
{
	const struct render_names *names = live_names(v->live);
	const struct profile_location *l = profile_get_location(v->p, location);
	const struct profile_function *f;
	const char *file, *object;

	if (!names)
		return;
	if (table == LIVE_MODULES) {
		str_add(ret, live_text(v->live, live_key(v->live, table, location)));
		return;
	}
	if (!l->function) {
		str_addf(ret, "[%s]", render_names_mapping(names, l->mapping));
		return;
	}
	if (table == LIVE_LINES) {
		render_names_frame(names, location, ret);
		return;
	}
	f = profile_get_function(v->p, l->function);
	file = render_names_file(names, l->function);
	object = render_names_mapping(names, l->mapping);
	render_names_function(names, location, ret);
	if (profile_get_mapping(v->p, l->mapping)->kind == KIND_MARK)
		return;
	if (*file && f->start_line > 0)
		str_addf(ret, " (%s:%d)", file, f->start_line);
	else if (*file || *object)
		str_addf(ret, " (%s)", *file ? file : object);
}

static void add_time(struct str *ret, double ns)
{
	double s = ns / NSEC_PER_SEC;
	unsigned long long whole = (unsigned long long)s;

	if (s < 60)
		str_addf(ret, "%.2fs", s);
	else if (whole < 3600)
		str_addf(ret, "%llu:%02llu", whole / 60, whole % 60);
	else
		str_addf(ret, "%llu:%02llu:%02llu", whole / 3600, whole / 60 % 60, whole % 60);
}

static void who_name(const struct table *v, const struct live_row *row, struct str *ret)
{
	if (streq(profile_label_text(v->p, row->labels, "pid"), CONDENSE_ENDED)) {
		str_add(ret, "[ended]");
		return;
	}
	if (v->live->table == LIVE_THREADS)
		roots_by_text(v->p, row->labels, "thread", ret);
	if (v->live->table == LIVE_PROCESSES || v->live->several) {
		str_add(ret, ret->n ? " of " : "");
		roots_by_text(v->p, row->labels, "process", ret);
	}
}

void table_name(struct table *v, const struct live_row *row, struct str *ret)
{
	if (v->live->table == LIVE_BY)
		str_add(ret, live_text(v->live, row->key));
	else if (v->live->table >= LIVE_THREADS)
		who_name(v, row, ret);
	else
		table_location_name(v, v->live->table, row->location, ret);
}

/* a thread is shown as waiting now only if it has waited for at least this long */
#define NOW_NS (100 * NSEC_PER_MSEC)

void table_wait_now(struct table *v, const struct live_row *row, struct str *ret)
{
	const struct live_wait *w =
		v->live->table == LIVE_THREADS ? live_wait_now(v->live, row) : NULL;
	const uint32_t *loc;
	const char *on;
	bool idle;
	size_t n;

	if (!w || w->told[OPEN_WAITED] < (int64_t)NOW_NS)
		return;
	on = profile_label_text(v->p, w->labels, "on");
	idle = *profile_label_text(v->p, w->labels, "idle");
	str_addf(ret, "  %s", idle ? "idle" : profile_label_text(v->p, w->labels, "state"));
	if (*on)
		str_addf(ret, " (%s)", on);
	str_add_c(ret, ' ');
	add_time(ret, (double)w->told[OPEN_WAITED]);
	loc = live_stack(v->live, w->stack, &n);
	if (!n)
		return;
	str_add(ret, " in ");
	table_location_name(v, LIVE_LINES, loc[0], ret);
}

struct live_only table_only(const struct table *v, const struct live_row *row)
{
	const struct live_who *who = live_who(v->live, row->labels);
	enum live_table table = v->live->table;

	if (table == LIVE_BY)
		return (struct live_only){.text = who->text};
	return (struct live_only){who->pid, table == LIVE_THREADS ? who->tid : 0};
}

void table_number(const struct table *v, enum table_unit unit, double value, struct str *ret)
{
	if (value < 0)
		str_add_c(ret, '-');
	else if (unit == UNIT_PERCENT)
		str_addf(ret, "%.1f", value);
	else if (v->clock)
		add_time(ret, value);
	else if (value >= 1e7)
		str_addf(ret, "%.1fM", value / 1e6);
	else
		str_addf(ret, "%.0f", value);
}

/* What a row is sorted by: a number or a name, computed once for each row. */
struct sort_key {
	double number;
	size_t name; /* offset of the row's name in sorter.names */
	int64_t since;
	uint64_t key;
	uint32_t row;
};

struct sorter {
	const struct table *v;
	struct str names;
	VEC(struct sort_key) keys;
};

static int compare_keys(const struct sorter *s, const struct sort_key *a, const struct sort_key *b)
{
	if (!s->v->sort->value) {
		int r = strcasecmp(s->names.s + a->name, s->names.s + b->name);

		if (r)
			return r;
	} else if (a->number != b->number) {
		return a->number < b->number ? -1 : 1;
	}
	return 0;
}

static int compare(const void *va, const void *vb, void *arg)
{
	const struct sort_key *a = va, *b = vb;
	const struct sorter *s = arg;
	int r = compare_keys(s, a, b);

	if (r)
		return s->v->ascending ? r : -r;
	if (a->since != b->since)
		return (a->since > b->since) == (s->v->ascending && s->v->sort->value) ? 1 : -1;
	return a->key < b->key ? -1 : a->key > b->key;
}

/* Adds the sort key of a row. Returns 1; 0 if the filter hides the row; or -ENOMEM. */
static int add_key(struct sorter *s, struct table *v, uint32_t row)
{
	const struct live_row *r = &v->live->rows.v[row];
	struct sort_key key = {
		.name = s->names.n, .since = r->self[LIVE_SINCE].value, .key = r->key, .row = row};

	if (v->sort->value)
		key.number = v->sort->value(v, r);
	if (!v->sort->value || *v->filter) {
		table_name(v, r, &s->names);
		str_add_c(&s->names, '\0');
		if (s->names.failed)
			return -ENOMEM;
		if (*v->filter && !strcasestr(s->names.s + key.name, v->filter)) {
			s->names.n = key.name;
			return 0;
		}
	}
	return vec_push(&s->keys, key) ? -ENOMEM : 1;
}

int table_refresh(struct table *v)
{
	struct sorter s = {.v = v};
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < v->live->rows.n; i++)
		r = add_key(&s, v, i);
	if (r >= 0 && s.keys.n)
		qsort_r(s.keys.v, s.keys.n, sizeof(*s.keys.v), compare, &s);
	v->rows.n = 0;
	if (r >= 0)
		r = vec_reserve(&v->rows, s.keys.n);
	for (size_t i = 0; !r && i < s.keys.n; i++)
		v->rows.v[v->rows.n++] = s.keys.v[i].row;
	str_fini(&s.names);
	vec_fini(&s.keys);
	return r < 0 ? err_set(-ENOMEM, "out of memory for the table") : 0;
}
