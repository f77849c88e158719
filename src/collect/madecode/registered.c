/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registered code is made at run time. ELF files that the process registered for gdb say what it is
 * called and how it is unwound. LLVM registers the code that it makes, also for numba. Code of
 * CPython's compiler, which registers nothing, is treated the same way (executors.c).
 *
 * When krait reads gdb's lists, they may have code that wasn't there yet when a stack was sampled.
 * But private memory that isn't writable gets new code only when it is made executable, and perf's
 * records say when that happened. So a name is right for a stack if no memory at the code's address
 * was made executable between the reading of the mappings by which the stack was unwound and the
 * reading of the lists. The same is true for the rows with which the kernel program unwound the
 * stack. In case names and rows don't hold for a sample, there is also a plain stack without them
 * (docs/decisions/0012).
 */
#include <stdlib.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "collect/madecode/made.h"
#include "symbol/madecode/gdb_jit.h"

/*
 * the least time between two readings of one process's lists, as a multiple of the time that the
 * last reading took
 */
#define READ_SHARE 10
/*
 * the least time between two rounds that read several processes, as a multiple of the time that the
 * last round took
 */
#define ALL_SHARE 20
/*
 * how often reading gdb's lists may fail, for example because they keep changing; after that,
 * stacks don't wait for the lists
 */
#define TRIES 3
/* after this time, lists that couldn't be read in TRIES tries are tried again */
#define TRY_APART_NS (500 * NSEC_PER_MSEC)
/* after this time, registered code that was freed because of --memory is read again */
#define GIVEN_UP_NS (10 * NSEC_PER_SEC)

static bool init(struct collect *c)
{
	return (c->made->registered = calloc(1, sizeof(struct registered_all)));
}

static void fini(struct collect *c)
{
	free(c->made->registered);
}

/*
 * Searches the files that the process maps for the descriptors of gdb's lists, and keeps the first
 * few that it finds. False: some file wasn't searched yet.
 */
static bool find_lists(struct collect *c, struct registered *reg, const struct space *s)
{
	bool all = true;

	reg->n = 0;
	vec_foreach(m, &s->maps) {
		struct native_file *f = m->file ? native_file_at(c, m->file) : NULL;
		uint64_t at;

		if (!f)
			continue;
		if (f->list_found == LIST_NONE)
			native_work_list(c, f);
		all &= f->list_found == LIST_TRIED;
		at = f->list + (m->start - m->vaddr);
		if (f->list && reg->n < ARRAY_SIZE(reg->at) &&
		    (!reg->n || reg->at[reg->n - 1] != at))
			reg->at[reg->n++] = at;
	}
	return all;
}

static void retire_table(struct process *p, struct reading *r)
{
	space_retire_table(p, r->table);
	r->table = 0;
}

/*
 * The unwind table @table was dropped from the kernel's maps. A process that uses the table is
 * without a table until its lists of registered code are read again.
 */
static void given_up(struct collect *c, uint32_t table)
{
	for (size_t i = 0; i < c->processes->live.n; i++) {
		struct process *p = process_live(c, i);
		struct reading *r = &p->made->registered.readings[0];

		if (r->table != table)
			continue;
		retire_table(p, r);
		r->from_ns = 0;
	}
}

#define SAME(a, b) ((a)->n == (b)->n && !memcmp((a)->v, (b)->v, (a)->n * sizeof(*(a)->v)))

static bool has_same_rows(const struct reading *a, const struct reading *b)
{
	return SAME(&a->code, &b->code) && SAME(&a->rows.rows, &b->rows.rows) &&
	       SAME(&a->rows.rules, &b->rows.rules) && SAME(&a->rows.fdes, &b->rows.fdes);
}

/*
 * Makes the unwind table of what one reading of a process's lists found. Each reading gets a new
 * table, because the mappings with the old table are still in use while the new table is made.
 */
static void make_table(struct collect *c, struct process *p, struct reading *now)
{
	const struct collect_unwind_ops *unwind = c->config.unwind;
	int r = unwind->new_table(c->config.ctx, &now->table);

	if (r) {
		now->table = 0;
	} else {
		r = unwind->fill(c->config.ctx, now->table, &now->rows, NULL, 0);
		if (r)
			retire_table(p, now);
	}
	if (r) {
		log_info("process %u: can't make unwind tables for the code registered for gdb: %s",
			 p->key.tgid, err_msg());
		return;
	}
	c->made->dated.rows = true;
}

