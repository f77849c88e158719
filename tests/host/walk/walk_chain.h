/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chains of frames for the memory images of walk_image.h. A plan says which frames there are, and
 * is laid out in memory as each version of Python would. So the frames that a walk must find are
 * known.
 */
#ifndef TESTS_HOST_WALK_WALK_CHAIN_H
#define TESTS_HOST_WALK_WALK_CHAIN_H

#include "walk_image.h"

#define CHAIN_MAX 4096
#define EXC_STATE 32 /* 3.11, 3.12: bytes from a generator's gi_exc_state to its frame */

enum link {
	CALL,	   /* called from Python */
	GENERATOR, /* a generator's frame on the heap, resumed from Python */
	/* called from C code, which began a new evaluation loop for the frame */
	FROM_C,
	RESUMED_FROM_C, /* a generator's frame, resumed from C code */
};

/* The frames to build, the outermost first. */
struct plan {
	size_t n;
	struct planned {
		enum link link;
		uint64_t code;
		int lasti;
		size_t locals; /* bytes that the frame's local variables take */
		/*
		 * the frame begins a new chunk of the data stack, because it didn't fit into the
		 * one before
		 */
		bool new_chunk;
	} frame[CHAIN_MAX];
};

/* The frames that a stack walk must find, the innermost first. */
struct expected {
	size_t n;
	struct wire_frame frame[CHAIN_MAX];
	uint64_t addr[CHAIN_MAX];
};

static inline void plan_add(struct plan *p, enum link link, uint64_t code, int lasti)
{
	p->frame[p->n] = (struct planned){
		.link = link, .code = code, .lasti = lasti, .locals = 8 + p->n % 7 * 24};
	p->n++;
}

static inline bool is_stacked(const struct planned *p)
{
	return p->link == CALL || p->link == FROM_C;
}

static inline bool begins_loop(const struct planned *p)
{
	return p->link == FROM_C || p->link == RESUMED_FROM_C;
}

static inline uint64_t data_stack(size_t n)
{
	uint64_t at = image.stack;

	put(at, NULL, n);
	image.stack = at + n;
	return at;
}

/*
 * Size of the head of a _PyStackChunk: previous, size, top. In the first chunk, the word after the
 * head isn't used.
 */
#define CHUNK_HEAD 24

/* Sets the fields of the data stack in the thread state: chunk, top, limit (3.11, 3.12). */
static inline void set_data_stack(void)
{
	uint64_t at = image.tstate + image.l->tstate_datastack_top;

	if (image.l->walk != PY_WALK_CFRAME)
		return;
	put_u64(at - 8, image.chunk - CHUNK_HEAD - (image.previous_chunk ? 0 : 8));
	put_u64(at, image.stack);
	put_u64(at + 8, image.stack + 4096);
	put_u64(image.chunk - CHUNK_HEAD - (image.previous_chunk ? 0 : 8), image.previous_chunk);
}

/*
 * Makes a PyFrameObject. As with free lists, its address may be above or below that of the frame
 * made before.
 */
static inline uint64_t chain_object(const struct planned *p, uint64_t back)
{
	const struct py_layout *l = image.l;
	uint64_t f;

	image_alloc(16 + p->lasti % 5 * 700);
	f = image_alloc(l->frame_locals + p->locals);
	put_u64(f + l->frame_back, back);
	put_u64(f + l->frame_code, p->code);
	put_u32(f + l->frame_lasti, (uint32_t)p->lasti);
	put_u32(f + l->frame_lasti + 4, 0xabababab); /* garbage in f_lineno */
	if (l->frame_executing)
		put_u8(f + l->frame_executing, 1);
	return f;
}

/* bytes on the C stack for the frame of an evaluation loop, with its _PyCFrame in the middle */
#define LOOP_STACK 512

/* Lets the thread enter an evaluation loop. */
static inline void chain_loop(void)
{
	image.c_stack -= LOOP_STACK;
	put(image.c_stack - LOOP_STACK / 2, NULL, LOOP_STACK);
	image_set_cframe(image.c_stack);
}

static inline uint64_t put_shim(uint64_t f, uint64_t back)
{
	put_u64(f + image.l->frame_code, image.none);
	put_u64(f + image.l->frame_back, back);
	put_u8(f + image.l->frame_owner, 3);
	return f;
}

