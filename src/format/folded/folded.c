/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes folded stacks, "root;...;leaf COUNT\n", which flamegraph.pl, speedscope and most viewers
 * read. The last space of a line separates the count, so names may have spaces. In names, `;` and
 * whatever a reader could take for a line break are replaced. No line begins with `#`. Lines are
 * sorted by frame. Each stack has one line: stacks whose frames have the same texts are one stack,
 * even if they differ in columns or addresses.
 */
#include "format/common/writers.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/json.h"
#include "format/folded/folded_in.h"
#include "profile/mark.h"
#include "view/names/names.h"
#include "view/names/rank.h"
#include "view/shape/roots.h"
#include "view/shape/tree.h"

/*
 * Returns the length in bytes of the character at the beginning of @s, if it is beyond ASCII and a
 * reader could take it for a line break, or a terminal for a command; else 0. Such characters are
 * C1 controls (some terminals obey them, and U+0085 ends a line), and the line and paragraph
 * separators, at which Python's splitlines() splits too.
 */
static size_t unicode_control(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;

	if (u[0] == 0xc2 && u[1] >= 0x80 && u[1] <= 0x9f)
		return 2;
	return !strncmp(s, "\xe2\x80\xa8", 3) || !strncmp(s, "\xe2\x80\xa9", 3) ? 3 : 0;
}

/*
 * Appends @s as the text of one frame. Characters that would end the frame or the line are
 * replaced. Valid UTF-8 stays valid.
 */
static void add_clean(struct str *b, const char *s)
{
	while (*s) {
		unsigned char c = *s;
		size_t n = unicode_control(s);

		if (n || c < ' ' || c == 0x7f)
			str_add_c(b, ' ');
		else
			str_add_c(b, c == ';' ? ':' : *s);
		s += n ? n : 1;
	}
}

/*
 * The suffixes that --annotate adds. flamegraph.pl colours frames by those that
 * stackcollapse-perf.pl writes: _[k] kernel, _[j] code made at run time, _[i] inlined. Only krait
 * writes _[n] and _[g].
 */
static const char *annotation(const struct profile *p, uint32_t location)
{
	static const char *const by_kind[KIND_MAX] = {[KIND_NATIVE] = "_[n]",
						      [KIND_KERNEL] = "_[k]",
						      [KIND_JIT] = "_[j]",
						      [KIND_GC] = "_[g]"};
	const struct profile_location *l = profile_get_location(p, location);
	const char *kind = by_kind[profile_get_mapping(p, l->mapping)->kind];

	return l->outer ? "_[i]" : kind ? kind : "";
}

struct folded {
	const struct render_options *opt;
	unsigned digits; /* how many decimal places the values of the file have */
	/*
	 * ranks of the texts of frames: text 0 is that of MARK_NO_STACK, text i is that of location
	 * i
	 */
	struct rank frames;
	struct roots roots;
	struct tree tree;
};

static int rank_frames(struct folded *f, struct profile *p)
{
	struct render_names *names = render_names_new(p);
	_cleanup_str_ struct str raw = {}, clean = {};
	int r = names ? rank_add(&f->frames, mark_text(MARK_NO_STACK)) : -ENOMEM;

	for (uint32_t id = 1; !r && id <= profile_n_locations(p); id++) {
		str_clear(&raw);
		str_clear(&clean);
		render_names_frame(names, id, &raw);
		add_clean(&clean, str_cstr(&raw));
		if (f->opt->annotate)
			str_add(&clean, annotation(p, id));
		r = raw.failed || clean.failed ? -ENOMEM : rank_add(&f->frames, str_cstr(&clean));
	}
	render_names_free(names);
	if (!r)
		r = rank_finish(&f->frames);
	return r ? err_set(r, "out of memory") : 0;
}

static const char *text(const struct folded *f, const struct tree_node *n)
{
	if (n->key & TREE_ROOT)
		return rank_text(&f->roots.texts, n->key & ~TREE_ROOT);
	return rank_text(&f->frames, n->key);
}

