/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF walkers, which find a thread's frames, compiled for the host. The functions with which
 * they read and send (bpf/state.bpf.h, bpf/send.bpf.h) are defined here: they read pages in this
 * process's memory, or a live process. Reads can be made to fail. The destination of each read must
 * be within one known buffer. Each buffer is allocated separately, so that ASan notices writes past
 * its end.
 */
#ifndef TESTS_HOST_WALK_WALK_HOST_H
#define TESTS_HOST_WALK_WALK_HOST_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

/* the BPF headers have global functions without prototypes */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "python/frames.bpf.h"
#include "send.bpf.h"

#include "base/map.h"
#include "base/vec.h"

#define HOST_PAGE 4096ull

struct host_slot {
	struct walk w;
	struct walk_out out;
	struct walk_addrs addrs;
	struct staging staging;
	struct native native;
	struct native_out native_out;
};

struct host_record {
	size_t n;
	uint8_t *bytes;
};

static struct host {
	/* the target's memory: page number -> address of the 4 KiB allocated for the page */
	struct map pages;
	pid_t pid;	   /* a process to read from, instead of .pages; 0: none */
	unsigned fail_nth; /* every Nth read fails; 0: none fails */
	/* a failing read leaves its destination as it is, instead of zeroing it */
	bool keep_on_fault;
	uint64_t reads, bytes;
	uint64_t fault_at; /* reads that touch this address fail; 0: none */
	/* the clock's time; each reading of the clock advances it by .tick_ns */
	uint64_t clock_ns, tick_ns;
	unsigned refuse; /* how many more records the ring will refuse */
	struct py_layout layout;
	struct walk *w;
	struct walk_out *out;
	struct walk_addrs *addrs;
	struct staging *staging;
	struct native *native;
	struct native_out *native_out;
	struct host_slot *second; /* state of a stack walk that interrupts the first one */
	/* called before each read, except reads that .at_read itself makes; may be NULL */
	void (*at_read)(void);
	bool interrupted; /* .at_read is running, so that what it sends is dropped */
	/* chunks of unwind rows for native frames, by number */
	VEC(struct unwind_chunk *) chunks;
	VEC(struct unwind_table) tables;
	VEC(struct unwind_rule) rules;
	struct map codes, stacks;
	VEC(struct host_record) sent;
	uint64_t counters[COUNT_MAX];
} host;

/*
 * Aborts unless @ok, also under a fuzzer: the walker (the code that finds frames) has a bug, since
 * it must work with any target.
 */
static inline void host_must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "walker: %s\n", what);
	abort();
}

static inline void host_room(const void *dst, size_t n, const void *buf, size_t size)
{
	uintptr_t at = (uintptr_t)dst, from = (uintptr_t)buf;

	if (at >= from && at < from + size)
		host_must(n <= size - (at - from), "read past the end of a buffer");
}

static inline void host_check_room(const void *dst, size_t n)
{
	struct walk *w = host.interrupted ? &host.second->w : host.w;
	struct staging *staging = host.interrupted ? &host.second->staging : host.staging;
	struct native *native = host.interrupted ? &host.second->native : host.native;

	host_room(dst, n, w->block, sizeof(w->block));
	host_room(dst, n, w->object, sizeof(w->object));
	host_room(dst, n, w->text, sizeof(w->text));
	host_room(dst, n, staging->bytes, STAGING_BYTES);
	host_room(dst, n, native->block, sizeof(native->block));
}

/*
 * Tells whether @got is the frame @want, at the same instruction. If each thread has copies of
 * bytecode (free-threaded 3.14 and later), a failing read may make the instruction unknown.
 */
static inline bool host_same_frame(const struct wire_frame *got, const struct wire_frame *want)
{
	bool unknown = host.layout.code_tlbc && got->lasti == LASTI_UNKNOWN;

	return got->code == want->code && got->check == want->check &&
	       (got->lasti == want->lasti || unknown);
}

static inline uint8_t *host_page(uint64_t addr)
{
	uint64_t *p = map_get(&host.pages, addr / HOST_PAGE);

	return p ? (uint8_t *)(uintptr_t)*p : NULL;
}

