/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Images of interpreters: the memory of a thread with a given chain of frames, built for each
 * version. The offsets are those of src/python, which tests/layout compares with the headers. How
 * structures refer to each other comes from CPython's sources, independently of src/python:
 * Include/internal/pycore_frame.h, Include/cpython/{code,frameobject,pystate}.h.
 */
#ifndef TESTS_HOST_WALK_WALK_IMAGE_H
#define TESTS_HOST_WALK_WALK_IMAGE_H

#include "walk_host.h"

#include "../../unit/debug_offsets.h"
#include "python/layout/tables.h"

#define IMAGE_HEAP    0x555500000000ull
#define IMAGE_STACK   0x7f1200000000ull
#define IMAGE_C_STACK 0x7f3380000000ull
#define IMAGE_TP      0x7f3400000740ull
#define IMAGE_KEY     5 /* number of the pthread key of thread states */
#define IMAGE_TSD     0x310
#define NO_HASH	      (~0ull)

struct release {
	const char *name;
	uint16_t version;
	bool trace_refs;
	const uint64_t *debug; /* the release's debug offsets (3.13 and later) */
	size_t n;
};

static const struct release releases[] = {
	{"2.7", 0x207},
	{"2.7d", 0x207, true},
	{"3.6", 0x306},
	{"3.6d", 0x306, true},
	{"3.7", 0x307},
	{"3.7d", 0x307, true},
	{"3.8", 0x308},
	{"3.9", 0x309},
	{"3.10", 0x30a},
	{"3.11", 0x30b},
	{"3.11 trace-refs", 0x30b, true},
	{"3.12", 0x30c},
	{"3.13", 0x30d, false, debug_offsets_3_13, ARRAY_SIZE(debug_offsets_3_13)},
	{"3.13t", 0x30d, false, debug_offsets_3_13t, ARRAY_SIZE(debug_offsets_3_13t)},
	{"3.14", 0x30e, false, debug_offsets_3_14, ARRAY_SIZE(debug_offsets_3_14)},
	{"3.14t", 0x30e, false, debug_offsets_3_14t, ARRAY_SIZE(debug_offsets_3_14t)},
	{"3.15", 0x30f, false, debug_offsets_3_15, ARRAY_SIZE(debug_offsets_3_15)},
	{"3.15t", 0x30f, false, debug_offsets_3_15t, ARRAY_SIZE(debug_offsets_3_15t)},
};

static struct image {
	const struct release *release;
	const struct py_layout *l; /* the layout in `host` */
	struct py_where where;
	uint64_t heap, stack, tstate, none;
	uint64_t c_stack;	 /* top of the C stack, which grows downwards */
	int shim;		 /* 3.12: bytes from _PyCFrame to frame of an evaluation loop */
	uint64_t cframe;	 /* 3.11, 3.12: _PyCFrame of the innermost evaluation loop */
	uint64_t chunk;		 /* address of the present chunk of the data stack */
	uint64_t previous_chunk; /* _PyStackChunk.previous of the present chunk */
	unsigned chunks;
	uint32_t next_version;
} image;

static inline void put_u64(uint64_t addr, uint64_t v)
{
	put(addr, &v, sizeof(v));
}

static inline void put_u32(uint64_t addr, uint32_t v)
{
	put(addr, &v, sizeof(v));
}

static inline void put_u8(uint64_t addr, uint8_t v)
{
	put(addr, &v, sizeof(v));
}

static inline uint64_t get_u64(uint64_t addr)
{
	uint64_t v = 0;

	host_must(host_read_pages(&v, addr, sizeof(v)), "the test reads what it never wrote");
	return v;
}

static inline void unmap(uint64_t addr)
{
	free(host_page(addr));
	map_del(&host.pages, addr / HOST_PAGE);
}

/* Allocates @n zeroed bytes of the target's memory, aligned as malloc() does. */
static inline uint64_t image_alloc(size_t n)
{
	uint64_t at = image.heap;

	put(at, NULL, n);
	image.heap = (at + n + 15) & ~15ull;
	return at;
}

/* Makes a compact str (2.7: a byte string) of @len code points of @kind bytes. */
static inline uint64_t image_str(const void *data, size_t len, unsigned kind, bool ascii,
				 uint64_t hash)
{
	const struct py_layout *l = image.l;
	size_t at = !l->str_state || ascii ? l->str_ascii : l->str_compact;
	uint64_t s = image_alloc(at + (len + 1) * kind + 24);

	put_u64(s + l->str_length, len);
	put_u64(s + l->str_hash, hash);
	if (l->str_state)
		put_u32(s + l->str_state, (kind | 8 | (ascii ? 16 : 0)) << l->str_kind_shift);
	put(s + at, data, len * kind);
	return s;
}

static inline uint64_t image_text(const char *text)
{
	return image_str(text, strlen(text), 1, true, NO_HASH);
}

static inline uint64_t image_bytes(const void *data, size_t n, uint64_t hash)
{
	const struct py_layout *l = image.l;
	uint64_t b = image_alloc(l->bytes_data + n + 8);

	put_u64(b + l->str_length, n);
	put_u64(b + l->str_hash, hash);
	put(b + l->bytes_data, data, n);
	return b;
}

#define IMAGE_UNITS  100 /* number of instructions of a code object, 2 bytes each */
#define IMAGE_COPIES 4

/*
 * Free-threaded 3.14 and later: gives the code object @code @n copies of its bytecode. The first is
 * the main copy, in the code object itself.
 */
