/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the walkers of bpf/ (code that reads stacks: state.bpf.h, native/unwind.bpf.h, send.bpf.h)
 * read live processes from user space; see walker.h.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The BPF headers define global functions without prototypes. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "python/frames.bpf.h"
#include "python/gil.bpf.h"
#include "send.bpf.h"

#include "base/map.h"
#include "dump/walker.h"
#include "python/heap/peek.h"
#include "sampler/tasks.h"

/* the smallest page size of all machines: such a page is mapped either completely or not at all */
#define PAGE_BYTES 4096u
#define PAGES_BITS 6

/*
 * Pages of the process's memory that were read while krait reads the stack of one thread. Reading a
 * page costs the same as reading eight bytes, and many reads are close together. After the thread's
 * stack the pages are dropped, because the process may change them.
 */
struct pages {
	bool off;
	uint64_t addr[1 << PAGES_BITS]; /* address of each page in .data; 0: the entry is unused */
	char data[1 << PAGES_BITS][PAGE_BYTES];
};

struct walker {
	struct walker_config config;
	struct pages pages;
	/*
	 * ids of the code objects and of the stacks that were sent already; records use the same
	 * ids
	 */
	struct map codes, stacks;
	struct walk walk;
	struct walk_out out;
	struct walk_addrs addrs;
	struct staging staging;
	struct native native;
	struct native_out native_out;
	enum native_outcome unwound;
	enum gil_state gil;
};

/*
 * The walker (reader of a stack) that is at work in this thread of krait. The functions of bpf/,
 * which are compiled for user space here, read the memory of the process whose stack this walker
 * reads. They have no parameter for the walker, so it is in a variable.
 */
static __thread struct walker *at;

static void forget_pages(struct walker *w)
{
	memset(w->pages.addr, 0, sizeof(w->pages.addr));
}

/* Returns the bytes of the page at @addr; NULL: the page can't be read completely. */
static const char *page_at(uint64_t addr)
{
	struct pages *p = &at->pages;
	size_t i = addr / PAGE_BYTES * 0x9e3779b97f4a7c15u >> (64 - PAGES_BITS);

	if (!addr || p->addr[i] == addr)
		return addr ? p->data[i] : NULL;
	p->addr[i] = 0;
	if (peek((pid_t)at->walk.proc.tgid, addr, p->data[i], PAGE_BYTES))
		return NULL;
	p->addr[i] = addr;
	return p->data[i];
}

/* Copies memory of the process. Returns false if a byte of it can't be read. */
static bool read_pages(void *dst, uint32_t n, uint64_t addr)
{
	while (n) {
		uint32_t from = (uint32_t)(addr % PAGE_BYTES), some = MIN(n, PAGE_BYTES - from);
		const char *page = page_at(addr - from);

		if (!page)
			return false;
		memcpy(dst, page + from, some);
		dst = (char *)dst + some;
		addr += some;
		n -= some;
	}
	return true;
}

/* Reads memory of the process as bpf_probe_read_user() does: all bytes or none. */
walk_inline long read_user(void *dst, __u32 n, __u64 addr)
{
	int r = 0;

	if (at->pages.off || n > PAGE_BYTES || !read_pages(dst, n, addr))
		r = peek((pid_t)at->walk.proc.tgid, addr, dst, n);
	if (r)
		memset(dst, 0, n);
	return r;
}

walk_inline __u64 walk_clock(void)
{
	return 0;
}

walk_inline struct walk *walk_state(__u32 slot)
{
	return &at->walk;
}

walk_inline struct walk_out *walk_out(__u32 slot)
{
	return &at->out;
}

walk_inline struct walk_addrs *walk_addrs(__u32 slot)
{
	return &at->addrs;
}

walk_inline struct native *native_state(__u32 slot)
{
	return &at->native;
}

walk_inline struct native_out *native_out(__u32 slot)
{
	return &at->native_out;
}

walk_inline const struct py_layout *walk_layout(__u32 index)
{
	return at->config.layout(at->config.ctx, (uint16_t)index);
}

walk_inline const struct unwind_chunk *unwind_chunk_at(__u32 number)
{
	return at->config.rows->chunk(at->config.ctx, number);
}

walk_inline struct unwind_table *unwind_table_at(__u32 number)
{
	return at->config.rows->table(at->config.ctx, number);
}

walk_inline const struct unwind_rule *unwind_rule_at(__u32 number)
{
	return at->config.rows->rule(at->config.ctx, number);
}

walk_inline struct staging *walk_staging(__u32 slot)
{
	return &at->staging;
}

