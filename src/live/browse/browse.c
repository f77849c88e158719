/* SPDX-License-Identifier: BSD-2-Clause */
/* Does what the keys of `krait top` ask for; see browse.h. */
#include "live/browse/browse.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "format/format.h"
#include "live/terminal.h"
#include "view/waits/waits.h"

void browse_init(struct browse *b, struct table *v)
{
	*b = (struct browse){.shown = v, .page_rows = 1};
	map_init(&b->toggled);
}

void browse_fini(struct browse *b)
{
	tree_close(b);
	vec_fini(&b->lines);
	vec_fini(&b->boxes);
	map_fini(&b->toggled);
	str_fini(&b->input);
}

void browse_say(struct browse *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(b->message, sizeof(b->message), fmt, ap);
	va_end(ap);
}

/*
 * If the user chose a row with a key, the chosen line follows that row. Otherwise the chosen line
 * stays at its place in the table.
 */
static void keep_chosen(struct browse *b)
{
	const struct table *v = b->shown;

	for (size_t i = 0; b->held && i < v->rows.n; i++)
		if (v->live->rows.v[v->rows.v[i]].key == b->key) {
			b->at = i;
			return;
		}
	b->at = MIN(b->at, v->rows.n ? v->rows.n - 1 : 0);
}

int browse_refresh(struct browse *b)
{
	int r = table_refresh(b->shown);

	if (r)
		return r;
	keep_chosen(b);
	return b->opened ? tree_refresh(b) : 0;
}

int browse_reset(struct browse *b)
{
	int r = 0;

	map_clear(&b->toggled);
	b->zoom = b->chosen = 0;
	if (b->opened)
		r = calltree_build(&b->tree);
	return r ? r : browse_refresh(b);
}

void browse_condense(struct browse *b, struct condense *c)
{
	struct calltree *t = &b->tree;

	/*
	 * If .held isn't set, the user chose no row. In that case .key may be the key of a row of
	 * another table, which was shown before this one.
	 */
	b->key = b->held ? live_new_key(c, b->shown->live->table, b->key) : 0;
	b->held = b->key != 0;
	if (!b->opened)
		return;
	t->only.pid = profile_copy_string(&c->rebase.copy, t->only.pid);
	t->only.tid = profile_copy_string(&c->rebase.copy, t->only.tid);
	if (!t->everything)
		t->key = live_new_key(c, t->table, t->key);
	if (t->only.text || !(t->everything || t->key))
		tree_close(b);
}

static void choose(struct browse *b, size_t at)
{
	const struct table *v = b->shown;

	b->at = MIN(at, v->rows.n ? v->rows.n - 1 : 0);
	b->held = b->at > 0;
	if (v->rows.n)
		b->key = v->live->rows.v[v->rows.v[b->at]].key;
}

static int show_table(struct browse *b, enum live_table table)
{
	table_switch(b->shown, table);
	b->at = b->from = 0;
	b->held = false;
	return browse_refresh(b);
}

/*
 * Shows or hides frames of the kinds @kind and @too. Then the values of the table are computed
 * again, from all samples.
 */
static int toggle_kind(struct browse *b, enum frame_kind kind, enum frame_kind too)
{
	struct live *l = b->shown->live;

	l->hide[kind] = l->hide[too] = !l->hide[kind];
	live_show(l, l->table, l->only);
	browse_say(b, "%s frames %s", kind == KIND_KERNEL ? "kernel" : "native",
		   l->hide[kind] ? "are hidden; their time counts for their callers" : "are shown");
	return browse_reset(b);
}

/*
 * Shows the value of the next event. After the last event comes the sum of CPU time and waiting
 * time, and then the first event again.
 */
static void show_next(struct table *v)
{
	struct live *l = v->live;
	int cpu = profile_time_value(l->p, "cpu");

	if (!l->wall && l->value + 1 < profile_meta(l->p)->n_values)
		table_show_value(v, l->value + 1, false);
	else if (!l->wall && cpu > 0 && l->waits > 0)
		table_show_value(v, (unsigned)cpu, true);
	else
		table_show_value(v, 1, false);
}