/*
 * Compares two nodes with the same caller by their ranks. The ranks of root frames can't be
 * compared with those of other frames. That matters little, because both have the same caller only
 * where a stack has no frames.
 */
static int compare(const void *arg, const struct tree_node *a, const struct tree_node *b)
{
	return a->key < b->key ? -1 : a->key > b->key;
}

/*
 * Tells whether every line that is to be written ends with two numbers. If so, a reader would take
 * both for counts.
 */
static bool has_two_numbers(const struct folded *f)
{
	size_t lines = 0;

	vec_foreach(n, &f->tree.nodes) {
		const char *frame, *last;

		if (!n->self || n == f->tree.nodes.v)
			continue;
		frame = text(f, n);
		last = strrchr(frame, ' ');
		if (!last || !last[1] || last[1 + strspn(last + 1, "-.+eE0123456789")])
			return false;
		lines++;
	}
	return lines;
}

struct visit {
	uint32_t node;
	size_t prefix; /* length of the text of the line before the frame of this node */
};

/*
 * Writes the lines of the whole tree, depth first. The nodes that are still to be visited are in a
 * vector, because stacks may be too deep for recursion in C.
 */
static int write_lines(struct folded *f, FILE *out)
{
	VEC(struct visit) todo = {};
	_cleanup_str_ struct str line = {};
	int r = vec_push(&todo, (struct visit){});

	while (!r && todo.n) {
		struct visit v = todo.v[--todo.n];
		const struct tree_node *n = &f->tree.nodes.v[v.node];

		line.n = v.prefix;
		if (v.node) {
			const char *frame = text(f, n);

			/*
			 * If the first frame begins with '#', a blank is written before it.
			 * Otherwise readers would take the line for a comment.
			 */
			if (line.n || *frame == '#')
				str_add_c(&line, line.n ? ';' : ' ');
			add_clean(&line, frame);
		}
		if (n->self && line.n) {
			fprintf(out, "%s ", line.s);
			json_put_decimal(out, n->self, f->digits);
			fputc('\n', out);
		}
		for (uint32_t i = n->n_children; !r && i--;)
			r = vec_push(&todo, (struct visit){f->tree.order[n->first + i], line.n});
		if (line.failed)
			r = -ENOMEM;
	}
	vec_fini(&todo);
	return r ? err_set(r, "out of memory") : 0;
}

static int write_folded(struct folded *f, struct profile *p, FILE *out)
{
	_cleanup_free_ struct profile_sum *sums = NULL;
	struct tree_plan plan = {.p = p, .roots = &f->roots, .compare = compare};
	int r = f->opt->value ? tree_value(p, f->opt->value) : 0;

	if (r < 0)
		return r;
	plan.value = r;
	f->digits = profile_fraction_digits(profile_meta(p)->values[r].unit);
	r = profile_sums(p, &sums, &plan.n_sums);
	if (r)
		return r;
	plan.sums = sums;
	r = roots_init(&f->roots, p, sums, plan.n_sums, f->opt->by);
	if (!r)
		r = rank_frames(f, p);
	if (r)
		return r;
	plan.key_of_location = f->frames.of;
	plan.no_frames = f->frames.of[0];
	r = tree_build(&f->tree, &plan);
	if (!r && has_two_numbers(f))
		fputs(FOLDED_ONE_COUNT "\n", out);
	return r ? r : write_lines(f, out);
}

int folded_write(struct profile *p, FILE *out, const struct render_options *opt)
{
	struct folded f = {.opt = opt};
	int r = write_folded(&f, p, out);

	rank_fini(&f.frames);
	roots_fini(&f.roots);
	tree_fini(&f.tree);
	if (!r && (fflush(out) || ferror(out)))
		r = err_sys(errno ? -errno : -EIO, "can't write the folded stacks");
	return r;
}