walk_inline long send_bytes(const void *data, __u64 n)
{
	at->config.record(at->config.ctx, data, n);
	return 0;
}

walk_inline bool code_seen(__u64 key)
{
	return map_get(&at->codes, key);
}

walk_inline void code_mark(__u64 key)
{
	(void)!map_put(&at->codes, key, 1);
}

walk_inline bool stack_seen(__u64 id)
{
	return map_get(&at->stacks, id);
}

walk_inline void stack_mark(__u64 id)
{
	(void)!map_put(&at->stacks, id, 1);
}

walk_inline void count(__u32 counter)
{
}

struct walker *walker_new(const struct walker_config *config)
{
	struct walker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->config = *config;
	map_init(&w->codes);
	map_init(&w->stacks);
	return w;
}

void walker_free(struct walker *w)
{
	if (!w)
		return;
	map_fini(&w->codes);
	map_fini(&w->stacks);
	free(w);
}

static void begin(struct walker *w, const struct walker_thread *t)
{
	const struct py_layout *l =
		t->where ? w->config.layout(w->config.ctx, (uint16_t)t->where->layout) : NULL;

	at = w;
	forget_pages(w);
	/*
	 * In Python 2.7, the walk (the reading of a stack) reads the list of thread states twice
	 * and compares the two. So it must read the process's memory each time, and pages that were
	 * read aren't kept.
	 */
	w->pages.off = !l || PY_HAS(l->can, LISTED_STATES);
	w->walk.proc = t->proc;
	w->walk.tp = t->tp;
	w->native.n = w->native_out.head.n_kernel = 0;
	w->unwound = NATIVE_NONE;
	w->gil = GIL_UNKNOWN;
}

static const struct py_layout *take_where(struct walker *w, const struct walker_thread *t)
{
	w->walk.where = *t->where;
	/*
	 * The walk (the reading of the stack) has to use @t's thread state. So, where it would read
	 * the pointer to the current thread state, it reads the pointer to @t's in Python's list.
	 */
	if (t->slot)
		w->walk.where.tstate_current = t->slot;
	return walk_layout(w->walk.where.layout);
}

bool walker_runs(struct walker *w, const struct walker_thread *t)
{
	begin(w, t);
	return runs_python(&w->walk, take_where(w, t)) >= RUNS_FRAMES;
}

enum walk_outcome walker_python(struct walker *w, const struct walker_thread *t, uint64_t *hash)
{
	begin(w, t);
	if (!t->where) {
		walk_begin(&w->walk);
		w->walk.n = w->walk.groups = 0;
		w->walk.hash = 0;
		w->walk.outcome = t->other ? WALK_OK : WALK_NO_PYTHON;
		return w->walk.outcome;
	}
	walk_python(&w->walk, take_where(w, t));
	*hash = w->walk.hash;
	if (!w->walk.n)
		w->walk.hash = 0;
	return w->walk.outcome;
}

uint64_t walker_take(struct walker *w, const struct walker_thread *t,
		     const struct wire_frame *frames, size_t n, enum walk_outcome outcome)
{
	begin(w, t);
	walk_begin(&w->walk);
	w->walk.groups = 0;
	w->walk.n = (uint32_t)n;
	w->walk.outcome = outcome;
	w->walk.hash = check_mix(w->walk.proc_hash, (uint64_t)n << 8 | outcome);
	for (size_t i = 0; i < n; i++) {
		w->out.frame[i] = frames[i];
		w->walk.hash = check_mix(w->walk.hash, frames[i].check);
		w->walk.hash = check_mix(w->walk.hash, (uint64_t)(uint32_t)frames[i].lasti << 32 ^
							       frames[i].code);
		code_mark(code_key(&w->walk, &frames[i]));
	}
	w->walk.hash |= 1;
	return w->walk.hash;
}

/*
 * Returns the address of the thread state that holds the GIL while the walked thread waits for it.
 * 0: no thread state holds it, or it isn't known which.
 */
static uint64_t gil_holder(const struct walker *w, const struct py_layout *l)
{
	struct gil_place g = {};
	uint64_t holder = 0;
	int32_t locked = 0;

	/*
	 * before Python 3.0, only the pointer to the current thread state tells who holds the GIL
	 */
	if (PY_HAS(l->can, LOCK_GIL))
		return read_u64(w->walk.where.tstate_current);
	if (!find_gil(&w->walk, l, &g) || !g.locked || !g.holder ||
	    read_user(&locked, sizeof(locked), g.locked) || locked != 1 ||
	    read_user(&holder, sizeof(holder), g.holder))
		return 0;
	return holder;
}

