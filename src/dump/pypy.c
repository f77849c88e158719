/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the stacks of a PyPy's threads, and gives the collector (src/collect) the records that the
 * kernel programs would send for a CPython 3.11 with the same functions.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/system/clock.h"
#include "base/text/str.h"
#include "check.h"
#include "dump/internal.h"
#include "python/layout/tables.h"
#include "python/pypy/pypy.h"

/* the most bytes of line tables that are read of a process */
#define TABLES_BYTES (64u << 20)

/* how long the reading of one process may take in all */
#define READ_NS (2 * NSEC_PER_SEC)

/* how many times the list of threads is read, while threads begin and end */
#define LIST_TRIES 5

/* how many times the structures are looked for while the process changes */
#define OPEN_TRIES 3

struct dump_pypy {
	struct pypy reader;
	pypy_threads threads;
	bool whole;	   /* .threads has all threads that PyPy knew when it was read */
	uint64_t spent_ns; /* how much of READ_NS is spent */
	uint64_t tables;   /* how many of TABLES_BYTES are spent */
	uint16_t layout;   /* index of the layout of CPython 3.11, which records have to name */
};

/* A function of the stack that is being read. */
struct function {
	uint64_t addr, check;
	bool hidden;
};

struct stack {
	pypy_frames frames;
	VEC(struct function) functions;
	VEC(struct wire_frame) wire;
};

void dump_pypy_close(struct dump_pypy *p)
{
	if (p)
		vec_fini(&p->threads);
	free(p);
}

/* Lets the reader read for as long as is left of READ_NS. Returns the time now. */
static uint64_t begin(struct dump_pypy *p)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	p->reader.until_ns = now + READ_NS - MIN(p->spent_ns, READ_NS);
	return now;
}

static void end(struct dump_pypy *p, uint64_t began_ns)
{
	p->spent_ns += clock_ns(CLOCK_MONOTONIC) - began_ns;
}

static int open_reader(struct dump_pypy *p, struct proc *proc, uint64_t gil)
{
	_cleanup_maps_ struct maps maps = {};
	struct py_tids tids = {};
	int r = proc_maps(proc, MAPS_ALL, &maps);
	uint64_t began_ns = begin(p);

	for (int i = 0; !r && i < OPEN_TRIES; i++) {
		r = py_tids_read(&tids, proc->tgid);
		r = r ? r
		      : pypy_open(&p->reader, proc->tgid, &maps, gil, &tids, p->reader.until_ns);
		py_tids_fini(&tids);
		if (r != -ENOENT && r != -EAGAIN)
			break;
		r = i + 1 < OPEN_TRIES ? 0 : r;
	}
	end(p, began_ns);
	return r;
}

bool dump_pypy_open(struct dump *d, struct proc *proc, struct dump_pypy **ret)
{
	const struct py_layout *layout = py_layout_table(PY_PYPY_TRIED, PY_PYPY_PATCH);
	uint64_t gil = collect_pypy_gil(d->collect);
	struct dump_pypy *p = gil && layout ? calloc(1, sizeof(*p)) : NULL;

	if (p && !dump_collect_ops.add_layout(d, layout, &p->layout) &&
	    !open_reader(p, proc, gil)) {
		*ret = p;
		return true;
	}
	free(p);
	return false;
}

uint16_t dump_pypy_version(void)
{
	return PY_PYPY_TRIED;
}

void dump_pypy_introduce(struct dump *d, const struct target *t)
{
	collect_set_unsupported(d->collect, &t->key,
				"PyPy 3.11 in code of its JIT, with its GIL, or in a greenlet");
}

static int list_threads(struct dump_pypy *p)
{
	struct py_tids tids = {};
	int r = py_tids_read(&tids, p->reader.pid);

	p->whole = false;
	for (int i = 0; !r && !p->whole && i < LIST_TRIES; i++) {
		p->threads.n = 0;
		r = pypy_threads_read(&p->reader, &tids, &p->threads);
		p->whole = !r;
		r = r == -ENOMEM ? r : 0;
	}
	py_tids_fini(&tids);
	return r;
}

int dump_pypy_list(struct dump_pypy *p)
{
	uint64_t began_ns = begin(p);
	int r = list_threads(p);

	end(p, began_ns);
	return r;
}

/*
 * Finds what PyPy knows of thread @tid. 1; 0: PyPy doesn't know the thread; -EAGAIN: its list
 * changed while it was read, and doesn't have the thread.
 */
static int thread_of(struct dump_pypy *p, pid_t tid, struct pypy_thread *ret)
{
	for (int i = 0; i < 2; i++) {
		vec_foreach(t, &p->threads)
			if (t->tid == tid) {
				*ret = *t;
				return 1;
			}
		if (p->whole || list_threads(p))
			break;
	}
	return p->whole ? 0 : -EAGAIN;
}

static void add_text(struct str *s, struct wire_text *w, const struct pypy_text *text)
{
	static const uint8_t zeros[8];

	*w = (struct wire_text){.addr = text->addr, .len = text->len, .bytes = text->bytes};
	str_add_n(s, text->v, text->bytes);
	str_add_n(s, zeros, WIRE_PADDED(text->bytes) - text->bytes);
}

