/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws the opened row as a flame graph. The root is on top, and each level takes one line of the
 * screen. See browse.h.
 */
#include "live/browse/browse.h"

#include "base/error.h"
#include "live/terminal.h"

static const struct flame_box *box_of(const struct browse *b, uint32_t node)
{
	vec_foreach(box, &b->boxes)
		if (box->node == node)
			return box;
	return NULL;
}

/* Chooses the box to the right (@step 1) or to the left (-1) on the same level. */
static void choose_beside(struct browse *b, int step)
{
	const struct flame_box *at = box_of(b, b->chosen), *best = NULL;

	vec_foreach(box, &b->boxes) {
		if (!at || box->y != at->y || (box->from - at->from) * step <= 0)
			continue;
		if (!best || (best->from - box->from) * step > 0)
			best = box;
	}
	if (best)
		b->chosen = best->node;
}

static void choose_widest_child(struct browse *b)
{
	const struct calltree_node *n = b->tree.nodes.v;
	uint32_t best = 0;

	for (uint32_t i = n[b->chosen].first; i; i = n[i].next)
		if (!best || n[i].since > n[best].since)
			best = i;
	if (best && box_of(b, best))
		b->chosen = best;
}

static int turn(struct browse *b)
{
	b->tree.callers = !b->tree.callers;
	b->zoom = b->chosen = 0;
	map_clear(&b->toggled);
	return calltree_build(&b->tree);
}

int flame_key(struct browse *b, int key)
{
	switch (key) {
	case KEY_ESCAPE:
		tree_close(b);
		return 0;
	case KEY_BACKSPACE:
		if (!b->zoom)
			tree_close(b);
		else
			b->zoom = b->tree.nodes.v[b->zoom].parent;
		return 0;
	case KEY_ENTER:
		b->zoom = b->chosen;
		return 0;
	case 'f':
		b->page = PAGE_TREE;
		return tree_refresh(b);
	case KEY_TAB:
		return turn(b);
	case KEY_HOME:
	case '0':
		b->zoom = b->chosen = 0;
		return 0;
	case KEY_UP:
	case 'k':
		if (b->chosen != b->zoom)
			b->chosen = b->tree.nodes.v[b->chosen].parent;
		return 0;
	case KEY_DOWN:
	case 'j':
		choose_widest_child(b);
		return 0;
	case KEY_LEFT:
		choose_beside(b, -1);
		return 0;
	case KEY_RIGHT:
		choose_beside(b, 1);
		return 0;
	}
	return 0;
}

/* Appends a box for each child of box @i that would be at least a column wide. */
static int add_children(struct browse *b, size_t i, calltree_list *children)
{
	struct flame_box up = b->boxes.v[i];
	const struct calltree_node *n = b->tree.nodes.v;
	double x = up.from,
	       scale = n[up.node].since > 0 ? (double)(up.to - up.from) / n[up.node].since : 0;
	int r = calltree_children(&b->tree, up.node, true, children);

	for (size_t c = 0; !r && c < children->n; c++) {
		double end = x + n[children->v[c]].since * scale;
		struct flame_box box = {children->v[c], up.y + 1, (int)(x + .5), (int)(end + .5)};

		if (box.to > box.from)
			r = vec_push(&b->boxes, box);
		x = end;
	}
	return r;
}

static int lay_out(struct browse *b, int cols, int rows)
{
	calltree_list children = {};
	int r;

	b->boxes.n = 0;
	r = vec_push(&b->boxes, (struct flame_box){b->zoom, 0, 0, cols});
	for (size_t i = 0; !r && i < b->boxes.n; i++)
		if (b->boxes.v[i].y + 1 < rows)
			r = add_children(b, i, &children);
	vec_fini(&children);
	return r ? err_set(-ENOMEM, "out of memory for the flame graph") : 0;
}

static void node_name(struct browse *b, uint32_t node, struct str *ret)
{
	if (node)
		table_location_name(b->shown, b->tree.table, b->tree.nodes.v[node].location, ret);
	else
		str_add(ret, b->opened);
}

static void draw_box(struct browse *b, struct screen *s, const struct flame_box *box, int top,
		     bool odd)
{
	enum style style = box->node == b->chosen ? STYLE_BOLD : odd ? STYLE_BOX : STYLE_BOX2;
	_cleanup_str_ struct str name = {};
	int width = box->to - box->from;

	screen_at(s, top + box->y);
	screen_pad(s, STYLE_PLAIN, box->from);
	/* Each box begins with a bar, so that boxes can be told apart even without colours. */
	screen_put(s, style, box->node == b->chosen ? ">" : "|", 1);
	node_name(b, box->node, &name);
	screen_put(s, style, str_cstr(&name), width - 1);
	screen_pad(s, style, box->to);
}

static void draw_chosen(struct browse *b, struct screen *s, int y)
{
	const struct calltree_node *n = &b->tree.nodes.v[b->chosen];
	int64_t all = b->shown->live->all[LIVE_SINCE].value;
	_cleanup_str_ struct str text = {};

	str_addf(&text, "%.1f %% ", all > 0 ? 100.0 * n->since / all : 0);
	table_number(b->shown, UNIT_VALUE, n->since, &text);
	str_add(&text, "  ");
	screen_at(s, y);
	screen_put(s, STYLE_BOLD, str_cstr(&text), -1);
	str_clear(&text);
	node_name(b, b->chosen, &text);
	screen_put_frame(s, STYLE_BOLD, str_cstr(&text), -1);
}

int flame_draw(struct browse *b, struct screen *s, int top, int bottom)
{
	bool odd = false;
	int y = 0, r = lay_out(b, s->cols, bottom - top - 1);

	if (r)
		return r;
	if (!box_of(b, b->chosen))
		b->chosen = b->zoom;
	draw_chosen(b, s, top);
	/* Boxes are sorted by level, and within a level from left to right. */
	vec_foreach(box, &b->boxes) {
		odd = box->y == y ? !odd : box->y % 2;
		y = box->y;
		draw_box(b, s, box, top + 1, odd);
	}
	return 0;
}
