/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What native stacks of the processes that there are need, before the first sample: a server that sleeps
 * most of the time has few samples, and would lose a tenth of them to tables that aren't there yet.
 */
#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "collect/internal.h"

/* Files with more code are left until a stack needs them: most of it never runs. */
#define PREPARED_CODE (16u << 20)

static uint64_t code_bytes(const struct native_file *f)
{
	uint64_t n = 0;

	vec_foreach(l, &f->loads)
		n += l->memsz;
	return n;
}

/* Interpreters first, for every stack needs them; then what takes least. */
static int compare(const void *a, const void *b)
{
	const struct native_file *x = *(struct native_file *const *)a;
	const struct native_file *y = *(struct native_file *const *)b;
	uint64_t n = code_bytes(x), m = code_bytes(y);

	if (x->interpreter != y->interpreter)
		return x->interpreter ? -1 : 1;
	return (n > m) - (n < m);
}

static void prepare_rows(struct collect *c, struct native_file *f, uint64_t until_ns)
{
	struct pollfd done = {.fd = collect_fd(c), .events = POLLIN};
	uint64_t now;

	native_rows_want(c, f);
	while (f->rows == ROWS_ASKED && (now = clock_ns(CLOCK_MONOTONIC)) < until_ns) {
		poll(&done, 1, (int)((until_ns - now) / NSEC_PER_MSEC) + 1);
		native_work_take(c, false);
	}
}

void collect_prepare(struct collect *c, uint64_t until_ns)
{
	VEC(struct native_file *) files = {};

	if (!c->config.unwind)
		return;
	vec_foreach(i, &c->live)
		if (c->processes.v[*i].expected && clock_ns(CLOCK_MONOTONIC) < until_ns)
			space_read(c, &c->processes.v[*i]);
	vec_foreach(f, &c->natives)
		if ((*f)->interpreter || code_bytes(*f) <= PREPARED_CODE)
			(void)!vec_push(&files, *f);
	if (files.n)
		qsort(files.v, files.n, sizeof(*files.v), compare);
	for (size_t i = 0; i < files.n && clock_ns(CLOCK_MONOTONIC) < until_ns; i++)
		prepare_rows(c, files.v[i], until_ns);
	vec_fini(&files);
}