/*
 * Handles key e: of the events that are recorded, shows the value of the next one in their list,
 * and says which one that is.
 */
static int next_event(struct browse *b)
{
	struct live *l = b->shown->live;
	const struct profile_meta *m = profile_meta(l->p);
	struct profile_value_type shown;

	if (m->n_values < 3) {
		browse_say(b, "only one event is recorded%s%s", b->several_by ? "; " : "",
			   b->several_by ?: "");
		return 0;
	}
	show_next(b->shown);
	shown = live_value_type(l);
	browse_say(b, "%s (%s) is shown", shown.type, shown.unit);
	return browse_reset(b);
}

static int sort_by_number(struct browse *b, int number)
{
	for (const struct table_column *c = table_columns; c->name; c++)
		if (table_has(b->shown, c, INT_MAX) && !--number) {
			(void)table_sort(b->shown, c->name);
			return browse_refresh(b);
		}
	return 0;
}

static void ask(struct browse *b, enum prompt prompt, const char *first)
{
	b->prompt = prompt;
	str_clear(&b->input);
	str_add(&b->input, first);
}

static int open_or_enter(struct browse *b, enum page page)
{
	return b->shown->rows.n ? tree_open(b, page) : 0;
}

/*
 * If all samples are shown, shows only those of the chosen process, thread or label value.
 * Otherwise shows all samples again.
 */
static int zoom_to(struct browse *b)
{
	struct table *v = b->shown;
	struct live_only only = {};

	if (v->live->only.pid || v->live->only.text || v->live->table < LIVE_THREADS) {
		live_show(v->live, v->live->table, only);
		browse_say(b, "all processes and threads");
		return show_table(b, v->live->table);
	}
	if (!v->rows.n)
		return 0;
	v->live->only = table_only(v, &v->live->rows.v[v->rows.v[b->at]]);
	return show_table(b, LIVE_FUNCTIONS);
}

static int move_key(struct browse *b, int key)
{
	size_t page = b->page_rows > 1 ? b->page_rows - 1 : 1;

	switch (key) {
	case KEY_UP:
	case 'k':
		choose(b, b->at ? b->at - 1 : 0);
		break;
	case KEY_DOWN:
	case 'j':
		choose(b, b->at + 1);
		break;
	case KEY_PAGE_UP:
		choose(b, b->at > page ? b->at - page : 0);
		break;
	case KEY_PAGE_DOWN:
		choose(b, b->at + page);
		break;
	case KEY_HOME:
		choose(b, 0);
		break;
	case KEY_END:
		choose(b, b->shown->rows.n);
		break;
	}
	return 0;
}

static int table_key(struct browse *b, int key)
{
	enum live_table table = b->shown->live->table;

	switch (key) {
	case KEY_TAB:
		return show_table(b, table_beside(b->shown, 1));
	case KEY_BACK_TAB:
		return show_table(b, table_beside(b->shown, -1));
	case 'l':
		return show_table(b, table == LIVE_LINES ? LIVE_FUNCTIONS : LIVE_LINES);
	case 'm':
		return show_table(b, table == LIVE_MODULES ? LIVE_FUNCTIONS : LIVE_MODULES);
	case 't':
		return show_table(b, table == LIVE_THREADS ? LIVE_FUNCTIONS : LIVE_THREADS);
	case 'P':
		return show_table(b, table == LIVE_PROCESSES ? LIVE_FUNCTIONS : LIVE_PROCESSES);
	case 's':
	case KEY_RIGHT:
	case '>':
		table_sort_step(b->shown, 1);
		return browse_refresh(b);
	case 'S':
	case KEY_LEFT:
	case '<':
		table_sort_step(b->shown, -1);
		return browse_refresh(b);
	case 'I':
		b->shown->ascending = !b->shown->ascending;
		return browse_refresh(b);
	case 'z':
		return zoom_to(b);
	case KEY_ENTER:
		return open_or_enter(b, PAGE_TREE);
	case 'f':
		return open_or_enter(b, PAGE_FLAME);
	}
	if (key >= '1' && key <= '9')
		return sort_by_number(b, key - '0');
	return move_key(b, key);
}

