/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registered code: made at run time, and named and unwound by the ELF files that the process
 * registered for gdb. LLVM registers its code, and so numba's. Code of CPython's compiler, which
 * registers nothing, is treated the same way (executors.c).
 *
 * What is registered when krait reads it may not have been there when a stack was sampled. But new
 * code gets into private memory that can't be written only when that memory is made executable, and
 * the side band says when that happened. So a name holds if nothing was made executable there
 * between two moments: when the mappings were read that the stack was sampled with, and now. The
 * same goes for the rows that the kernel program unwound with. Each sample also has a plain stack,
 * without both, for the case that they don't hold (docs/decisions/0012).
 */
#include <stdlib.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "collect/madecode/made.h"
#include "python/heap/peek.h"
#include "symbol/madecode/gdb_jit.h"

/* least time between two readings of a process, as a multiple of what one took */
#define READ_SHARE 10
#define ALL_SHARE  20 /* what READ_SHARE is, for rounds of readings of several processes */
/*
 * Limit of the work for one reading. The lists of a program with a thousand functions of 1 KB take
 * 40 ms.
 */
#define READ_WORK	(50 * SLICE_MS)
#define READ_WORK_START (200 * SLICE_MS) /* work for a reading before sampling begins */
/* how often lists that keep changing are read; after that stacks don't wait for them */
#define TRIES 3
/* how much later lists that couldn't be read in TRIES are tried again */
#define TRY_APART_NS (500 * NSEC_PER_MSEC)
/* how much later registered code is read again that was given up for --memory */
#define GIVEN_UP_NS (10 * NSEC_PER_SEC)

bool registered_init(struct collect *c)
{
	return (c->made->registered = calloc(1, sizeof(struct registered_all)));
}

void registered_fini(struct collect *c)
{
	if (c->made->registered)
		map_fini(&c->made->registered->by_stack);
	free(c->made->registered);
}

static int peek_process(void *arg, uint64_t addr, void *buf, size_t n)
{
	return peek(*(const pid_t *)arg, addr, buf, n);
}

static int peek_pieces_of(void *arg, const struct iovec *pieces, size_t n, void *buf, size_t bytes)
{
	const struct iovec to = {buf, bytes};
	ssize_t got = peek_pieces(*(const pid_t *)arg, &to, pieces, n);

	return got == (ssize_t)bytes ? 0 : got < 0 ? (int)got : -EFAULT;
}

/*
 * Finds the lists' descriptors in the files of the mappings, and keeps the first few. False: some
 * file wasn't searched yet.
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

static size_t reading_bytes(const struct reading *r)
{
	return (r->jit ? gdb_jit_bytes(r->jit) : 0) + r->code.cap * sizeof(*r->code.v) +
	       r->compiled.cap * sizeof(*r->compiled.v) + unwind_rows_bytes(&r->rows);
}

static void reading_fini(struct reading *r)
{
	gdb_jit_free(r->jit);
	vec_fini(&r->compiled);
	vec_fini(&r->code);
	unwind_rows_fini(&r->rows);
	*r = (struct reading){};
}

/*
 * Reads the mappings whose code the lists may name. They are read after the lists, because code can
 * be registered before it is executable.
 */
static int read_code(const struct proc *proc, struct reading *ret)
{
	_cleanup_maps_ struct maps maps = {};
	int r = maps_read(proc->dirfd, MAPS_EXEC, &maps);
	uint64_t key = 0;

	vec_foreach(m, &maps.list) {
		if (r || !mapping_is_lasting(m) || key + (m->end - m->start) > UINT32_MAX)
			continue;
		r = vec_push(&ret->code,
			     (struct unwind_place){.start = m->start, .end = m->end, .key = key});
		key += m->end - m->start;
	}
	return r;
}

/* Joins the rows of all registered code of a process into one table. */
static int join_rows(struct collect *c, struct process *p, struct reading *ret)
{
	const unwind_rows_vec *registered = gdb_jit_rows(ret->jit);
	unwind_rows_vec files = {};
	int r = executors_read(c, p, ret, &files);

	vec_foreach(rows, registered)
		r = r ? r : vec_push(&files, *rows);
	r = r ? r : unwind_rows_join(files.v, files.n, ret->code.v, ret->code.n, &ret->rows);
	vec_fini(&files);
	return r;
}

static int read_lists_within(struct collect *c, struct process *p, struct reading *ret)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;
	pid_t pid = (pid_t)p->key.tgid;
	int r = proc_open(&proc, pid);

	*ret = (struct reading){.from_ns = clock_ns(CLOCK_MONOTONIC)};
	memcpy(ret->lists, p->made->registered.at, p->made->registered.n * sizeof(ret->lists[0]));
	r = r ? r
	      : gdb_jit_read_on(p->made->registered.readings[0].jit, peek_process, peek_pieces_of,
				&pid, p->made->registered.at, p->made->registered.n, &ret->jit);
	r = r ? r : read_code(&proc, ret);
	r = r ? r : join_rows(c, p, ret);
	ret->to_ns = clock_ns(CLOCK_MONOTONIC);
	if (!r && !process_is(p, &proc))
		r = err_set(-ESRCH, "it has ended");
	if (r)
		reading_fini(ret);
	return r;
}