static void set_table(const struct process *p, struct space_map *m)
{
	const struct reading *r = &p->made->registered.readings[0];
	size_t k = count_upto(r->code.v, r->code.n, end, m->start);

	if (!r->table || r->from_ns < m->since_ns || k == r->code.n ||
	    r->code.v[k].start > m->start || r->code.v[k].end < m->end)
		return;
	m->table = r->table;
	m->key = (uint32_t)(r->code.v[k].key + (m->start - r->code.v[k].start));
	m->registered = true;
}

/* Would the process's mappings get other unwind tables if they were read again now? */
static bool has_news(const struct process *p, const struct space *latest)
{
	vec_foreach(m, &latest->maps) {
		struct space_map now = *m;

		if (!m->lasting || (m->table && !m->registered))
			continue;
		now.table = 0;
		set_table(p, &now);
		if (now.table != m->table)
			return true;
	}
	return false;
}

static void keep_reading(struct collect *c, struct process *p, const struct space *latest,
			 struct reading *now)
{
	struct registered *reg = &p->made->registered;
	struct gdb_jit_stats st = gdb_jit_stats(now->jit);

	if (reg->readings[0].table && has_same_rows(&reg->readings[0], now)) {
		now->table = reg->readings[0].table;
		reg->readings[0].table = 0;
	} else if (now->rows.rules.n > 1) {
		make_table(c, p, now);
	}
	retire_table(p, &reg->readings[0]);
	reading_fini(&reg->readings[1]);
	reg->readings[1] = reg->readings[0];
	reg->readings[0] = *now;
	reg->tries = 0;
	if (has_news(p, latest))
		space_wanted(p, SPACE_GROWN);
	log_debug("process %u: code registered for gdb: %zu functions in %zu files; left out: %zu "
		  "files in an unknown form, %zu files beyond a limit, %zu overlapping sections; "
		  "CPython's JIT compiler has %zu pieces of code",
		  p->key.tgid, st.symbols, st.files, st.malformed, st.dropped, st.doubtful,
		  reg->executors.n);
}

/* Did the latest reading cover all of gdb's lists that are known? */
static bool has_lists(const struct registered *reg)
{
	const uint64_t *at = reg->readings[0].lists;
	size_t n = 0;

	while (n < ARRAY_SIZE(reg->at) && at[n])
		n++;
	return n == reg->n && !memcmp(at, reg->at, n * sizeof(*at));
}

/*
 * Reads the lists if they may have changed. True: krait now knows all that it can know of the
 * lists.
 */
static bool is_read(struct collect *c, struct process *p, const struct space *latest)
{
	struct registered *reg = &p->made->registered;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct reading reading;
	int r;

	if (reg->readings[0].jit && !reg->readings[0].partial &&
	    !gdb_jit_goes_on(reg->readings[0].jit) && has_lists(reg) &&
	    reg->readings[0].from_ns >= latest->since_ns &&
	    reading_looks_same(p, &reg->readings[0]))
		return true;
	if (now < reg->due_ns)
		return reg->tries >= TRIES;
	r = reading_read(c, p, &reading);
	if (!r)
		keep_reading(c, p, latest, &reading);
	reg->due_ns = now + READ_SHARE * (clock_ns(CLOCK_MONOTONIC) - now);
	if (!r)
		return true;
	if (++reg->tries < TRIES)
		return false;
	c->stats.lists_refused += reg->tries == TRIES;
	reg->due_ns += TRY_APART_NS;
	log_info("process %u: %s", p->key.tgid, err_msg());
	return true;
}

/*
 * Reads the process's registered code, and code of CPython's JIT compiler. The latter is in no
 * list, so it is read even before all files were searched for lists.
 */
static bool read_process(struct collect *c, struct process *p, const struct space *latest)
{
	struct registered *reg = &p->made->registered;
	bool searched = reg->searched == latest->version || find_lists(c, reg, latest);

	if (searched)
		reg->searched = latest->version;
	if (executors_possible(c, p))
		return is_read(c, p, latest) && searched;
	return searched && (!reg->n || is_read(c, p, latest));
}

/* Reads the registered code of process @p if a stack needs it. True: @p was looked at. */
static bool read_wanted(struct collect *c, struct process *p)
{
	const struct space *latest = p->made->registered.wanted ? space_latest(c, p) : NULL;

	if (!latest || process_has_ended(p) || p->replaced)
		return false;
	if (read_process(c, p, latest))
		p->made->registered.read_at = c->flushes;
	return true;
}

