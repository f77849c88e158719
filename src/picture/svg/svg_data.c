/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the numbers that the boxes are drawn from, for svg_model.js, as JSON in an element of its
 * own. Entry i of each array belongs to the i-th box of the picture. The script computes with these
 * numbers, because coordinates are rounded.
 */
#include "picture/svg/svg.h"

#include "picture/markup.h"

/* Appends what kind of code a function is: "native", "native, C++". */
static void add_kind(const struct function *f, struct str *b)
{
	_cleanup_str_ struct str kind = {};

	str_addf(&kind, "%s%s%s", function_kind_name(f), *f->language ? ", " : "", f->language);
	markup_add_json(b, str_cstr(&kind));
}

static void add_function(const struct function *f, struct str *b)
{
	str_add_c(b, '[');
	markup_add_json(b, f->name);
	str_add_c(b, ',');
	markup_add_json(b, f->file);
	str_add_c(b, ',');
	markup_add_json(b, f->path);
	str_add_c(b, ',');
	markup_add_json(b, f->module);
	str_add_c(b, ',');
	add_kind(f, b);
	str_addf(b, ",%d]", f->kind == KIND_PYTHON && !f->root);
}

/*
 * Writes [line, value, line, value, ...] for each box. The tree has lines in the order of nodes,
 * which isn't that of boxes.
 */
static void add_lines(const struct svg *s, const uint32_t *first, FILE *out)
{
	vec_foreach(box, &s->boxes) {
		const char *comma = "";

		fputs(box == s->boxes.v ? "[" : ",[", out);
		for (size_t i = first[box->node]; i < first[box->node + 1]; i++) {
			fprintf(out, "%s%d,%lld", comma, s->tree.lines.v[i].line,
				(long long)s->tree.lines.v[i].value);
			comma = ",";
		}
		fputc(']', out);
	}
}

/*
 * Returns an array with the index of each node's first line. One more entry, at the end, has the
 * number of lines. NULL: out of memory.
 */
static uint32_t *index_lines(const struct tree *t)
{
	uint32_t *first = calloc(t->nodes.n + 1, sizeof(*first));

	if (!first)
		return NULL;
	vec_foreach(line, &t->lines)
		first[line->node + 1]++;
	for (size_t i = 1; i <= t->nodes.n; i++)
		first[i] += first[i - 1];
	return first;
}

#define PUT_ARRAY(name, expression)                                                                \
	do {                                                                                       \
		fputs(",\n\"" name "\":[", out);                                                   \
		vec_foreach(box, &s->boxes) {                                                      \
			const struct tree_node *n = &s->tree.nodes.v[box->node];                   \
			(void)n;                                                                   \
			fprintf(out, "%s%lld", box == s->boxes.v ? "" : ",",                       \
				(long long)(expression));                                          \
		}                                                                                  \
		fputc(']', out);                                                                   \
	} while (0)

int svg_put_data(const struct svg *s, FILE *out)
{
	_cleanup_free_ uint32_t *first = index_lines(&s->tree);
	_cleanup_str_ struct str b = {};

	if (!first)
		return -ENOMEM;
	str_add(&b, "<metadata id=\"krait-boxes\">{\"unit\":");
	markup_add_json(&b, profile_meta(s->p)->values[s->value].unit);
	str_add(&b, ",\"type\":");
	markup_add_json(&b, profile_meta(s->p)->values[s->value].type);
	str_add(&b, ",\"counted\":");
	markup_add_json(&b, s->value ? svg_counted(s) : "");
	str_addf(&b, ",\"sharesOf\":%lld,\"notDrawn\":%u,\"functions\":[", (long long)s->shares_of,
		 s->not_drawn);
	vec_foreach(f, &s->functions) {
		str_add(&b, f == s->functions.v ? "\n" : ",\n");
		add_function(f, &b);
	}
	str_add(&b, "]");
	if (b.failed)
		return -ENOMEM;
	fputs(b.s, out);
	PUT_ARRAY("function", box->function);
	PUT_ARRAY("depth", n->depth);
	PUT_ARRAY("start", box->start);
	PUT_ARRAY("value", n->value);
	PUT_ARRAY("self", n->self);
	PUT_ARRAY("samples", n->samples);
	fputs(",\n\"lines\":[", out);
	add_lines(s, first, out);
	fputs("]}</metadata>\n", out);
	return 0;
}