enum gil_state walker_gil(struct walker *w, const struct walker_thread *t, const uint64_t *call,
			  uint64_t sp, uint64_t *holder)
{
	struct futex_call f = {.op = -1, .sp = sp};
	const struct py_layout *l;
	enum gil_state state;

	at = w;
	forget_pages(w); /* other threads may have written to these pages since krait read them */
	w->walk.gil_read = 0;
	*holder = 0;
	if (!t->where)
		return GIL_NONE;
	l = walk_layout(t->where->layout);
	if (call) {
		f.addr = call[0];
		f.op = (uint32_t)call[1];
	}
	/*
	 * The walk (the reading of the stack) may have replaced .tstate_current by the address of a
	 * pointer in Python's list of thread states. From here on the address of the pointer to the
	 * current thread state is needed.
	 */
	w->walk.where = *t->where;
	if (t->where->tstate_current)
		w->walk.current = read_u64(t->where->tstate_current) == w->walk.tstate ? CURRENT_YES
										       : CURRENT_NO;
	w->gil = state = gil_of(&w->walk, l, &f);
	if (state == GIL_WAITING)
		*holder = gil_holder(w, l);
	return state;
}

void walker_regs_of(const struct rec_task *rec, struct walker_regs *ret)
{
#if defined(__aarch64__)
	for (int i = 0; i < 32; i++)
		ret->reg[i] = rec->regs[i];
	ret->pc = rec->regs[32];
#else
	/*
	 * By DWARF number of a register (ax dx cx bx si di bp sp r8 ... r15): the register's index
	 * in struct pt_regs.
	 */
	static const uint8_t from[] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0};

	for (size_t i = 0; i < ARRAY_SIZE(from); i++)
		ret->reg[i] = rec->regs[from[i]];
	ret->pc = rec->regs[16];
#endif
}

uint64_t walker_sp(const struct walker_regs *regs)
{
	return regs->reg[REG_SP];
}

static void set_registers(struct native *n, const struct walker_regs *regs)
{
	_Static_assert(UNWIND_REGS <= WALKER_REGS, "");
	memcpy(n->leaf, regs->reg, sizeof(n->leaf));
	n->regs = (struct unwind_regs){.pc = regs->pc,
				       .sp = regs->reg[REG_SP],
				       .fp = regs->reg[REG_FP],
				       .bx = regs->reg[REG_BX]};
#if defined(__aarch64__)
	n->regs.lr = regs->reg[30];
#endif
}

enum native_outcome walker_native(struct walker *w, const struct walker_thread *t,
				  const struct walker_regs *regs, const __u64 *kernel,
				  size_t n_kernel)
{
	struct native *n = &w->native;

	at = w;
	n->n = 0;
	n->hash = 0;
	n->outcome = NATIVE_NONE;
	n->leaf_only = w->config.leaf;
	n->instructions = w->config.instructions;
	n->epoch = 1;
	n->space = t->space ? *t->space : (struct unwind_space){};
	n_kernel = MIN(n_kernel, (size_t)ABI_MAX_KERNEL);
	if (n_kernel)
		memcpy(w->native_out.pc, kernel, n_kernel * sizeof(*kernel));
	w->native_out.head.n_kernel = (__u16)n_kernel;
	if (regs) {
		set_registers(n, regs);
		walk_native(n, &w->walk);
	}
	for (size_t i = 0; i < n_kernel; i++)
		n->hash = check_mix(n->hash, w->native_out.pc[i]);
	identify_stack(&w->walk, n, (__u32)n_kernel);
	w->unwound = n->outcome;
	return n->outcome;
}

uint64_t walker_end(const struct walker *w)
{
	return w->native.n ? w->native_out.pc[w->native_out.head.n_kernel + w->native.n - 1] : 0;
}

void walker_sample(struct walker *w, pid_t tid, uint64_t time_ns, struct rec_sample *ret)
{
	*ret = (struct rec_sample){.type = REC_SAMPLE,
				   .outcome = w->walk.outcome,
				   .native = w->unwound,
				   .gil = w->gil,
				   .tid = (uint32_t)tid,
				   .time_ns = time_ns,
				   .stack = w->walk.hash,
				   .proc = w->walk.proc,
				   .weight = 1};
	at = w;
	send_stack(&w->walk);
}

void walker_send(struct walker *w, pid_t tid, uint64_t time_ns)
{
	struct rec_sample rec;

	walker_sample(w, tid, time_ns, &rec);
	w->config.record(w->config.ctx, &rec, sizeof(rec));
}
