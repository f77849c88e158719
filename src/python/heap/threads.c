/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads names of Python threads from threading._active; see threads.h. */
#include "python/heap/threads.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "proc/read/reader.h"
#include "python/heap/heap.h"
#include "python/heap/tids.h"

#define MAX_INTERPRETERS 256
/* how many bytes of a thread's name are read: at least 256 characters */
#define NAME_BYTES 1024
/* how many threads are read at most: the usual limit of a process (threads-max, pid_max) */
#define MAX_THREADS 32768

void py_thread_names_fini(struct py_thread_names *names)
{
	vec_foreach(t, &names->list)
		free(t->name);
	vec_fini(&names->list);
}

const char *py_thread_name_of(const struct py_thread_names *names, pid_t tid)
{
	vec_foreach(t, &names->list)
		if (t->tid == tid)
			return t->name;
	return NULL;
}

/* A Thread object of `threading`. It isn't known yet which thread of the kernel it stands for. */
struct found {
	/*
	 * Thread._native_id: the tid in the target's PID namespace; 0: the object has no such
	 * attribute
	 */
	uint64_t native;
};

struct reader {
	struct heap heap;
	const struct py_where *where;
	struct py_thread_names *ret;
	VEC(struct found) found; /* Thread objects; found.v[i] belongs to ret->list.v[i] */
	struct map by_ident;	 /* Thread.ident -> index in .found */
	struct py_tids tids;
};

static int put(struct reader *r, uint64_t ident, char *name, uint64_t native)
{
	uint64_t *i = map_get(&r->by_ident, ident);
	int e;

	/*
	 * The list of interpreters begins with the newest and ends with the main interpreter. So if
	 * a thread has several names, the name that is read last replaces the others, and the main
	 * interpreter's name is kept.
	 */
	if (i) {
		free(r->ret->list.v[*i].name);
		r->ret->list.v[*i].name = name;
		r->found.v[*i].native = native;
		return 0;
	}
	e = vec_reserve(&r->found, r->found.n + 1);
	if (!e)
		e = vec_reserve(&r->ret->list, r->ret->list.n + 1);
	if (!e)
		e = map_put(&r->by_ident, ident, r->ret->list.n);
	if (e) {
		free(name);
		return e;
	}
	r->found.v[r->found.n++] = (struct found){native};
	r->ret->list.v[r->ret->list.n++] = (struct py_thread_name){ident, 0, name};
	return 0;
}

/*
 * Reads the name of a Thread, and its native id; *native is 0 if the Thread has no native id. 0 or
 * -errno.
 */
static int read_thread(struct heap *h, uint64_t thread, struct str *name, uint64_t *native)
{
	heap_items attrs = {};
	int e = heap_attrs(h, thread, &attrs);

	if (!e)
		e = heap_str_begin(
			h,
			heap_find(h, &attrs,
				  PY_HAS(h->l->can, OLD_CLASSES) ? "_Thread__name" : "_name"),
			NAME_BYTES, name);
	if (e || !PY_HAS(h->l->can, NATIVE_ID) ||
	    !heap_int(h, heap_find(h, &attrs, "_native_id"), native))
		*native = 0;
	vec_fini(&attrs);
	return e;
}

static int add_thread(struct reader *r, const struct heap_item *item)
{
	_cleanup_str_ struct str name = {};
	uint64_t ident, native;
	char *text;

	if (r->ret->list.n >= MAX_THREADS || !heap_int(&r->heap, item->key, &ident) ||
	    read_thread(&r->heap, item->value, &name, &native) || !name.n)
		return 0;
	text = str_take(&name);
	return text ? put(r, ident, text, native) : -ENOMEM;
}

static int read_interpreter(struct reader *r, uint64_t interp)
{
	uint64_t active = heap_module_find(&r->heap, interp, "threading", "_active");
	heap_items items = {};
	int e = 0;

	if (active && !heap_dict(&r->heap, active, &items)) {
		vec_foreach(item, &items) {
			e = add_thread(r, item);
			if (e)
				break;
		}
	}
	vec_fini(&items);
	return e;
}

static int read_interpreters(struct reader *r)
{
	const struct py_layout *l = r->heap.l;
	uint64_t interp;
	int e = heap_read(&r->heap, r->where->interp_head, &interp, sizeof(interp));

	for (int i = 0; !e && interp && i < MAX_INTERPRETERS; i++) {
		e = read_interpreter(r, interp);
		interp = heap_ptr(&r->heap, interp + l->interp_next);
	}
	return e;
}

/*
 * The question to the child process that reads memory. The child answers with an array of struct
 * packed, each followed by the thread's name.
 */
struct question {
	struct py_layout layout;
	struct py_where where;
};

