/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the report's tree of the call paths that cost most. */
#include <math.h>
#include "base/error.h"
#include "cli/cells.h"
#include "cli/report/print.h"
#include "view/shape/tree.h"
#include "view/view.h"

#define TREE_ROWS  60
#define TREE_LEAST 0.01 /* a path isn't shown if it has a smaller part of the whole */

/* at least this many library frames, each the only call of the frame before it, become one row */
#define FOLDED_LEAST 3
#define FOLDED_SHARE 0.95
/* the row that stands for several library frames names at most this many packages */
#define PACKAGES 3

static int by_value(const void *arg, const struct tree_node *a, const struct tree_node *b)
{
	double va = fabs((double)a->value), vb = fabs((double)b->value);

	if (va != vb)
		return va > vb ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

struct visit {
	uint32_t node;
	int indent;
	bool only; /* the row above calls nothing else that has a row */
};

/*
 * Stands before a row that is the only call of the row above it. If a caller makes several calls,
 * these are indented alike, without a mark.
 */
static const char only_call[] = "└ ";

static void print_row(struct report_printer *p, int64_t value, struct visit v, const char *text,
		      bool keeps_end)
{
	const char *mark = v.only ? only_call : "";
	int indent = MIN(v.indent, p->style->width / 3);

	if (p->md) {
		str_addf(&p->row, "%5.1f %% %*s%s", report_percent(p->f, value), v.indent, "",
			 mark);
		cells_add(&p->row, text, INT32_MAX, false, false);
	} else {
		report_add_percent(p->f, p->style, value, &p->row);
		str_addf(&p->row, "   %*s%s", indent, "", mark);
		cells_add(&p->row, text, p->style->width - 11 - indent - (v.only ? 2 : 0),
			  keeps_end, false);
	}
	report_end_row(p);
}

static void print_node(struct report_printer *p, const struct tree *t, const struct roots *roots,
		       struct visit v)
{
	const struct tree_node *n = &t->nodes.v[v.node];
	_cleanup_str_ struct str name = {};
	uint32_t location = 0;

	if (n->key & TREE_ROOT) {
		str_add(&name, rank_text(&roots->texts, n->key & ~TREE_ROOT));
	} else {
		location = p->f->costs.keys.first[n->key];
		costs_name(&p->f->costs, location, &name);
	}
	print_row(p, n->value, v, str_cstr(&name), report_keeps_end(p, location));
}

/*
 * Returns how many children of a node get rows: the first ones, because children are sorted by
 * size, the largest first.
 */
static uint32_t shown_children(const struct report_printer *p, const struct tree *t, uint32_t node)
{
	const struct tree_node *n = &t->nodes.v[node];
	uint32_t i = 0;

	while (i < n->n_children && fabs((double)t->nodes.v[t->order[n->first + i]].value) >=
					    TREE_LEAST * (double)costs_whole(&p->f->costs))
		i++;
	return i;
}

static uint32_t child(const struct tree *t, uint32_t node)
{
	return t->order[t->nodes.v[node].first];
}

/* Returns the location of the node's frame if it is a library's frame; else 0. */
static uint32_t library_frame(const struct report_printer *p, const struct tree *t, uint32_t node)
{
	const struct costs *c = &p->f->costs;
	uint32_t key = t->nodes.v[node].key, location = key & TREE_ROOT ? 0 : c->keys.first[key];

	return location && costs_kind(c, location) != KIND_MARK && !costs_is_own(c, location)
		       ? location
		       : 0;
}

/* Tells whether the node makes a single call, which has nearly all of its time. */
static bool passes_on(const struct report_printer *p, const struct tree *t, uint32_t node)
{
	return shown_children(p, t, node) == 1 &&
	       fabs((double)t->nodes.v[child(t, node)].value) >=
		       FOLDED_SHARE * fabs((double)t->nodes.v[node].value);
}

/*
 * Counts the library frames from @node on, as long as each makes a single call that has nearly all
 * of its time. *@end: the node after them.
 */
static unsigned count_folded(const struct report_printer *p, const struct tree *t, uint32_t node,
			     uint32_t *end)
{
	unsigned n = 0;

	for (*end = node; library_frame(p, t, *end) && passes_on(p, t, *end); n++)
		*end = child(t, *end);
	return n;
}

/* Appends the name of the package or library to which a frame belongs: "django", "libz.so.1". */
static void add_package(const struct report_printer *p, uint32_t location, struct str *b)
{
	bool python = costs_is_python(&p->f->costs, location);
	_cleanup_str_ struct str module = {};

	view_module(p->f->p, p->f->costs.names, location, &module);
	str_add_n(b, str_cstr(&module), python ? strcspn(str_cstr(&module), ".") : module.n);
}

/* Tells whether @name is in the list @text, in which blanks and commas separate names. */
static bool is_listed(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = text; (at = strstr(at, name)); at += n)
		if (at > text && at[-1] == ' ' && (!at[n] || at[n] == ','))
			return true;
	return false;
}

