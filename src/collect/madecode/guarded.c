/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guarded code lies in no file, nothing describes it, and the process may write to its memory.
 * oneDNN's kernels are an example. If a stack breaks off in such code, krait reads the function and
 * derives from its instructions how to unwind it (docs/decisions/0011). Each time the kernel
 * program unwinds with rows made of these instructions, it first compares the code's bytes
 * (docs/decisions/0012). So the rows can't be out of date.
 */
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "collect/madecode/made.h"
#include "unwind/prove/code_rows.h"
#include "python/heap/peek.h"

#define PAGE 4096u
/* the most bytes of a guarded function; comparing so many bytes adds 3 us to each sample */
#define MOST_BYTES (16u << 10)
#define MOST_CODE  64 /* the most guarded functions that are kept of one process */
/*
 * The time between two looks at a process's guarded code is at least READ_SHARE times as long as a
 * look takes.
 */
#define READ_SHARE    200
#define READ_APART_NS (50 * NSEC_PER_MSEC)

static bool overlaps(const struct space_part *g, uint64_t start, uint64_t end)
{
	return g->start < end && start < g->end;
}

static const struct space_part *next(const struct process *p, uint64_t start, uint64_t end)
{
	const struct space_part *ret = NULL;

	vec_foreach(g, &p->made->guarded.code)
		if (g->start >= start && g->end <= end && (!ret || g->start < ret->start))
			ret = g;
	return ret;
}

static void want(struct collect *c, uint32_t version, uint64_t pc)
{
	const struct space *s = space_at(c, version);
	struct guarded *g;

	if (!CODE_ROWS_OF_THIS_MACHINE || !s || s->process == NO_PROCESS || !space_map_at(s, pc))
		return;
	g = &process_at(c, s->process)->made->guarded;
	for (size_t i = 0; i < g->n_wanted; i++)
		if (g->wanted[i] == pc)
			return;
	if (g->n_wanted < ARRAY_SIZE(g->wanted))
		g->wanted[g->n_wanted++] = pc;
	c->news = true; /* makes the next collect_flush(), in which the code is read, come soon */
}

static void drop(struct process *p, size_t i)
{
	struct space_part *v = p->made->guarded.code.v;

	space_retire_table(p, v[i].table);
	memmove(v + i, v + i + 1, (--p->made->guarded.code.n - i) * sizeof(*v));
}

static int keep(struct process *p, const struct space_part *code)
{
	for (size_t i = p->made->guarded.code.n; i-- > 0;)
		if (overlaps(&p->made->guarded.code.v[i], code->start, code->end))
			drop(p, i);
	if (p->made->guarded.code.n >= MOST_CODE)
		drop(p, 0);
	return vec_push(&p->made->guarded.code, *code);
}

/*
 * Reads the function that begins at @start. Returns 1 if @pc is in the function, which is then
 * kept; 0 if @pc isn't in it, or it can't be unwound; -errno + message if it can't be read or kept.
 */
static int read_function(struct collect *c, struct process *p, uint64_t start, uint64_t end,
			 uint64_t pc)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};
	uint8_t bytes[MOST_BYTES];
	const struct code_memory code = {start, MIN(end - start, sizeof(bytes)), bytes};
	struct space_part now = {.start = start};
	const struct unwind_rule *rule;
	int r = peek((pid_t)p->key.tgid, start, bytes, code.n);

	if (r)
		return err_sys(r, "the function's bytes can't be read");
	r = code_rows_guess(&code, &rows);
	rule = r ? NULL : unwind_rows_find(&rows, pc);
	if (!rule || rule->cfa == UNWIND_UNKNOWN)
		return r;
	now.end = start + ((rows.guarded + PAGE - 1) & ~(PAGE - 1));
	r = c->config.unwind->new_table(c->config.ctx, &now.table);
	r = r ? r : c->config.unwind->fill(c->config.ctx, now.table, &rows, NULL, 0);
	r = r ? r : keep(p, &now);
	if (r)
		space_retire_table(p, now.table);
	return r ? r : 1;
}

/*
 * Finds the function around @pc. A generator of code gives each function pages of its own, so the
 * function begins at the start of @pc's page or of an earlier page.
 */
static int read_code(struct collect *c, struct process *p, const struct space_map *m, uint64_t pc)
{
	uint64_t start = pc & ~(uint64_t)(PAGE - 1);
	int r = 0;

	while (!r && start >= m->start && pc - start < MOST_BYTES) {
		r = read_function(c, p, start, m->end, pc);
		start -= PAGE;
	}
	return r;
}

static void read_wanted(struct collect *c, struct process *p, const struct space *latest)
{
	struct guarded *g = &p->made->guarded;
	bool news = false;

	for (size_t i = 0; i < g->n_wanted; i++) {
		const struct space_map *m = space_map_at(latest, g->wanted[i]);
		int r = m && !m->file && !m->table ? read_code(c, p, m, g->wanted[i]) : 0;

		news |= r > 0;
		if (r < 0)
			log_debug("process %u: can't unwind code made at run time: %s", p->key.tgid,
				  err_msg());
	}
	g->n_wanted = 0;
	if (news)
		space_wanted(p, SPACE_GROWN);
}

static void refresh(struct collect *c, uint64_t until_ns)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	(void)until_ns;
	for (size_t i = 0; i < c->processes->live.n; i++) {
		struct process *p = process_live(c, i);
		struct guarded *g = &p->made->guarded;
		const struct space *latest;

		if (!g->n_wanted || now < g->due_ns || process_has_ended(p) || p->replaced)
			continue;
		latest = space_latest(c, p);
		if (latest)
			read_wanted(c, p, latest);
		g->due_ns =
			now + MAX(READ_APART_NS, READ_SHARE * (clock_ns(CLOCK_MONOTONIC) - now));
	}
}

static void given_up(struct collect *c, uint32_t table)
{
	for (size_t i = 0; i < c->processes->live.n; i++) {
		struct process *p = process_live(c, i);

		for (size_t k = p->made->guarded.code.n; k-- > 0;)
			if (p->made->guarded.code.v[k].table == table)
				drop(p, k);
	}
}

static void close_process(struct collect *c, struct process *p)
{
	(void)c;
	while (p->made->guarded.code.n)
		drop(p, p->made->guarded.code.n - 1);
	vec_fini(&p->made->guarded.code);
	p->made->guarded.n_wanted = 0;
}

const struct code_source guarded_source = {.next = next,
					   .want = want,
					   .refresh = refresh,
					   .given_up = given_up,
					   .close = close_process};
