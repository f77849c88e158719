/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a file that Python's pstats and its tools read: a dict {(file, line, name): (calls, calls,
 * own seconds, seconds, {caller: (calls, calls, own seconds, seconds)})}. The dict is encoded in
 * version 2 of the marshal module, which every Python from 2.5 on reads (CPython,
 * Python/marshal.c). It has Python functions only: native code counts for the function that called
 * it, as in cProfile. krait doesn't count calls, so the file has the number of samples in place of
 * calls. After the dict, where marshal.load() stops, the file has the recording, which krait reads.
 */
#include "format/common/writers.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "format/common/embedded.h"
#include "format/common/spool.h"
#include "format/pprof/pprof.h"
#include "profile/mark.h"
#include "view/shape/frames.h"
#include "view/shape/tree.h"

#define NO_MEMORY err_set(-ENOMEM, "out of memory for the functions")

struct cost {
	int64_t samples, own, all;
	/*
	 * number of the last stack that was counted for this entry, so that no stack counts twice
	 */
	size_t seen;
};

struct edge {
	uint32_t caller, callee;
	struct cost cost;
};

struct pstats {
	struct profile *p;
	FILE *out;
	struct frames frames;
	/*
	 * by number of a function: its cost; the last entry is for stacks without a Python function
	 */
	struct cost *costs;
	VEC(struct edge) edges;
	/*
	 * from caller << 32 | callee to the index of the edge (the calls of the callee by the
	 * caller)
	 */
	struct map edge_at;
	unsigned value;
	/*
	 * index of the value that counts the samples of .value; -1: the profile has no such value
	 */
	int samples;
	/* how many of the profile's samples were added, if no value counts samples */
	size_t entries;
	double unit; /* how many seconds a unit of the value is */
};

static void put_u32(FILE *out, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++, v >>= 8)
		fputc(v & 0xff, out);
}

static void put_text(FILE *out, const char *s)
{
	size_t n = strlen(s);

	fputc('u', out);
	put_u32(out, (uint32_t)n);
	fwrite(s, 1, n, out);
}

/* Writes a number. marshal has numbers of more than 31 bits as digits of 15 bits. */
static void put_number(FILE *out, int64_t v)
{
	uint32_t n = 0;

	v = MAX(v, (int64_t)0);
	if (v <= INT32_MAX) {
		fputc('i', out);
		put_u32(out, (uint32_t)v);
		return;
	}
	for (int64_t rest = v; rest; rest >>= 15)
		n++;
	fputc('l', out);
	put_u32(out, n);
	for (; v; v >>= 15) {
		fputc(v & 0xff, out);
		fputc(v >> 8 & 0x7f, out);
	}
}

static void put_double(FILE *out, double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	fputc('g', out);
	put_u32(out, (uint32_t)bits);
	put_u32(out, (uint32_t)(bits >> 32));
}

static void put_tuple(FILE *out, uint32_t n)
{
	fputc('(', out);
	put_u32(out, n);
}

static int put_key(struct pstats *s, uint32_t function)
{
	/* "~" is the name that pstats has for a function's missing file */
	struct frame_text t = {.file = "~"};
	int r = 0;

	if (function < s->frames.keys.n)
		r = frames_text(&s->frames, frames_location(&s->frames, function), &t);
	else
		str_add(&t.name, mark_text(MARK_NO_PYTHON));
	put_tuple(s->out, 3);
	put_text(s->out, t.file);
	put_number(s->out, t.line);
	put_text(s->out, str_cstr(&t.name));
	str_fini(&t.name);
	return r;
}

static void put_cost(struct pstats *s, const struct cost *c)
{
	put_number(s->out, c->samples);
	put_number(s->out, c->samples);
	put_double(s->out, (double)c->own * s->unit);
	put_double(s->out, (double)c->all * s->unit);
}

static int by_callee(const void *va, const void *vb)
{
	const struct edge *a = va, *b = vb;

	if (a->callee != b->callee)
		return a->callee < b->callee ? -1 : 1;
	return a->caller < b->caller ? -1 : a->caller > b->caller;
}

/*
 * Writes a function with its edges (calls of it). Edges are sorted by callee. *at: the index of the
 * first edge of @function; afterwards, that of the first edge of the next function.
 */
static int put_function(struct pstats *s, uint32_t function, size_t *at)
{
	int r = put_key(s, function);

	put_tuple(s->out, 5);
	put_cost(s, &s->costs[function]);
	fputc('{', s->out);
	for (; *at < s->edges.n && s->edges.v[*at].callee == function && !r; ++*at) {
		r = put_key(s, s->edges.v[*at].caller);
		put_tuple(s->out, 4);
		put_cost(s, &s->edges.v[*at].cost);
	}
	fputc('0', s->out);
	return r;
}

static int put_all(struct pstats *s)
{
	size_t at = 0;
	int r = 0;

	if (s->edges.n)
		qsort(s->edges.v, s->edges.n, sizeof(*s->edges.v), by_callee);
	fputc('{', s->out);
	for (uint32_t i = 0; i <= s->frames.keys.n && !r; i++) {
		if (s->costs[i].seen)
			r = put_function(s, i, &at);
	}
	fputc('0', s->out);
	return r;
}