/*
 * Prints one row for the @n frames before node @end. It names the first packages among them: "[78
 * frames: pytest, pluggy]".
 */
static void print_folded(struct report_printer *p, const struct tree *t, struct visit v, unsigned n,
			 uint32_t end)
{
	_cleanup_str_ struct str text = {}, package = {};
	unsigned packages = 0;

	str_addf(&text, "[%u frames: ", n);
	for (uint32_t at = v.node; at != end && packages <= PACKAGES; at = child(t, at)) {
		str_clear(&package);
		add_package(p, library_frame(p, t, at), &package);
		if (!package.n || is_listed(str_cstr(&text), str_cstr(&package)))
			continue;
		str_addf(&text, "%s%s", packages ? ", " : "",
			 packages < PACKAGES ? str_cstr(&package) : "...");
		packages++;
	}
	str_add(&text, "]");
	print_row(p, t->nodes.v[v.node].value, v, str_cstr(&text), false);
}

/*
 * Prints the nodes of the tree, depth first. A node's only call isn't indented further, because
 * stacks are deeper than terminals are wide.
 */
static int print_nodes(struct report_printer *p, const struct tree *t, const struct roots *roots)
{
	VEC(struct visit) todo = {};
	unsigned rows = 0;
	uint32_t end = 0;
	int r = vec_push(&todo, (struct visit){});

	while (!r && todo.n && rows < TREE_ROWS) {
		struct visit v = todo.v[--todo.n];
		uint32_t shown = shown_children(p, t, v.node);
		const struct tree_node *n = &t->nodes.v[v.node];

		unsigned folded = v.node ? count_folded(p, t, v.node, &end) : 0;

		if (folded >= FOLDED_LEAST) {
			print_folded(p, t, v, folded, end);
			rows++;
			r = vec_push(&todo, (struct visit){end, v.indent, true});
			continue;
		}
		if (v.node) {
			print_node(p, t, roots, v);
			rows++;
		}
		for (uint32_t i = shown; !r && i--;)
			r = vec_push(&todo, (struct visit){t->order[n->first + i],
							   v.indent + (v.node && shown > 1),
							   v.node && shown == 1});
	}
	if (todo.n)
		fprintf(p->out, "           ... and smaller ones\n");
	vec_fini(&todo);
	return r ? err_set(r, "out of memory") : 0;
}

int report_print_tree(struct report_printer *p)
{
	const struct report_facts *f = p->f;
	struct roots roots;
	struct tree tree;
	struct tree_plan plan = {.p = f->p,
				 .sums = f->sums,
				 .n_sums = f->n_sums,
				 .roots = &roots,
				 .key_of_location = f->costs.keys.of,
				 .no_frames = f->costs.keys.of[0],
				 .value = f->value,
				 .compare = by_value};
	int r = roots_init(&roots, f->p, f->sums, f->n_sums, p->style->by);

	if (r)
		return r;
	r = tree_build(&tree, &plan);
	if (!r) {
		fputs(p->md ? "\n```\n" : "\n  total    path (└: the only call of the row above)\n",
		      p->out);
		r = print_nodes(p, &tree, &roots);
		fputs(p->md ? "```\n" : "", p->out);
		tree_fini(&tree);
	}
	roots_fini(&roots);
	return r;
}
