/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Before the first sample, makes the unwind tables that native stacks of running processes need. A
 * server that sleeps most of the time has few samples. If tables were made only when samples need
 * them, a tenth of its stacks would be incomplete.
 */
#include <poll.h>

#include "base/system/clock.h"
#include "collect/internal.h"

/*
 * If a file has more code than this, its table is made only when a stack needs it, unless the cache
 * on disk has it. Most of that code never runs, and making its table takes seconds. OpenBLAS has 30
 * MB of code, libtorch_cpu 200.
 */
#define PREPARED_CODE (64u << 20)

/*
 * How many files the worker is given at a time: enough that it isn't idle, but so few that files
 * that samples need don't wait long.
 */
#define AHEAD 4

static uint64_t code_bytes(const struct native_file *f)
{
	uint64_t n = 0;

	vec_foreach(l, &f->loads)
		n += l->memsz;
	return n;
}

static bool is_made(const struct native_file *f)
{
	return f->interpreter || code_bytes(f) <= PREPARED_CODE;
}

static bool is_left(const struct native_file *f)
{
	return f->rows == ROWS_NONE && f->table && f->fd >= 0 && !f->retry_ns &&
	       (is_made(f) || !f->uncached);
}

/*
 * Is file @a prepared before @b? Interpreters are first, because every stack needs them; then files
 * that many processes map; then files with little code.
 */
static bool is_before(const struct native_file *a, const struct native_file *b)
{
	if (a->interpreter != b->interpreter)
		return a->interpreter;
	if (a->mapped != b->mapped)
		return a->mapped > b->mapped;
	return code_bytes(a) < code_bytes(b);
}

static struct native_file *first_left(const struct collect *c)
{
	struct native_file *first = NULL;

	vec_foreach(f, &c->natives->files)
		if (is_left(*f) && (!first || is_before(*f, first)))
			first = *f;
	return first;
}

/* Gives the worker jobs. False: all files are prepared, so no job is left to give. */
static bool prepare_some(struct collect *c)
{
	struct native_file *f;
	size_t asked = 0;

	native_work_take(c, false);
	vec_foreach(at, &c->natives->files)
		asked += (*at)->rows == ROWS_ASKED;
	for (; asked < AHEAD && (f = first_left(c)); asked++)
		if (is_made(f))
			native_rows_want(c, f);
		else
			native_rows_want_cached(c, f);
	return asked;
}

static void count_mapped(struct collect *c, const struct process *p)
{
	const struct space *s = space_latest(c, p);

	if (!s)
		return;
	vec_foreach(m, &s->maps)
		if (m->file)
			native_file_at(c, m->file)->mapped++;
}

/*
 * Reads what describes code made at run time, and after that the mappings again. False: nothing is
 * left to read.
 */
static bool prepare_made_code(struct collect *c, uint64_t until_ns)
{
	bool left = false;

	made_refresh(c, until_ns);
	vec_foreach(i, &c->processes->live) {
		struct process *p = process_at(c, *i);

		if (!p->expected || !made_wanted(p))
			continue;
		left |= made_unread(p);
		if (p->space_stale)
			space_read(c, p);
	}
	return left;
}

static bool prepare_more(struct collect *c, uint64_t until_ns)
{
	bool rows = prepare_some(c);

	return prepare_made_code(c, until_ns) || rows;
}

void collect_prepare(struct collect *c, uint64_t until_ns)
{
	struct pollfd done = {.fd = collect_fd(c), .events = POLLIN};
	uint64_t now;

	if (!c->config.unwind)
		return;
	vec_foreach(i, &c->processes->live) {
		struct process *p = process_at(c, *i);

		if (!p->expected || clock_ns(CLOCK_MONOTONIC) >= until_ns)
			continue;
		space_read(c, p);
		count_mapped(c, p);
		made_expect(c, p);
		(void)prepare_some(c);
	}
	while (prepare_more(c, until_ns) && (now = clock_ns(CLOCK_MONOTONIC)) < until_ns)
		poll(&done, 1, (int)((until_ns - now) / NSEC_PER_MSEC) + 1);
	made_begin(c);
}