/*
 * Adds a stack's values to @c, unless @c has them already, because a function may be on a stack
 * several times.
 */
static void count(const struct pstats *s, struct cost *c, const struct profile_sum *sum,
		  size_t seen)
{
	if (c->seen == seen)
		return;
	c->seen = seen;
	c->samples += s->samples < 0 ? 1 : sum->values[s->samples];
	c->all += sum->values[s->value];
}

static struct edge *edge(struct pstats *s, uint32_t caller, uint32_t callee)
{
	uint64_t key = (uint64_t)caller << 32 | callee, *found = map_get(&s->edge_at, key);

	if (found)
		return &s->edges.v[*found];
	if (map_put(&s->edge_at, key, s->edges.n) ||
	    vec_push(&s->edges, (struct edge){.caller = caller, .callee = callee}))
		return NULL;
	return &s->edges.v[s->edges.n - 1];
}

static bool is_python(const struct pstats *s, uint32_t location)
{
	const struct profile_location *l = profile_get_location(s->p, location);

	return profile_get_mapping(s->p, l->mapping)->kind == KIND_PYTHON;
}

/*
 * Adds a stack and its values. @seen: a number from 1 on, which differs from those of all other
 * stacks.
 */
static int add_stack(struct pstats *s, const struct profile_sum *sum, size_t seen)
{
	uint32_t none = s->frames.keys.n, caller = none;
	size_t n = 0;
	const uint32_t *stack = sum->stack ? profile_get_stack(s->p, sum->stack, &n) : NULL;
	struct edge *e = NULL;

	for (size_t i = n; i--;) {
		uint32_t function = frames_of(&s->frames, stack[i]);

		if (!is_python(s, stack[i]))
			continue;
		count(s, &s->costs[function], sum, seen);
		if (caller != none) {
			e = edge(s, caller, function);
			if (!e)
				return NO_MEMORY;
			count(s, &e->cost, sum, seen);
		}
		caller = function;
	}
	if (caller == none)
		count(s, &s->costs[none], sum, seen);
	s->costs[caller].own += sum->values[s->value];
	if (e)
		e->cost.own += sum->values[s->value];
	return 0;
}

static int add_sample(void *arg, const struct profile_sample *sample)
{
	struct pstats *s = arg;
	struct profile_sum sum = {sample->stack, sample->labels, sample->values};

	return sum.values[s->value] ? add_stack(s, &sum, ++s->entries) : 0;
}

static int add_all(struct pstats *s)
{
	_cleanup_free_ struct profile_sum *sums = NULL;
	size_t n = 0;
	int r;

	if (s->samples < 0)
		return profile_each(s->p, add_sample, s);
	r = profile_sums(s->p, &sums, &n);
	for (size_t i = 0; i < n && !r; i++) {
		if (sums[i].values[s->value])
			r = add_stack(s, &sums[i], i + 1);
	}
	return r;
}

static void choose_values(struct pstats *s, unsigned value)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"nanoseconds", 1e-9}, {"microseconds", 1e-6}, {"milliseconds", 1e-3}};
	const struct profile_meta *m = profile_meta(s->p);

	s->value = value;
	s->unit = 1;
	s->samples = -1;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (streq(units[i].unit, m->values[value].unit))
			s->unit = units[i].seconds;
	}
	for (unsigned i = m->n_values; i-- && profile_samples_are_of(m, value);) {
		if (streq(m->values[i].unit, "count"))
			s->samples = (int)i;
	}
}

static int write_pstats(struct pstats *s, const struct render_options *opt)
{
	int r = opt->value ? tree_value(s->p, opt->value) : (int)profile_meta(s->p)->default_value;

	if (r < 0)
		return r;
	choose_values(s, (unsigned)r);
	r = frames_init(&s->frames, s->p, true);
	if (r)
		return r;
	s->costs = calloc((size_t)s->frames.keys.n + 1, sizeof(*s->costs));
	r = s->costs ? add_all(s) : NO_MEMORY;
	return r ? r : put_all(s);
}

static int put_recording(struct profile *p, FILE *out, const struct render_options *opt)
{
	FILE *spool = spool_open();
	long n = 0;
	int r;

	if (!spool)
		return -EIO;
	r = pprof_write(p, spool, opt->times);
	if (!r && (n = ftell(spool)) < 0)
		r = err_sys(-errno, "can't write the temporary file");
	r = r ? r : spool_move(spool, out);
	fclose(spool);
	embedded_put_end(out, (uint64_t)n);
	return r;
}

int pstats_write(struct profile *p, FILE *out, const struct render_options *opt)
{
	struct pstats s = {.p = p, .out = out};
	int r;

	map_init(&s.edge_at);
	r = write_pstats(&s, opt);
	free(s.costs);
	vec_fini(&s.edges);
	map_fini(&s.edge_at);
	frames_fini(&s.frames);
	r = r ? r : put_recording(p, out, opt);
	if (!r && (fflush(out) || ferror(out)))
		r = err_sys(errno ? -errno : -EIO, "can't write the pstats file");
	return r;
}