/*
 * Sends code object @code, which is at @addr, to the collector. Objects move, so a hash over all
 * that is sent tells which code object it is. 0: no memory.
 */
static uint64_t send_code(struct dump *d, const struct target *t, uint64_t addr,
			  const struct pypy_code *code)
{
	struct rec_code rec = {.type = REC_CODE,
			       .layout = t->pypy->layout,
			       .firstlineno = code->firstlineno,
			       .code = addr,
			       .proc = t->key};
	struct str s = {};
	bool failed;

	str_add_n(&s, &rec, sizeof(rec));
	add_text(&s, &rec.text[CODE_FILENAME], &code->filename);
	add_text(&s, &rec.text[CODE_NAME], &code->name);
	add_text(&s, &rec.text[CODE_QUALNAME], &code->qualname);
	add_text(&s, &rec.text[CODE_LINETABLE], &code->linetable);
	failed = s.failed;
	if (!failed) {
		rec.check = check_bytes(check_mix(0, (uint32_t)rec.firstlineno),
					(const uint8_t *)s.s + sizeof(rec), s.n - sizeof(rec)) |
			    1;
		memcpy(s.s, &rec, sizeof(rec));
		collect_record(d->collect, s.s, s.n);
	}
	str_fini(&s);
	return failed ? 0 : rec.check;
}

static const struct function *known(const struct stack *s, uint64_t addr)
{
	vec_foreach(f, &s->functions)
		if (f->addr == addr)
			return f;
	return NULL;
}

/* Reads the code objects of all frames. 0; -EAGAIN: one has changed; -errno. */
static int read_functions(struct dump *d, const struct target *t, struct stack *s)
{
	int r = 0;

	vec_foreach(f, &s->frames) {
		struct function one = {.addr = f->code};
		struct pypy_code code;

		if (r || known(s, f->code))
			continue;
		r = pypy_code_read(&t->pypy->reader, f->code, &code);
		if (r)
			continue;
		t->pypy->tables += code.linetable.bytes;
		one.hidden = code.hidden;
		one.check = send_code(d, t, f->code, &code);
		pypy_code_fini(&code);
		if (!one.check || vec_push(&s->functions, one))
			r = -ENOMEM;
		if (t->pypy->tables > TABLES_BYTES)
			r = -E2BIG;
	}
	return r;
}

static int make_frames(const struct dump *d, struct stack *s)
{
	int r = 0;

	vec_foreach(f, &s->frames) {
		const struct function *one = known(s, f->code);

		if (one->hidden && !d->config.interpreter_frames)
			continue;
		r = r ? r
		      : vec_push(&s->wire, (struct wire_frame){.code = f->code,
							       .check = one->check,
							       .lasti = f->lasti});
	}
	if (!r && s->wire.n)
		s->wire.v[s->wire.n - 1].flags = FRAME_ENTRY;
	return r;
}

static bool same_frames(const pypy_frames *a, const pypy_frames *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->v, b->v, a->n * sizeof(*a->v)));
}

/* Reads the thread's stack, and proves it by reading the frames again. */
static int read_stack(struct dump *d, const struct target *t, const struct pypy_thread *thread,
		      struct stack *s)
{
	const struct pypy *p = &t->pypy->reader;
	pypy_frames again = {};
	int whole = pypy_frames_read(p, thread, &s->frames), r = MIN(whole, 0);

	r = r ? r : read_functions(d, t, s);
	r = r ? r : MIN(pypy_frames_read(p, thread, &again), 0);
	if (!r && !same_frames(&s->frames, &again))
		r = -EAGAIN;
	vec_fini(&again);
	r = r ? r : make_frames(d, s);
	return r ? r : whole;
}

static enum walk_outcome outcome_of(int r)
{
	return r > 0 ? WALK_OK : r ? WALK_UNSUPPORTED : WALK_TRUNCATED;
}

bool dump_pypy_walk(struct dump *d, const struct target *t, struct dump_thread *thread,
		    const struct walker_thread *w, uint64_t *hash)
{
	struct stack s = {};
	struct pypy_thread of = {};
	uint64_t began_ns = begin(t->pypy);
	int r = thread_of(t->pypy, thread->tid, &of);

	thread->python = r;
	thread->ident = of.ident;
	r = r == 1 ? read_stack(d, t, &of, &s) : r ? r : 1;
	end(t->pypy, began_ns);
	thread->gil = r == -EBUSY ? GIL_HELD : thread->python ? GIL_UNKNOWN : GIL_NONE;
	thread->outcome = outcome_of(r);
	if (r < 0)
		s.wire.n = 0;
	*hash = walker_take(d->walker, w, s.wire.v, s.wire.n, thread->outcome);
	vec_fini(&s.frames);
	vec_fini(&s.functions);
	vec_fini(&s.wire);
	return r >= 0 || r == -EOPNOTSUPP || r == -EBUSY || r == -E2BIG || r == -ETIMEDOUT;
}