static inline uint8_t *page_for_writing(uint64_t addr)
{
	uint8_t *page = host_page(addr);

	if (page)
		return page;
	page = calloc(1, HOST_PAGE);
	host_must(page && !map_put(&host.pages, addr / HOST_PAGE, (uintptr_t)page),
		  "out of memory");
	return page;
}

/* Writes the @n bytes at @data into the target's memory, or zeros if @data is NULL. */
static inline void put(uint64_t addr, const void *data, size_t n)
{
	const uint8_t *from = data;

	while (n) {
		size_t off = addr % HOST_PAGE, some = MIN(n, HOST_PAGE - off);
		uint8_t *page = page_for_writing(addr);

		if (from)
			memcpy(page + off, from, some);
		else
			memset(page + off, 0, some);
		from = from ? from + some : NULL;
		addr += some;
		n -= some;
	}
}

static inline bool host_read_pages(void *dst, uint64_t addr, size_t n)
{
	uint8_t *to = dst;

	if (addr + n < addr)
		return false;
	while (n) {
		size_t off = addr % HOST_PAGE, some = MIN(n, HOST_PAGE - off);
		const uint8_t *page = host_page(addr);

		if (!page)
			return false;
		memcpy(to, page + off, some);
		to += some;
		addr += some;
		n -= some;
	}
	return true;
}

static inline bool host_read(void *dst, uint64_t addr, size_t n)
{
	struct iovec local = {dst, n}, remote = {(void *)(uintptr_t)addr, n};

	if (host.fail_nth && host.reads % host.fail_nth == 0)
		return false;
	if (host.fault_at && addr <= host.fault_at && host.fault_at - addr < n)
		return false;
	if (host.pid)
		return process_vm_readv(host.pid, &local, 1, &remote, 1, 0) == (ssize_t)n;
	return host_read_pages(dst, addr, n);
}

/* Calls .at_read. The counters and the clock of the interrupted stack walk stay as they were. */
static inline void host_interrupt(void)
{
	uint64_t reads = host.reads, bytes = host.bytes, clock_ns = host.clock_ns;

	host.interrupted = true;
	host.at_read();
	host.interrupted = false;
	host.reads = reads;
	host.bytes = bytes;
	host.clock_ns = clock_ns;
}

/* Reads the target's memory as bpf_probe_read_user() does: all @n bytes or none. */
walk_inline long read_user(void *dst, __u32 n, __u64 addr)
{
	if (host.at_read && !host.interrupted)
		host_interrupt();
	host_check_room(dst, n);
	host.reads++;
	host.bytes += n;
	if (host.keep_on_fault) {
		_Alignas(8) static uint8_t copy[STAGING_BYTES];

		host_must(n <= sizeof(copy), "a read larger than any buffer");
		if (!host_read(copy, addr, n))
			return -EFAULT;
		memcpy(dst, copy, n);
		return 0;
	}
	if (host_read(dst, addr, n))
		return 0;
	memset(dst, 0, n);
	return -EFAULT;
}

walk_inline __u64 walk_clock(void)
{
	return host.clock_ns += host.tick_ns;
}

walk_inline struct walk *walk_state(__u32 slot)
{
	return slot ? &host.second->w : host.w;
}

walk_inline struct walk_out *walk_out(__u32 slot)
{
	return slot ? &host.second->out : host.out;
}

walk_inline struct walk_addrs *walk_addrs(__u32 slot)
{
	return slot ? &host.second->addrs : host.addrs;
}

walk_inline struct native *native_state(__u32 slot)
{
	return slot ? &host.second->native : host.native;
}

walk_inline struct native_out *native_out(__u32 slot)
{
	return slot ? &host.second->native_out : host.native_out;
}

walk_inline const struct unwind_chunk *unwind_chunk_at(__u32 number)
{
	return number < host.chunks.n ? host.chunks.v[number] : NULL;
}

walk_inline struct unwind_table *unwind_table_at(__u32 number)
{
	return number < host.tables.n ? &host.tables.v[number] : NULL;
}

