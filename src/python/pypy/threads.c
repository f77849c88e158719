/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds PyPy's list of threads. Its head is a variable without a symbol, near the end of the data
 * of PyPy's file. Only the head of a ring of blocks has -1 where its neighbours have PYPY_READY.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "python/pypy/internal.h"

/* how much of the data is looked through at most */
#define SEARCH_BYTES (64u << 20)
#define STEP_BYTES   (64u << 10)
/* how many places that look like the head are looked at, by reading its neighbours */
#define MOST_HEADS 4096
/* the list may have so many more blocks than the process had threads when these were counted */
#define MORE_THREADS 64

static int block_read(const struct pypy *p, uint64_t addr, struct pypy_block *ret)
{
	return pypy_peek(p, addr, ret, sizeof(*ret));
}

/* Is @b, a block at @addr, the head of a ring? */
static bool is_head(const struct pypy *p, const struct pypy_block *b, uint64_t addr, unsigned *left)
{
	struct pypy_block next, prev;

	if (b->ready != -1 || b->stack_end || !b->next || !b->prev)
		return false;
	--*left;
	return !block_read(p, b->next, &next) && !block_read(p, b->prev, &prev) &&
	       next.ready == PYPY_READY && next.prev == addr && prev.ready == PYPY_READY &&
	       prev.next == addr;
}

/*
 * Looks through @n bytes of data at @start, from the end on. *left: what is left of
 * MOST_HEADS.
 */
static bool search(struct pypy *p, const uint8_t *data, size_t n, uint64_t start, unsigned *left)
{
	struct pypy_block b;

	for (size_t at = n & ~7ul; at >= sizeof(b) && *left; at -= 8) {
		size_t i = at - sizeof(b);

		memcpy(&b, data + i, sizeof(b));
		if (is_head(p, &b, start + i, left)) {
			p->threads = start + i;
			return true;
		}
	}
	return false;
}

/* Looks through a mapping from its end on. Each step also has the first block of the one before. */
static bool search_mapping(struct pypy *p, const struct mapping *m)
{
	const size_t most = STEP_BYTES + sizeof(struct pypy_block);
	_cleanup_free_ uint8_t *data = malloc(most);
	unsigned left = MOST_HEADS;
	uint64_t end = m->end, until = MAX(m->start, m->end - MIN(m->end, (uint64_t)SEARCH_BYTES));

	while (data && end > until) {
		uint64_t start = end - MIN(end - until, (uint64_t)STEP_BYTES);
		size_t n = (size_t)MIN(m->end - start, (uint64_t)most);

		if (!pypy_peek(p, start, data, n) && search(p, data, n, start, &left))
			return true;
		end = start;
	}
	return false;
}

int pypy_head_find(struct pypy *p, const struct maps *maps)
{
	/* the GIL's word is behind the file's data, in memory that begins as zeros */
	for (size_t i = maps->list.n; i-- > 0;) {
		const struct mapping *m = &maps->list.v[i];

		if (m->start <= p->gil && m->ino && m->prot & PROT_WRITE)
			return search_mapping(p, m) ? 0 : -ENOENT;
	}
	return -ENOENT;
}

struct lister {
	const struct pypy *p;
	const struct py_tids *tids;
	struct heap heap;
	pypy_threads *ret;
	uint16_t offset;
};

/*
 * Calls @fn for each block until it returns anything else but 0, and returns that. -EAGAIN: the
 * list changed meanwhile, or is too long.
 */
static int each_block(struct lister *l, int (*fn)(struct lister *l, uint64_t addr))
{
	size_t left = l->tids->by_native.n + MORE_THREADS;
	struct pypy_block b;
	uint64_t at = l->p->threads;
	int r = block_read(l->p, at, &b);

	while (!r && b.next != l->p->threads && left--) {
		uint64_t before = at;

		at = b.next;
		r = block_read(l->p, at, &b);
		if (!r && (b.ready != PYPY_READY || b.prev != before))
			r = -EAGAIN;
		r = r ? r : fn(l, at);
	}
	return r || b.next == l->p->threads ? r : -EAGAIN;
}

static pid_t tid_at(struct lister *l, uint64_t ident)
{
	static const struct py_where glibc;

	return py_tid_by_ident(l->tids, &l->heap, &glibc, ident);
}

static int add_thread(struct lister *l, uint64_t addr)
{
	struct pypy_thread t = {.block = addr};
	int r = pypy_word(l->p, addr + l->p->at.ident, &t.ident);

	t.tid = r ? 0 : tid_at(l, t.ident);
	return r ? r : vec_push(l->ret, t);
}

int pypy_threads_read(const struct pypy *p, const struct py_tids *tids, pypy_threads *ret)
{
	static const struct py_layout none;
	struct lister l = {.p = p, .tids = tids, .ret = ret};

	heap_init(&l.heap, p->pid, &none);
	return each_block(&l, add_thread);
}

#define NO_IDENT 1 /* ends each_block() */

static int try_ident(struct lister *l, uint64_t addr)
{
	uint64_t ident;

	int r = pypy_word(l->p, addr + l->offset, &ident);

	return r ? r : tid_at(l, ident) ? 0 : NO_IDENT;
}

int pypy_ident_find(struct pypy *p, const struct py_tids *tids)
{
	static const struct py_layout none;
	struct lister l = {.p = p, .tids = tids};
	int r;

	heap_init(&l.heap, p->pid, &none);
	for (l.offset = sizeof(struct pypy_block); l.offset < PYPY_BLOCK_BYTES; l.offset += 8) {
		r = each_block(&l, try_ident);
		if (r < 0)
			return r == -EAGAIN ? -ENOENT : r;
		if (!r) {
			p->at.ident = l.offset;
			return 0;
		}
	}
	return -ENOENT;
}
