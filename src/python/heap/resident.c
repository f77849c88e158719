/* SPDX-License-Identifier: BSD-2-Clause */
/* Touches the memory that a walk will read, so that it is resident; see resident.h. */
#include "python/heap/resident.h"

#include "base/system/clock.h"
#include "python/heap/heap.h"
#include "python/heap/text.h"

#define PAGE	4096u
#define AT_ONCE 64 /* how many pages one system call reads */
/* the most bytes of a name or a line table; equal to ABI_LINETABLE_BYTES */
#define TEXT_MOST  (64u << 10)
#define STACK_MOST (256u << 10)
#define CODES	   1024 /* how many code objects that were read are remembered; a power of two */
/*
 * how many bytes are read of a PyFrameObject, a function, a _PyCFrame, or a generator's exception
 * state
 */
#define OBJECT_BYTES 128
/*
 * how many bytes are read of a PyThreadState: the bytes that a walk reads, and the first _PyCFrame,
 * which follows
 */
#define TSTATE_BYTES 512
#define CODE_BYTES   256 /* how many bytes are read of the fields of a PyCodeObject */
/* frames whose owner (enum _frameowner) is this or higher have no code object */
#define SHIM_OWNER    3
#define MAX_CFRAMES   64
#define MAX_DATA_PART 4

struct stack_reader {
	struct resident *r;
	struct heap heap;
	const struct py_layout *l;
	/* addresses of code objects that were read; a hash of the address is the index */
	uint64_t seen[CODES];
};

static bool is_over(const struct resident *r)
{
	return r->pages >= r->most || clock_ns(CLOCK_MONOTONIC) > r->until_ns;
}

static void touch(struct resident *r, struct heap *h, uint64_t addr, uint64_t bytes)
{
	uint64_t page = addr & ~(uint64_t)(PAGE - 1), end = addr + bytes;
	uint64_t at[AT_ONCE];
	uint8_t byte[AT_ONCE];

	if (!addr || end < addr)
		return;
	while (page < end && !is_over(r)) {
		size_t n = 0;

		for (; n < AT_ONCE && page < end; page += PAGE)
			at[n++] = page;
		/*
		 * the heap's budget is filled up before each read, because in this file the number
		 * of pages and the time bound the work
		 */
		h->budget = HEAP_BUDGET;
		heap_read_many(h, at, n, 1, byte);
		r->pages += n;
	}
}

void resident_range(struct resident *r, uint64_t addr, uint64_t bytes)
{
	const struct py_layout none = {};
	struct heap h;

	heap_init(&h, r->pid, &none);
	touch(r, &h, addr, bytes);
}

static void bring(struct stack_reader *s, uint64_t addr, uint64_t bytes)
{
	touch(s->r, &s->heap, addr, bytes);
}

static uint64_t pointer(struct stack_reader *s, uint64_t addr)
{
	return is_over(s->r) ? 0 : heap_ptr(&s->heap, addr);
}

static void bring_text(struct stack_reader *s, uint64_t addr, bool is_bytes)
{
	struct wire_text text;
	uint64_t data, hash;

	if (!addr || is_over(s->r) || heap_str_head(&s->heap, addr, is_bytes, &text, &data, &hash))
		return;
	bring(s, addr, s->l->bytes_data + sizeof(uint64_t));
	bring(s, data, MIN(text_raw_bytes(&text), (uint64_t)TEXT_MOST));
}

static bool was_seen(struct stack_reader *s, uint64_t code)
{
	uint64_t *slot = &s->seen[(code * 0x9e3779b97f4a7c15ull >> 54) % CODES];
	bool seen = *slot == code;

	*slot = code;
	return seen;
}

static void bring_code(struct stack_reader *s, uint64_t code)
{
	const struct py_layout *l = s->l;

	if (!code || was_seen(s, code))
		return;
	bring(s, code, CODE_BYTES);
	bring_text(s, pointer(s, code + l->code_filename), false);
	bring_text(s, pointer(s, code + l->code_name), false);
	if (l->code_qualname)
		bring_text(s, pointer(s, code + l->code_qualname), false);
	bring_text(s, pointer(s, code + l->code_linetable), true);
}

static bool is_shim(struct stack_reader *s, uint64_t frame)
{
	uint8_t owner = 0;

	return PY_HAS(s->l->can, SHIM_FRAMES) &&
	       !heap_read(&s->heap, frame + s->l->frame_owner, &owner, 1) && owner >= SHIM_OWNER;
}

/* Touches @frame, the frames that it leads to, and their code objects. */
static void bring_frames(struct stack_reader *s, uint64_t frame)
{
	const struct py_layout *l = s->l;

	for (int i = 0; frame && i < 2 * ABI_MAX_FRAMES && !is_over(s->r); i++) {
		bring(s, frame, OBJECT_BYTES);
		if (!is_shim(s, frame))
			bring_code(s, pointer(s, frame + l->frame_code) & ~7ull);
		if (l->frame_func)
			bring(s, pointer(s, frame + l->frame_func), OBJECT_BYTES);
		frame = pointer(s, frame + l->frame_back);
	}
}

/*
 * 3.11, 3.12: touches the parts of the data stack (_PyStackChunk {previous, size, top}), the
 * innermost first.
 */
static void bring_data_stack(struct stack_reader *s, uint64_t tstate)
{
	uint64_t part = pointer(s, tstate + s->l->tstate_datastack_top - 8);

	for (int i = 0; part && i < MAX_DATA_PART; i++) {
		bring(s, part, MIN(pointer(s, part + 8), (uint64_t)STACK_MOST));
		part = pointer(s, part);
	}
}

/*
 * For 3.11 and 3.12: touches the _PyCFrames of the evaluation loops, innermost first. Returns the
 * innermost frame.
 */
static uint64_t bring_loops(struct stack_reader *s, uint64_t cframe)
{
	uint64_t at = s->l->cframe_current_frame, frame = pointer(s, cframe + at);

	for (int i = 0; cframe && i < MAX_CFRAMES; i++) {
		bring(s, cframe, at + 2 * sizeof(uint64_t));
		cframe = pointer(s, cframe + at + sizeof(uint64_t));
	}
	return frame;
}

void resident_stack(struct resident *r, const struct py_layout *layout, uint64_t tstate)
{
	struct stack_reader s = {.r = r, .l = layout};
	uint64_t frame;

	heap_init(&s.heap, r->pid, layout);
	bring(&s, tstate, TSTATE_BYTES);
	frame = pointer(&s, tstate + layout->tstate_frame);
	if (layout->walk == PY_WALK_CFRAME) {
		bring_data_stack(&s, tstate);
		bring(&s, pointer(&s, tstate + layout->tstate_exc_info), OBJECT_BYTES);
		frame = bring_loops(&s, frame);
	}
	bring_frames(&s, frame);
}