/*
 * Reads the lists within a slice. If the slice ends early, the next readings go on from there. A
 * list that is too long even so is cut, which is counted once for each process.
 */
static int read_lists(struct collect *c, struct process *p, struct reading *ret)
{
	struct slice slice;
	int r;

	slice_begin(&slice, c->began ? READ_WORK : READ_WORK_START);
	slice_limit_memory(&slice, memory_for_job(&c->config));
	r = read_lists_within(c, p, ret);
	slice_end(&slice);
	if (slice.cut && !ret->partial && (r || !gdb_jit_goes_on(ret->jit)) &&
	    !p->made->registered.cut) {
		p->made->registered.cut = true;
		c->stats.lists_cut++;
		log_info("process %u: the list of code registered for gdb is too long to be read",
			 p->key.tgid);
	}
	return r;
}

static void retire_table(struct process *p, struct reading *r)
{
	space_retire_table(p, r->table);
	r->table = 0;
}

/*
 * The kernel's maps gave up a table. Its mappings go on with an empty table until the lists are
 * read again.
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
 * Makes a table for a reading. Each reading has its own, because the mappings with the old table
 * are in use meanwhile.
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
		log_info("process %u: no unwind tables for what is registered for gdb: %s",
			 p->key.tgid, err_msg());
		return;
	}
	c->made->registered->rows = true;
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

/* Tells whether the mappings would get other tables if they were read now. */
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
	log_debug("process %u: %zu functions in %zu files registered for gdb, %zu not "
		  "understood, %zu beyond a limit, %zu sections in doubt; %zu pieces of code of "
		  "CPython's JIT compiler",
		  p->key.tgid, st.symbols, st.files, st.malformed, st.dropped, st.doubtful,
		  reg->executors.n);
}

/* Tells whether the latest reading had all of gdb's lists that are known. */
static bool has_lists(const struct registered *reg)
{
	const uint64_t *at = reg->readings[0].lists;
	size_t n = 0;

	while (n < ARRAY_SIZE(reg->at) && at[n])
		n++;
	return n == reg->n && !memcmp(at, reg->at, n * sizeof(*at));
}

/* Reads the lists if they may have changed. True: all that can be known of them now is known. */
static bool is_read(struct collect *c, struct process *p, const struct space *latest)
{
	struct registered *reg = &p->made->registered;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	pid_t pid = (pid_t)p->key.tgid;
	struct reading reading;
	int r;

	if (reg->readings[0].jit && !reg->readings[0].partial &&
	    !gdb_jit_goes_on(reg->readings[0].jit) && has_lists(reg) &&
	    reg->readings[0].from_ns >= latest->since_ns &&
	    gdb_jit_looks_same(reg->readings[0].jit, peek_process, &pid))
		return true;
	if (now < reg->due_ns)
		return reg->tries >= TRIES;
	r = read_lists(c, p, &reading);
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
 * Reads what the process has. Code of CPython's compiler is in no list, so it is read even before
 * all files were searched for lists.
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

/* Reads the registered code of process @p if that is wanted. True: it was looked at. */
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
	 * a fork's stack that was unwound with its parent's mappings: the fork's own are read soon
	 */
	if (s->process != raw->process) {
		space_wanted(p, SPACE_GROWN);
		return true;
	}
	/* Mappings that were made before the stack was sampled are known one flush later. */
	if (raw->flush == c->flushes)
		return false;
	return p->made->registered.read_at > raw->flush || is_named(p, m, pc);
}

void registered_begin(struct collect *c)
{
	c->made->registered->due_ns = 0;
}

void registered_close(struct process *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->made->registered.readings); i++) {
		retire_table(p, &p->made->registered.readings[i]);
		reading_fini(&p->made->registered.readings[i]);
	}
	executors_close(p);
	p->made->registered = (struct registered){};
}

size_t registered_bytes(const struct process *p)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(p->made->registered.readings); i++)
		n += reading_bytes(&p->made->registered.readings[i]);
	vec_foreach(e, &p->made->registered.executors)
		n += sizeof(*e) + unwind_rows_bytes(&e->rows);
	return n;
}

void registered_give_up(struct collect *c, struct process *p)
{
	bool cut = p->made->registered.cut;

	log_info("process %u: names of code registered for gdb were dropped to make room: %zu KiB",
		 p->key.tgid, registered_bytes(p) >> 10);
	registered_close(p);
	p->made->registered.cut = cut;
	/* makes stacks wait no longer for this process's lists */
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
	registered_close(p);
}

const struct code_source registered_source = {.table = table,
					      .name = name,
					      .dated = true,
					      .ready = ready,
					      .refresh = refresh,
					      .given_up = given_up,
					      .close = close_process};