walk_inline const struct unwind_rule *unwind_rule_at(__u32 number)
{
	return number < host.rules.n ? &host.rules.v[number] : NULL;
}

walk_inline const struct py_layout *walk_layout(__u32 index)
{
	return index ? NULL : &host.layout;
}

walk_inline struct staging *walk_staging(__u32 slot)
{
	return slot ? &host.second->staging : host.staging;
}

walk_inline long send_bytes(const void *data, __u64 n)
{
	struct host_record r = {.n = n, .bytes = malloc(n)};

	if (host.interrupted) {
		free(r.bytes);
		return 0;
	}
	if (host.refuse) {
		host.refuse--;
		free(r.bytes);
		return -ENOSPC;
	}
	memcpy(r.bytes, data, n);
	host_must(!vec_push(&host.sent, r), "out of memory");
	return 0;
}

walk_inline bool code_seen(__u64 key)
{
	return !host.interrupted && map_get(&host.codes, key);
}

walk_inline void code_mark(__u64 key)
{
	host_must(host.interrupted || !map_put(&host.codes, key, 1), "out of memory");
}

walk_inline bool stack_seen(__u64 id)
{
	return !host.interrupted && map_get(&host.stacks, id);
}

walk_inline void stack_mark(__u64 id)
{
	host_must(host.interrupted || !map_put(&host.stacks, id, 1), "out of memory");
}

walk_inline void count(__u32 counter)
{
	host.counters[counter]++;
}

/*
 * Sets the layout of CPython's structures, as src/sampler does when it loads an interpreter's
 * layout.
 */
static inline void host_set_layout(const struct py_layout *l)
{
	host.layout = *l;
	py_layout_set_block(&host.layout);
}

static inline void host_init(void)
{
	host.w = calloc(1, sizeof(*host.w));
	host.out = calloc(1, sizeof(*host.out));
	host.addrs = calloc(1, sizeof(*host.addrs));
	host.staging = calloc(1, sizeof(*host.staging));
	host.native = calloc(1, sizeof(*host.native));
	host.native_out = calloc(1, sizeof(*host.native_out));
	host.second = calloc(1, sizeof(*host.second));
	host_must(host.second && host.w && host.out && host.addrs && host.staging && host.native &&
			  host.native_out,
		  "out of memory");
}

/* Forgets all records that were sent, so that the next stack walk sends them again. */
static inline void host_forget_sent(void)
{
	vec_foreach(r, &host.sent)
		free(r->bytes);
	host.sent.n = 0;
	memset(host.w->sent, 0, sizeof(host.w->sent));
	map_clear(&host.codes);
	map_clear(&host.stacks);
}

static inline void host_unmap_all(void)
{
	map_foreach(slot, &host.pages)
		free((void *)(uintptr_t)slot->value);
	map_clear(&host.pages);
}

static inline void host_fini(void)
{
	host_forget_sent();
	host_unmap_all();
	vec_fini(&host.sent);
	map_fini(&host.codes);
	map_fini(&host.stacks);
	map_fini(&host.pages);
	free(host.w);
	free(host.out);
	free(host.addrs);
	free(host.staging);
	free(host.native);
	free(host.native_out);
	free(host.second);
	vec_foreach(chunk, &host.chunks)
		free(*chunk);
	vec_fini(&host.chunks);
	vec_fini(&host.tables);
	vec_fini(&host.rules);
	memset(&host, 0, sizeof(host));
}

/*
 * Walks the Python stack of the thread with thread pointer @tp in the interpreter at @where.
 * Returns how the walk ended. The frames are in host.out, their number is w->n.
 */
static inline enum walk_outcome host_walk(const struct py_where *where, uint64_t tp)
{
	struct walk *w = host.w;

	w->proc = (struct proc_key){.start_ns = 1234567, .tgid = 42, .exec_id = 1};
	w->where = *where;
	w->tp = tp;
	host.reads = host.bytes = 0;
	w->began_ns = host.clock_ns;
	walk_python(w, &host.layout);
	host_must(w->n <= ABI_MAX_FRAMES && w->outcome < WALK_OUTCOME_MAX, "state out of range");
	return w->outcome;
}

#endif
