/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows callers or callees of the opened row as a tree; see browse.h. */
#include "live/browse/browse.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "live/terminal.h"

/*
 * nodes with at least this percentage of the row's time are open, unless the user has closed them
 */
#define OPEN_PERCENT 5

enum { BY_HAND_OPEN = 1, BY_HAND_CLOSED };

void tree_close(struct browse *b)
{
	calltree_fini(&b->tree);
	map_clear(&b->toggled);
	free(b->opened);
	b->opened = NULL;
	b->lines.n = b->tree_at = b->tree_from = 0;
	b->zoom = b->chosen = 0;
	if (b->page == PAGE_TREE || b->page == PAGE_FLAME)
		b->page = PAGE_TABLE;
}

static int build(struct browse *b)
{
	int r = calltree_build(&b->tree);

	map_clear(&b->toggled);
	b->tree_at = b->tree_from = 0;
	b->zoom = b->chosen = 0;
	return r ? r : tree_refresh(b);
}

int tree_open(struct browse *b, enum page page)
{
	struct table *v = b->shown;
	const struct live_row *row = &v->live->rows.v[v->rows.v[b->at]];
	enum live_table table = v->live->table;
	struct str name = {};

	tree_close(b);
	b->tree = (struct calltree){.live = v->live,
				    .table = table < LIVE_THREADS ? table : LIVE_FUNCTIONS,
				    .key = row->key,
				    .only = v->live->only};
	map_init(&b->tree.children);
	b->tree.callers = b->invert;
	if (table >= LIVE_THREADS) {
		b->tree.everything = true;
		b->tree.only = table_only(v, row);
	} else if (page == PAGE_TREE) {
		b->tree.callers = true;
	}
	table_name(v, row, &name);
	b->opened = str_take(&name);
	if (!b->opened)
		return err_set(-ENOMEM, "out of memory");
	b->page = page;
	return build(b);
}

static bool is_open(const struct browse *b, uint32_t node)
{
	const uint64_t *by_hand = map_get(&b->toggled, node);
	const struct calltree_node *n = b->tree.nodes.v;

	if (by_hand)
		return *by_hand == BY_HAND_OPEN;
	return n[node].since > 0 && n[node].since >= n[0].since / (100 / OPEN_PERCENT);
}

/*
 * A node that is still to be listed. Of the list `todo`, the node that was added last is listed
 * first.
 */
struct todo {
	uint32_t node;
	uint16_t indent;
	bool only;
};

/*
 * Lists those nodes of the tree that are visible, depth first. An only child isn't indented further
 * than its parent, because stacks are deeper than screens are wide.
 */
static int list(struct browse *b)
{
	VEC(struct todo) todo = {};
	calltree_list children = {};
	int r = vec_push(&todo, (struct todo){});

	b->lines.n = 0;
	while (!r && todo.n) {
		struct todo t = todo.v[--todo.n];
		struct tree_line line = {t.node, t.indent, b->tree.nodes.v[t.node].first != 0,
					 t.node == 0 || is_open(b, t.node), t.only};

		if (t.node)
			r = vec_push(&b->lines, line);
		if (r || !line.has_children || !line.open)
			continue;
		r = calltree_children(&b->tree, t.node, false, &children);
		for (size_t i = children.n; !r && i--;)
			r = vec_push(&todo, (struct todo){children.v[i],
							  t.indent + (t.node && children.n > 1),
							  t.node && children.n == 1});
	}
	vec_fini(&todo);
	vec_fini(&children);
	return r ? err_set(-ENOMEM, "out of memory for the tree") : 0;
}

int tree_refresh(struct browse *b)
{
	uint32_t chosen = b->tree_at < b->lines.n ? b->lines.v[b->tree_at].node : 0;
	int r = calltree_tick(&b->tree);

	r = r ? r : list(b);
	for (size_t i = 0; chosen && i < b->lines.n; i++)
		if (b->lines.v[i].node == chosen)
			b->tree_at = i;
	b->tree_at = MIN(b->tree_at, b->lines.n ? b->lines.n - 1 : 0);
	return r;
}

static int toggle(struct browse *b, int how)
{
	const struct tree_line *l;
	bool open;

	if (b->tree_at >= b->lines.n)
		return 0;
	l = &b->lines.v[b->tree_at];
	open = how ? how == BY_HAND_OPEN : !l->open;
	if (map_put(&b->toggled, l->node, open ? BY_HAND_OPEN : BY_HAND_CLOSED))
		return err_set(-ENOMEM, "out of memory for the tree");
	return tree_refresh(b);
}

