/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the list of code that a process has registered for gdb. The list is read again when it
 * changes. A stack's frames get names from the reading that was made while their code was there.
 * See registered.c.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "collect/madecode/made.h"
#include "proc/read/maps.h"
#include "python/heap/peek.h"
#include "symbol/madecode/gdb_jit.h"

/*
 * Limit of the work for one reading of a process's lists. The lists of a program with a thousand
 * functions of 1 KB take 40 ms.
 */
#define READ_WORK (50 * SLICE_MS)
/* limit of the work for a reading before sampling begins */
#define READ_WORK_START (200 * SLICE_MS)
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

bool reading_looks_same(const struct process *p, const struct reading *r)
{
	pid_t pid = (pid_t)p->key.tgid;

	return gdb_jit_looks_same(r->jit, peek_process, &pid);
}

size_t reading_bytes(const struct reading *r)
{
	return (r->jit ? gdb_jit_bytes(r->jit) : 0) + r->code.cap * sizeof(*r->code.v) +
	       r->compiled.cap * sizeof(*r->compiled.v) + unwind_rows_bytes(&r->rows);
}

void reading_fini(struct reading *r)
{
	gdb_jit_free(r->jit);
	vec_fini(&r->compiled);
	vec_fini(&r->code);
	unwind_rows_fini(&r->rows);
	*r = (struct reading){};
}

/*
 * Reads the mappings whose code the lists may name. The mappings are read after the lists, because
 * code can be registered before it is executable.
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

/* Joins the unwind rows of all registered code of a process into one table. */
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

int reading_read(struct collect *c, struct process *p, struct reading *ret)
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

const struct reading *reading_of(const struct process *p, const struct space_map *m, uint64_t pc)
{
	const struct registered *reg = &p->made->registered;

	for (size_t i = 0; i < ARRAY_SIZE(reg->readings); i++) {
		const struct reading *r = &reg->readings[i];
		size_t k = count_upto(r->code.v, r->code.n, end, pc);

		if (r->jit && r->from_ns >= m->since_ns && r->to_ns < m->remade_ns &&
		    k < r->code.n && r->code.v[k].start <= pc)
			return r;
	}
	return NULL;
}

const struct space_map *reading_map(struct collect *c, const struct raw_stack *raw, uint64_t pc,
				    const struct space **s)
{
	struct process *p = process_at(c, raw->process);
	const struct space_map *m;

	*s = c->config.sees_mapped && !p->replaced ? space_at(c, raw->native->version) : NULL;
	m = *s ? space_map_at(*s, pc) : NULL;
	return m && m->lasting ? m : NULL;
}

const struct reading *reading_of_stack(struct collect *c, const struct raw_stack *raw, uint64_t pc)
{
	const struct space *s;
	const struct space_map *m = reading_map(c, raw, pc, &s);

	return m && s->process == raw->process && (raw->flush < c->flushes || c->last)
		       ? reading_of(process_at(c, raw->process), m, pc)
		       : NULL;
}