struct packed {
	uint64_t ident, native;
	/*
	 * how many bytes the thread's name takes, with its NUL and padding; the name follows this
	 * struct
	 */
	size_t n;
};

/* Packs the names into an answer. Returns the answer's length, or -ENOBUFS. */
static ssize_t pack(const struct reader *r, uint8_t *bytes, size_t most)
{
	size_t n = 0;

	vec_foreach(t, &r->ret->list) {
		size_t name = strlen(t->name) + 1;
		struct packed p = {t->ident, r->found.v[t - r->ret->list.v].native,
				   (name + 7) / 8 * 8};

		if (most - n < sizeof(p) + p.n)
			return -ENOBUFS;
		memcpy(bytes + n, &p, sizeof(p));
		memset(bytes + n + sizeof(p), 0, p.n);
		memcpy(bytes + n + sizeof(p), t->name, name);
		n += sizeof(p) + p.n;
	}
	return (ssize_t)n;
}

static int unpack(struct reader *r, const uint8_t *bytes, size_t n)
{
	struct packed p;
	int e = 0;

	for (; !e && n >= sizeof(p); bytes += p.n, n -= p.n) {
		char *name;

		memcpy(&p, bytes, sizeof(p));
		bytes += sizeof(p);
		n -= sizeof(p);
		if (p.n > n)
			return -EINVAL;
		name = strndup((const char *)bytes, p.n);
		e = name ? put(r, p.ident, name, p.native) : -ENOMEM;
	}
	return e;
}

static void begin(struct reader *r, pid_t pid, const struct py_layout *layout,
		  const struct py_where *where, struct py_thread_names *ret)
{
	*r = (struct reader){.where = where, .ret = ret};
	heap_init(&r->heap, pid, layout);
	map_init(&r->by_ident);
	map_init(&r->tids.by_native);
}

static void end(struct reader *r)
{
	map_fini(&r->by_ident);
	py_tids_fini(&r->tids);
	vec_fini(&r->found);
}

/*
 * Reads the names of threads. A reader_task (proc/read/reader.h), which runs in the child process
 * that reads memory.
 */
static ssize_t read_names(pid_t pid, void *bytes, size_t most)
{
	_cleanup_free_ struct heap_pages *pages = heap_pages_new();
	const struct question q = *(const struct question *)bytes;
	struct py_thread_names names = {};
	struct reader r;
	ssize_t n;

	begin(&r, pid, &q.layout, &q.where, &names);
	r.heap.pages = pages;
	n = read_interpreters(&r);
	if (!n)
		n = pack(&r, bytes, most);
	end(&r);
	py_thread_names_fini(&names);
	return n;
}

/*
 * Asks the child process that reads memory for the names. 0; -ENOBUFS: the names don't fit into an
 * answer; -errno.
 */
static int ask_names(struct reader *r, pid_t pid)
{
	_cleanup_free_ uint8_t *bytes = malloc(READER_TASK_BYTES);
	ssize_t n;

	if (!bytes)
		return -ENOMEM;
	*(struct question *)bytes = (struct question){*r->heap.l, *r->where};
	n = reader_run(pid, -1, read_names, bytes, sizeof(struct question), READER_TASK_BYTES);
	return n < 0 ? (int)n : unpack(r, bytes, (size_t)n);
}

static pid_t task_by_pointer(const struct reader *r, uint64_t ident,
			     const struct py_thread_id *known, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (known[i].tp + (uint64_t)(int64_t)r->where->self_offset == ident)
			return known[i].tid;
	return 0;
}

static void resolve(struct reader *r, const struct py_thread_id *known, size_t n)
{
	for (size_t i = 0; i < r->ret->list.n; i++) {
		struct py_thread_name *t = &r->ret->list.v[i];

		t->tid = task_by_pointer(r, t->ident, known, n);
		if (!t->tid)
			t->tid = py_tid_by_native(&r->tids, r->found.v[i].native);
		if (!t->tid)
			t->tid = py_tid_by_ident(&r->tids, &r->heap, r->where, t->ident);
	}
}

int py_thread_names(pid_t pid, const struct py_layout *layout, const struct py_where *where,
		    const struct py_thread_id *known, size_t n, struct py_thread_names *ret)
{
	_cleanup_free_ struct heap_pages *pages = NULL;
	struct reader r;
	int e;

	if (!heap_is_known(layout->version) || !layout->interp_modules || !where->interp_head)
		return -ENOTSUP;
	begin(&r, pid, layout, where, ret);
	e = ask_names(&r, pid);
	if (e == -ENOBUFS || ret->list.n)
		r.heap.pages = pages = heap_pages_new();
	if (e == -ENOBUFS)
		e = read_interpreters(&r);
	if (!e && ret->list.n)
		e = py_tids_read(&r.tids, pid);
	if (!e)
		resolve(&r, known, n);
	end(&r);
	return e;
}