static void tree_move(struct browse *b, long step)
{
	long last = (long)b->lines.n - 1, at = (long)b->tree_at + step;

	b->tree_at = (size_t)(at < 0 || last < 0 ? 0 : MIN(at, last));
}

int tree_key(struct browse *b, int key)
{
	long page = b->page_rows > 1 ? b->page_rows - 1 : 1;

	switch (key) {
	case KEY_ESCAPE:
	case KEY_BACKSPACE:
		tree_close(b);
		return 0;
	case KEY_ENTER:
		return toggle(b, 0);
	case KEY_RIGHT:
		return toggle(b, BY_HAND_OPEN);
	case KEY_LEFT:
		return toggle(b, BY_HAND_CLOSED);
	case KEY_TAB:
		b->tree.callers = !b->tree.callers;
		return build(b);
	case 'f':
		b->page = PAGE_FLAME;
		return 0;
	case KEY_UP:
	case 'k':
		tree_move(b, -1);
		return 0;
	case KEY_DOWN:
	case 'j':
		tree_move(b, 1);
		return 0;
	case KEY_PAGE_UP:
		tree_move(b, -page);
		return 0;
	case KEY_PAGE_DOWN:
		tree_move(b, page);
		return 0;
	case KEY_HOME:
		b->tree_at = 0;
		return 0;
	case KEY_END:
		tree_move(b, (long)b->lines.n);
		return 0;
	}
	return 0;
}

static void draw_share(struct screen *s, double part, double all)
{
	char text[16] = "0.0";

	if (all > 0)
		snprintf(text, sizeof(text), "%.1f", 100 * part / all);
	screen_put_right(s, STYLE_PLAIN, text, 7);
}

static void draw_line(struct browse *b, struct screen *s, const struct tree_line *l, bool chosen)
{
	const struct calltree_node *n = &b->tree.nodes.v[l->node];
	const struct live *live = b->shown->live;
	_cleanup_str_ struct str name = {}, time = {};

	if (chosen)
		screen_put(s, STYLE_SELECTED, "", 0);
	draw_share(s, calltree_last(&b->tree, l->node), live->all[LIVE_RECENT].value);
	draw_share(s, n->since, live->all[LIVE_SINCE].value);
	table_number(b->shown, UNIT_VALUE, n->since, &time);
	screen_put_right(s, STYLE_PLAIN, str_cstr(&time), 9);
	screen_pad(s, STYLE_PLAIN, 24 + MIN(l->indent, s->cols / 3));
	screen_put(s, STYLE_DIM, l->only ? "└" : " ", -1);
	screen_put(s, STYLE_DIM, !l->has_children ? "  " : l->open ? "- " : "+ ", 2);
	table_location_name(b->shown, b->tree.table, n->location, &name);
	screen_put_frame(s, draw_style(b->shown->p, n->location), str_cstr(&name), -1);
	screen_pad(s, STYLE_PLAIN, s->cols);
}

void tree_draw(struct browse *b, struct screen *s, int top, int bottom)
{
	size_t rows = bottom > top + 1 ? bottom - top - 1 : 0;

	screen_at(s, top);
	screen_put(s, STYLE_HEAD, "  LAST%   ALL%     TIME  ", -1);
	screen_put(s, STYLE_HEAD,
		   b->tree.everything ? "CALLED FROM THE START OF"
		   : b->tree.callers  ? "CALLERS OF"
				      : "CALLEES OF",
		   -1);
	screen_put(s, STYLE_HEAD, " ", -1);
	screen_put(s, STYLE_HEAD, b->opened, -1);
	screen_pad(s, STYLE_HEAD, s->cols);
	b->page_rows = (int)rows;
	if (b->tree_at < b->tree_from)
		b->tree_from = b->tree_at;
	if (rows && b->tree_at >= b->tree_from + rows)
		b->tree_from = b->tree_at - rows + 1;
	for (size_t i = 0; i < rows && b->tree_from + i < b->lines.n; i++) {
		screen_at(s, top + 1 + (int)i);
		draw_line(b, s, &b->lines.v[b->tree_from + i], b->tree_from + i == b->tree_at);
	}
	if (!b->lines.n) {
		screen_at(s, top + 1);
		screen_put(s, STYLE_DIM,
			   b->tree.callers ? "  nothing calls this code: the thread begins in it"
					   : "  this code calls nothing that was seen",
			   -1);
	}
}