/*
 * Makes the _PyInterpreterFrame of a shim (an evaluation loop's own frame): FRAME_OWNED_BY_CSTACK
 * (3.12), FRAME_OWNED_BY_INTERPRETER (3.14).
 */
static inline uint64_t chain_shim(uint64_t back)
{
	return put_shim(image_alloc(image.l->frame_locals + 8), back);
}

/* Begins a new chunk of the data stack: far above, far below, or right below the present one. */
static inline void next_chunk(void)
{
	uint64_t far = (uint64_t)++image.chunks << 20;
	uint64_t left = image.chunk - CHUNK_HEAD - (image.previous_chunk ? 0 : 8);

	put_u64(left + 16, (image.stack - left - CHUNK_HEAD) / 8); /* the chunk's member `top` */
	image.previous_chunk = left;

	if (image.chunks % 3 == 0)
		image.stack = image.chunk - 0x8000;
	else
		image.stack = image.chunks % 3 == 1 ? IMAGE_STACK + far : IMAGE_STACK - far;
	image.chunk = image.stack;
}

/*
 * Free-threaded 3.14 and later: moves the frame's instruction into one of the copies of its
 * bytecode.
 */
static inline void chain_copy(const struct planned *p, uint64_t frame)
{
	unsigned i = (unsigned)p->lasti / 2 % IMAGE_COPIES;

	put_u64(frame + image.l->frame_lasti,
		get_u64(image_copy_entry(p->code, i)) + (uint64_t)p->lasti);
	put_u32(frame + image.l->frame_tlbc_index, i);
}

static inline uint64_t chain_iframe(const struct planned *p, uint64_t back)
{
	const struct py_layout *l = image.l;
	size_t n = l->frame_locals + p->locals;
	uint64_t f;

	if (p->new_chunk)
		next_chunk();
	f = is_stacked(p) ? data_stack(n) : image_alloc(EXC_STATE + n) + EXC_STATE;
	put_u64(f + l->frame_code, l->version >= 0x30e ? p->code | 1 : p->code);
	put_u64(f + l->frame_back, back);
	put_u64(f + l->frame_lasti, p->code + l->code_adaptive + (uint64_t)p->lasti);
	if (l->code_tlbc)
		chain_copy(p, f);
	put_u8(f + l->frame_owner, is_stacked(p) ? 0 : 1);
	if (l->code_stacksize)
		put_u32(p->code + l->code_stacksize, (uint32_t)(p->locals / 8));
	if (l->frame_is_entry)
		put_u8(f + l->frame_is_entry, begins_loop(p));
	return f;
}

/*
 * Lays out the frames of @p and makes them the thread's stack. Sets @e to the frames that a stack
 * walk must find.
 */
static inline void chain_build(const struct plan *p, struct expected *e)
{
	const struct py_layout *l = image.l;
	bool objects = l->walk == PY_WALK_OBJECT, shims = l->version >= 0x30c;
	/* the outermost frame's caller: none, or in 3.15 the sentinel */
	uint64_t back = l->version >= 0x30f ? chain_shim(0) : 0;

	e->n = p->n;
	image_no_loop();
	for (size_t i = 0; i < p->n; i++) {
		const struct planned *f = &p->frame[i];
		struct wire_frame *x = &e->frame[p->n - 1 - i];

		if (begins_loop(f)) {
			image_enter(back);
			chain_loop();
			back = shims ? put_shim(image.c_stack + image.shim, back) : back;
		}
		back = objects ? chain_object(f, back) : chain_iframe(f, back);
		*x = (struct wire_frame){.code = f->code, .lasti = f->lasti};
		x->flags = objects || begins_loop(f) ? FRAME_ENTRY : 0;
		e->addr[p->n - 1 - i] = back;
	}
	image_enter(back);
	set_data_stack();
}

/*
 * Returns the index of the first frame in host.out that isn't as expected, or the number of frames
 * if all are.
 */
static inline size_t chain_compare(const struct expected *e)
{
	for (size_t i = 0; i < host.w->n; i++) {
		const struct wire_frame *a = &host.out->frame[i], *b = &e->frame[i];

		if (i >= e->n || a->code != b->code || a->lasti != b->lasti ||
		    a->flags != b->flags || host.addrs->frame[i] != e->addr[i] || !a->check)
			return i;
	}
	return host.w->n;
}

#endif