static inline void image_make_copies(uint64_t code, uint64_t n)
{
	uint64_t array = image_alloc(8 + 8 * n);

	/* PyVarObject.ob_size: number of instructions */
	put_u64(code + image.l->str_length, IMAGE_UNITS);
	put_u64(code + image.l->code_tlbc, array);
	put_u64(array, n);
	put_u64(array + 8, code + image.l->code_adaptive);
	for (uint64_t i = 1; i < n; i++)
		put_u64(array + 8 + 8 * i, image_alloc(2 * IMAGE_UNITS));
}

/* Returns the address of entry @i of the _PyCodeArray, which points to copy @i of @code. */
static inline uint64_t image_copy_entry(uint64_t code, uint64_t i)
{
	return get_u64(code + image.l->code_tlbc) + 8 + 8 * i;
}

/*
 * Makes a code object with these objects as its texts. From 3.12 on, it gets a co_version of its
 * own.
 */
static inline uint64_t image_code_of(uint64_t file, uint64_t name, uint64_t table, int firstlineno)
{
	const struct py_layout *l = image.l;
	uint64_t code = image_alloc(512);

	put_u64(code + l->code_filename, file);
	put_u64(code + l->code_name, name);
	if (l->code_qualname)
		put_u64(code + l->code_qualname, name);
	put_u64(code + l->code_linetable, table);
	put_u32(code + l->code_firstlineno, (uint32_t)firstlineno);
	if (l->code_version)
		put_u32(code + l->code_version, image.next_version++);
	if (l->code_tlbc)
		image_make_copies(code, IMAGE_COPIES);
	return code;
}

static inline uint64_t image_code(const char *name)
{
	static const uint8_t table[] = {0x80, 0, 2, 4, 6};

	return image_code_of(image_text("/srv/app.py"), image_text(name),
			     image_bytes(table, sizeof(table), NO_HASH), 10);
}

/* Stores the address of the thread's PyThreadState where the C library keeps it. */
static inline void image_tss(void)
{
	struct py_where *w = &image.where;

	if (image.l->version < 0x300) {
		w->tss = PY_TSS_NONE;
		w->interp_head = image_alloc(8);
		put_u64(w->interp_head, image_alloc(64));
		put_u64(get_u64(w->interp_head) + image.l->interp_tstate_head, image.tstate);
		return;
	}
	if (image.l->version >= 0x30f) {
		w->tss = PY_TSS_TLS_STATIC;
		w->tls_offset = -40;
		put_u64(IMAGE_TP - 40, image.tstate);
		return;
	}
	w->tss = PY_TSS_KEY_GLIBC;
	w->tsd_offset = IMAGE_TSD;
	w->tss_key = image_alloc(16) + 4;
	put_u32(w->tss_key - 4, 1);
	put_u32(w->tss_key, IMAGE_KEY);
	put_u64(IMAGE_TP + IMAGE_TSD + 16 * IMAGE_KEY + 8, image.tstate);
}

/*
 * 3.11, 3.12: there is a _PyCFrame for each evaluation loop in C; the first one is in the thread
 * state.
 */
static inline void image_set_cframe(uint64_t cframe)
{
	if (image.l->walk != PY_WALK_CFRAME)
		return;
	put_u64(cframe + image.l->cframe_current_frame, 0);
	put_u64(cframe + image.l->cframe_current_frame + 8, image.cframe);
	put_u64(image.tstate + image.l->tstate_frame, cframe);
	image.cframe = cframe;
}

static inline void image_no_loop(void)
{
	image.cframe = 0;
	image_set_cframe(image.tstate + image.l->tstate_root_cframe);
}

static inline void image_begin(const struct release *r)
{
	struct py_layout l;

	host_unmap_all();
	host_forget_sent();
	host.fail_nth = 0;
	host.fault_at = 0;
	if (r->debug)
		host_must(!py_layout_from_debug_offsets((const uint8_t *)r->debug,
							r->n * sizeof(uint64_t), &l),
			  "debug offsets");
	else
		l = *py_layout_table(r->version, 10);
	if (r->trace_refs)
		py_layout_trace_refs(&l);
	host_set_layout(&l);
	image = (struct image){.release = r,
			       .l = &host.layout,
			       .heap = IMAGE_HEAP,
			       .stack = IMAGE_STACK,
			       .c_stack = IMAGE_C_STACK,
			       .shim = 112,
			       .chunk = IMAGE_STACK,
			       .next_version = 1000};
	image.none = image_alloc(16);
	image.tstate = image_alloc(512);
	put_u64(image.tstate + image.l->tstate_thread_id, IMAGE_TP);
	if (image.l->tstate_exc_info)
		put_u64(image.tstate + image.l->tstate_exc_info,
			image.tstate + image.l->tstate_exc_state);
	image_tss();
	image_no_loop();
}

/*
 * 3.12 and later: sets the count of code objects that the only interpreter has made. Returns the
 * address of the count.
 */
static inline uint64_t image_count_codes(uint32_t n)
{
	image.where.interp_head = image_alloc(PY_NEXT_ID + 8);
	put_u64(image.where.interp_head + PY_NEXT_ID, 1);
	image.where.codes_made = image_alloc(8);
	put_u32(image.where.codes_made, n);
	return image.where.codes_made;
}

/* Makes @frame the thread's innermost frame. */
static inline void image_enter(uint64_t frame)
{
	if (image.l->walk == PY_WALK_CFRAME)
		put_u64(image.cframe + image.l->cframe_current_frame, frame);
	else
		put_u64(image.tstate + image.l->tstate_frame, frame);
}

static inline enum walk_outcome image_walk(void)
{
	return host_walk(&image.where, IMAGE_TP);
}

/* Runs @test for each release, with an empty memory image. */
static inline void each_release(void (*test)(void))
{
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		image_begin(&releases[i]);
		printf("%s\n", releases[i].name);
		test();
	}
}

#endif