static int end_prompt(struct browse *b, enum browse_do *ret)
{
	enum prompt prompt = b->prompt;

	b->prompt = PROMPT_NONE;
	if (prompt == PROMPT_FILTER)
		return browse_refresh(b);
	if (b->input.n)
		*ret = prompt == PROMPT_SCREEN ? DO_WRITE_SCREEN : DO_WRITE_PROFILE;
	return 0;
}

static void add_character(struct str *b, int c)
{
	if (c < 0x80)
		str_add_c(b, (char)c);
	else if (c < 0x800)
		str_addf(b, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
	else if (c < 0x10000)
		str_addf(b, "%c%c%c", 0xe0 | c >> 12, 0x80 | (c >> 6 & 0x3f), 0x80 | (c & 0x3f));
	else
		str_addf(b, "%c%c%c%c", 0xf0 | c >> 18, 0x80 | (c >> 12 & 0x3f),
			 0x80 | (c >> 6 & 0x3f), 0x80 | (c & 0x3f));
}

static void remove_character(struct str *b)
{
	while (b->n && (b->s[b->n - 1] & 0xc0) == 0x80)
		b->n--;
	if (b->n)
		b->n--;
	if (b->s)
		b->s[b->n] = '\0';
}

/* Handles a key that was typed at the prompt. A filter takes effect while it is typed. */
static int prompt_key(struct browse *b, int key, enum browse_do *ret)
{
	if (key == KEY_ENTER)
		return end_prompt(b, ret);
	if (key == KEY_ESCAPE)
		str_clear(&b->input);
	else if (key == KEY_BACKSPACE)
		remove_character(&b->input);
	else if (key >= ' ' && key < KEY_UP && b->input.n < sizeof(b->shown->filter) - 5)
		add_character(&b->input, key);
	if (b->prompt == PROMPT_FILTER)
		snprintf(b->shown->filter, sizeof(b->shown->filter), "%s", str_cstr(&b->input));
	if (key == KEY_ESCAPE)
		b->prompt = PROMPT_NONE;
	return browse_refresh(b);
}

/* Handles a key that does the same on every page. Returns false if @key isn't such a key. */
static bool common_key(struct browse *b, int key, enum browse_do *ret)
{
	switch (key) {
	case 'q':
		*ret = DO_QUIT;
		return true;
	case 'p':
	case ' ':
		b->paused = !b->paused;
		*ret = DO_PAUSE;
		return true;
	case 'r':
		*ret = DO_RESET;
		return true;
	case '+':
		*ret = DO_FASTER;
		return true;
	case '-':
		*ret = DO_SLOWER;
		return true;
	case 'w':
		ask(b, PROMPT_SCREEN, "krait-top.txt");
		return true;
	case 'W':
		ask(b, PROMPT_PROFILE, "krait-top");
		str_add(&b->input, render_formats[0].extensions[0]);
		return true;
	case '?':
	case 'h':
		b->before_help = b->page;
		b->page = PAGE_HELP;
		return true;
	}
	return false;
}

int browse_key(struct browse *b, int key, enum browse_do *ret)
{
	*ret = DO_NOTHING;
	*b->message = '\0';
	if (b->prompt)
		return prompt_key(b, key, ret);
	if (b->page == PAGE_HELP) {
		b->page = b->before_help;
		return 0;
	}
	if (common_key(b, key, ret))
		return 0;
	switch (key) {
	case 'n':
		return toggle_kind(b, KIND_NATIVE, KIND_JIT);
	case 'K':
		return toggle_kind(b, KIND_KERNEL, KIND_KERNEL);
	case 'e':
		return next_event(b);
	case '/':
		tree_close(b);
		ask(b, PROMPT_FILTER, b->shown->filter);
		return 0;
	case 'c':
		*b->shown->filter = '\0';
		return browse_refresh(b);
	}
	if (b->page == PAGE_TREE)
		return tree_key(b, key);
	if (b->page == PAGE_FLAME)
		return flame_key(b, key);
	return table_key(b, key);
}