static void refresh(struct collect *c, uint64_t until_ns)
{
	uint64_t from = clock_ns(CLOCK_MONOTONIC), now = from;
	size_t n = c->processes->live.n, first = c->made->registered->turn;

	for (size_t i = 0; i < n && from >= c->made->registered->due_ns && now < until_ns; i++) {
		size_t at = (first + i) % n;

		if (!read_wanted(c, process_live(c, at)))
			continue;
		c->made->registered->turn = at + 1;
		now = clock_ns(CLOCK_MONOTONIC);
	}
	if (now > from)
		c->made->registered->due_ns = from + ALL_SHARE * (now - from);
}

static bool name(struct collect *c, const struct raw_stack *raw, uint64_t pc, struct made_name *ret)
{
	const struct reading *r = reading_of_stack(c, raw, pc);

	ret->symbol = r ? gdb_jit_find(r->jit, pc, &ret->start) : NULL;
	return ret->symbol;
}

static bool is_named(const struct process *p, const struct space_map *m, uint64_t pc)
{
	const struct reading *r = reading_of(p, m, pc);
	uint64_t start;

	return r && (gdb_jit_find(r->jit, pc, &start) || executors_hold(r, pc, &start));
}

static bool ready(struct collect *c, const struct raw_stack *raw, uint64_t pc)
{
	struct process *p = process_at(c, raw->process);
	const struct space *s;
	const struct space_map *m = reading_map(c, raw, pc, &s);
	uint64_t start;

	if (!m || process_has_ended(p) || jit_name(c, p, pc, &start))
		return true;
	p->made->registered.wanted = true;
	/*
	 * @raw is a stack of a fork, and was unwound with the parent's mappings; the fork's own
	 * mappings will be read soon
	 */
	if (s->process != raw->process) {
		space_wanted(p, SPACE_GROWN);
		return true;
	}
	/*
	 * In the collect_flush() after the stack has come, some mappings that were made before the
	 * stack was sampled may not be known yet. In the collect_flush() after that one, all of
	 * them are known.
	 */
	if (raw->flush == c->flushes)
		return false;
	return p->made->registered.read_at > raw->flush || is_named(p, m, pc);
}

/* Does the process have code that it may have registered for gdb, or that CPython compiled? */
static bool has_made_code(struct collect *c, const struct process *p)
{
	const struct space *s = space_latest(c, p);

	if (!s || !c->config.sees_mapped)
		return false;
	vec_foreach(m, &s->maps)
		if (m->lasting && !m->file && !m->table)
			return true;
	return false;
}

static void expect(struct collect *c, struct process *p)
{
	p->made->registered.wanted = has_made_code(c, p);
}

static bool wanted(const struct process *p)
{
	return p->made->registered.wanted;
}

static uint32_t read_at(const struct process *p)
{
	return p->made->registered.read_at;
}

static bool unread(const struct process *p)
{
	return wanted(p) && !read_at(p);
}

static void begin(struct collect *c)
{
	c->made->registered->due_ns = 0;
}

static void forget(struct process *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->made->registered.readings); i++) {
		retire_table(p, &p->made->registered.readings[i]);
		reading_fini(&p->made->registered.readings[i]);
	}
	executors_close(p);
	p->made->registered = (struct registered){};
}

static size_t bytes(const struct process *p)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(p->made->registered.readings); i++)
		n += reading_bytes(&p->made->registered.readings[i]);
	vec_foreach(e, &p->made->registered.executors)
		n += sizeof(*e) + unwind_rows_bytes(&e->rows);
	return n;
}

static void give_up(struct collect *c, struct process *p)
{
	bool cut = p->made->registered.cut;

	log_info("process %u: names of code registered for gdb were dropped to make room: %zu KiB",
		 p->key.tgid, bytes(p) >> 10);
	forget(p);
	p->made->registered.cut = cut;
	/* makes stacks no longer wait for the lists of this process */
	p->made->registered.tries = TRIES;
	p->made->registered.due_ns = clock_ns(CLOCK_MONOTONIC) + GIVEN_UP_NS;
	c->stats.names_given_up++;
}

static void table(struct collect *c, struct process *p, const struct mapping *m,
		  struct space_map *part)
{
	(void)c, (void)m;
	if (part->lasting)
		set_table(p, part);
}

static void close_process(struct collect *c, struct process *p)
{
	(void)c;
	forget(p);
}

const struct code_source registered_source = {.init = init,
					      .fini = fini,
					      .table = table,
					      .name = name,
					      .dated = true,
					      .ready = ready,
					      .expect = expect,
					      .begin = begin,
					      .wanted = wanted,
					      .unread = unread,
					      .refresh = refresh,
					      .given_up = given_up,
					      .bytes = bytes,
					      .read_at = read_at,
					      .give_up = give_up,
					      .close = close_process};
