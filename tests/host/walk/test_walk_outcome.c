/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests failures of a walk (finding a thread's Python frames): every outcome that the walkers can
 * give, in every version that can give it. Whatever fails, the frames are the innermost part of the
 * true stack, even if other walks interrupt the walk (walk_nested.h).
 *
 * Three outcomes aren't tested, because the walkers don't give them: PENDING and UNSUPPORTED follow
 * from the process's state (bpf/capture.bpf.h); STACK_LOST means that src/collect missed the record
 * of a stack.
 */
/* Include this before cmocka.h, which defines fail as a macro. */
#include "walk_chain.h"
#include "walk_nested.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "walk_tests.h"

#define FRAMES 20
/*
 * index of the innermost frame of the second evaluation loop, where 0 is the thread's innermost
 * frame
 */
#define OUTER_LOOP 10

static struct plan plan;
static struct expected expected;
static bool reached[WALK_OUTCOME_MAX];

/*
 * Builds a stack of FRAMES frames in two evaluation loops. `expected` gets the true checks, which
 * identify the code objects.
 */
static void build(void)
{
	uint64_t code[3];

	plan.n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(code); i++)
		code[i] = image_code((const char *[]){"first", "second", "third"}[i]);
	for (size_t i = 0; i < FRAMES; i++)
		plan_add(&plan, i == 0 || i == FRAMES - OUTER_LOOP ? FROM_C : CALL, code[i % 3],
			 (int)i * 2);
	for (size_t i = 0; i < FRAMES; i++)
		/* the number of local variables in the code object */
		plan.frame[i].locals = 8 + i % 3 * 24;
	chain_build(&plan, &expected);
	assert_int_equal(image_walk(), WALK_OK);
	assert_int_equal(host.w->n, FRAMES);
	assert_int_equal(chain_compare(&expected), FRAMES);
	for (size_t i = 0; i < FRAMES; i++)
		expected.frame[i].check = host.out->frame[i].check;
}

static void walk(void)
{
	image_walk();
}

static void assert_outcome(enum walk_outcome outcome, size_t n)
{
	enum walk_outcome got;

	nested_check(walk);
	got = host.w->outcome;
	reached[got] = true;
	assert_int_equal(got, outcome);
	assert_int_equal(host.w->n, n);
	assert_int_equal(chain_compare(&expected), n);
}

static bool has_list(void)
{
	return image.where.tss == PY_TSS_NONE;
}

static void thread_state(void)
{
	uint64_t id = image.tstate + image.l->tstate_thread_id;

	build();
	assert_outcome(WALK_OK, FRAMES);
	host.fault_at = id;
	assert_outcome(WALK_TSTATE_FAULT, 0);
	host.fault_at = 0;
	put_u64(id, IMAGE_TP + 8);
	assert_outcome(has_list() ? WALK_NO_PYTHON : WALK_TSTATE_MISMATCH, 0);
	put_u64(id, IMAGE_TP);
	if (image.l->walk == PY_WALK_CFRAME) {
		host.fault_at = image.cframe + image.l->cframe_current_frame;
		assert_outcome(WALK_TSTATE_FAULT, 0);
		host.fault_at = 0;
	}
	put_u64(image.tstate + image.l->tstate_frame, 0);
	assert_outcome(WALK_NO_PYTHON, 0);
}

/* 3.11, 3.12: the thread runs with a thread state that another thread created. */
static void state_of_another_thread(void)
{
	uint64_t loop;

	build();
	if (image.l->walk != PY_WALK_CFRAME)
		return;
	loop = image.cframe;
	put_u64(image.tstate + image.l->tstate_thread_id, IMAGE_TP + 8);
	host.w->sp = loop - 4096;
	assert_outcome(WALK_OK, FRAMES);
	host.w->sp = loop;
	assert_outcome(WALK_OK, FRAMES);
	host.w->sp = loop + 8;
	assert_outcome(WALK_TSTATE_MISMATCH, 0);
	host.w->sp = loop - LOOP_BYTES;
	assert_outcome(WALK_TSTATE_MISMATCH, 0);
	/* the stack pointer is below IMAGE_TP; a thread has no stack above its thread pointer */
	host.w->sp = IMAGE_TP - 64;
	put_u64(image.tstate + image.l->tstate_frame, IMAGE_TP + 64);
	assert_outcome(WALK_TSTATE_MISMATCH, 0);
	host.w->sp = 0;
}

static void no_key(void)
{
	build();
	if (image.where.tss != PY_TSS_KEY_GLIBC)
		return;
	put_u64(IMAGE_TP + IMAGE_TSD + 16 * IMAGE_KEY + 8, 0);
	assert_outcome(WALK_NO_PYTHON, 0);
	put_u64(IMAGE_TP + IMAGE_TSD + 16 * IMAGE_KEY + 8, image.tstate);
	put_u32(image.where.tss_key, -1u); /* 3.6: the key isn't created yet */
	assert_outcome(WALK_NO_PYTHON, 0);
	put_u32(image.where.tss_key, 100000);
	assert_outcome(WALK_NO_PYTHON, 0);
	put_u32(image.where.tss_key, IMAGE_KEY);
	put_u32(image.where.tss_key - 4, 0); /* since 3.7: is_initialized is 0 */
	assert_outcome(image.l->version >= 0x307 ? WALK_NO_PYTHON : WALK_OK,
		       image.l->version >= 0x307 ? 0 : FRAMES);
	put_u32(image.where.tss_key - 4, 1);
	/* the key is in a page of .bss that the process hasn't touched yet */
	host.fault_at = image.where.tss_key;
	assert_outcome(WALK_NO_PYTHON, 0);
}

/*
 * Returns by how many bytes the flag `initialized` comes before the flag `finalizing`. This differs
 * between versions.
 */
static unsigned initialized_before(void)
{
	return image.l->version >= 0x308 && image.l->version < 0x30b ? 4 : 8;
}

static void put_life(uint64_t at, bool begun, bool initialized, uint64_t finalizing)
{
	unsigned before = initialized_before();
	uint64_t core = image.l->version < 0x308 ? at - 4 : at - before - 4;

	put_u32(core, begun);
	put_u32(at - before, initialized);
	put_u64(at, finalizing);
}

/*
 * A thread has no Python frames, because its interpreter is starting, or doesn't run, or is ending.
 */
static void interpreter_life(void)
{
	uint64_t at;

	build();
	put_u64(image.tstate + image.l->tstate_frame, 0);
	image_no_loop();
	at = image_alloc(64) + 32;
	image.where.finalizing = at;
	put_life(at, true, true, 0);
	assert_outcome(WALK_NO_PYTHON, 0);
	put_life(at, true, false, 0);
	assert_outcome(WALK_STARTING, 0);
	put_life(at, false, false, 0); /* a program that embeds an interpreter */
	assert_outcome(WALK_NO_PYTHON, 0);
	image.where.own_program = 1;
	assert_outcome(WALK_STARTING, 0);
	put_life(at, false, false, image.tstate);
	assert_outcome(WALK_ENDING, 0);
	put_life(at, true, true, image.tstate);
	assert_outcome(WALK_ENDING, 0);
	host.fault_at = at;
	assert_outcome(WALK_NO_PYTHON, 0);
	host.fault_at = 0;
	image.where.finalizing = 0;
	assert_outcome(WALK_NO_PYTHON, 0);
}

static void no_tls(void)
{
	build();
	unmap(IMAGE_TP);
	if (!has_list())
		assert_outcome(WALK_TLS_FAULT, 0);
}

static void musl_key(void)
{
	uint64_t tsd = image_alloc(1024);

	build();
	image.where.tss = PY_TSS_KEY_MUSL;
	image.where.tsd_offset = 128;
	image.where.tss_key = image_alloc(16) + 4;
	put_u32(image.where.tss_key - 4, 1);
	put_u32(image.where.tss_key, IMAGE_KEY);
	put_u64(IMAGE_TP + 128, tsd);
	assert_outcome(WALK_NO_PYTHON, 0);
	put_u64(tsd + 8 * IMAGE_KEY, image.tstate);
	assert_outcome(WALK_OK, FRAMES);
	put_u32(image.where.tss_key, 128); /* PTHREAD_KEYS_MAX */
	assert_outcome(WALK_NO_PYTHON, 0);
}

/* glibc keeps the values of keys from number 32 on in separate blocks. */
static void glibc_second_level(void)
{
	uint64_t block = image_alloc(16 * 32), key = 3 * 32 + 7;

	build();
	image.where.tss = PY_TSS_KEY_GLIBC;
	image.where.tsd_offset = IMAGE_TSD;
	image.where.tss_key = image_alloc(16) + 4;
	put_u32(image.where.tss_key - 4, 1);
	put_u32(image.where.tss_key, key);
	put_u64(IMAGE_TP + IMAGE_TSD + 16 * 32 + 8 * (key / 32), 0);
	assert_outcome(WALK_NO_PYTHON, 0);
	put_u64(IMAGE_TP + IMAGE_TSD + 16 * 32 + 8 * (key / 32), block);
	put_u64(block + 16 * (key % 32) + 8, image.tstate);
	assert_outcome(WALK_OK, FRAMES);
}

static void dynamic_tls(void)
{
	struct py_where *w = &image.where;
	uint64_t dtv = image_alloc(512), block = image_alloc(256);

	build();
	w->tls_got = image_alloc(16);
	w->tls_offset = 24;
	put_u64(w->tls_got, 3);
	put_u64(w->tls_got + 8, 40);
	put_u64(IMAGE_TP + DTV_GLIBC, dtv);
	put_u64(IMAGE_TP + (uint64_t)DTV_MUSL, dtv);
	put_u64(block + 64, image.tstate);
	for (int i = 0; i < 2; i++) {
		uint64_t slot = dtv + (i ? 8 : 16) * 3;

		w->tss = i ? PY_TSS_TLS_DTV_MUSL : PY_TSS_TLS_DTV;
		put_u64(slot, block);
		assert_outcome(WALK_OK, FRAMES);
		put_u64(slot, ~0ull); /* glibc hasn't allocated this thread's block */
		assert_outcome(WALK_NO_PYTHON, 0);
		put_u64(slot, 0x1000);
		assert_outcome(WALK_TLS_FAULT, 0);
		host.fault_at = w->tls_got;
		assert_outcome(WALK_TLS_FAULT, 0);
		host.fault_at = 0;
	}
}

/*
 * The dynamic loader stores a word that is either an offset from the thread pointer or the address
 * of a pair.
 */
static void tls_word(void)
{
	struct py_where *w = &image.where;
	uint64_t dtv = image_alloc(512), block = image_alloc(256), pair = image_alloc(16);

	build();
	w->tss = PY_TSS_TLS_WORD;
	w->tls_got = image_alloc(8);
	w->tls_offset = 24;
	put_u64(w->tls_got, -64ull);
	put_u64(IMAGE_TP - 64 + 24, image.tstate);
	assert_outcome(WALK_OK, FRAMES);
	host.fault_at = w->tls_got;
	assert_outcome(WALK_TLS_FAULT, 0);
	host.fault_at = 0;

	put_u64(w->tls_got, pair);
	put_u64(pair, 3);
	put_u64(pair + 8, 40);
	put_u64(IMAGE_TP + DTV_GLIBC, dtv);
	put_u64(dtv + 16 * 3, block);
	put_u64(block + 64, image.tstate);
	assert_outcome(WALK_OK, FRAMES);
	put_u64(w->tls_got, 0x7fffffff0000);
	assert_outcome(WALK_TLS_FAULT, 0);
}

/*
 * Up to 3.11: a thread is inside a sub-interpreter. The current thread state is used if it belongs
 * to this thread.
 */
static void current_first(void)
{
	uint64_t other = image_alloc(512);

	build();
	image.where.tstate_current = image_alloc(8);
	put_u64(image.where.tstate_current, image.tstate);
	assert_outcome(WALK_OK, FRAMES);
	put_u64(image.where.tstate_current, other); /* now another thread holds the GIL */
	put_u64(other + image.l->tstate_thread_id, IMAGE_TP + 0x1000);
	assert_outcome(WALK_OK, FRAMES);
	put_u64(image.where.tstate_current, 0x1000);
	assert_outcome(WALK_OK, FRAMES);
	put_u64(image.where.tstate_current, 0);
	assert_outcome(WALK_OK, FRAMES);
}

/* 2.7: the thread's state is the last one of a long list, or the list is circular. */
static void listed_threads(void)
{
	const struct py_layout *l = image.l;
	uint64_t head, last = image.tstate;

	build();
	if (!has_list())
		return;
	head = get_u64(image.where.interp_head) + l->interp_tstate_head;
	for (int i = 0; i < 300; i++) {
		uint64_t t = image_alloc(256);

		put_u64(t + l->tstate_next, get_u64(head));
		put_u64(head, t);
	}
	assert_outcome(WALK_OK, FRAMES);
	put_u64(last + l->tstate_thread_id, 1);
	assert_outcome(WALK_NO_PYTHON, 0);
	put_u64(last + l->tstate_next, get_u64(head));
	assert_outcome(WALK_NO_PYTHON, 0);
	assert_true(host.reads < 2000);
	put_u64(image.where.interp_head, 0);
	assert_outcome(WALK_NO_PYTHON, 0);
}

/* Just after exec(), the C library hasn't set up the thread yet, so there is no thread pointer. */
static void no_thread_pointer(void)
{
	build();
	assert_int_equal(host_walk(&image.where, 0), WALK_NO_PYTHON);
	assert_int_equal(host.w->n, 0);
}

/* A thread with a thread state runs only C and has no frame. In 3.15 it has a sentinel frame. */
static void no_frames(void)
{
	plan.n = 0;
	chain_build(&plan, &expected);
	assert_outcome(WALK_NO_PYTHON, 0);
}

/*
 * Checks what a stack walk gives if frame @i can't be read. In 3.11 and 3.12, the walk can't prove
 * without that frame that the innermost loop's frames run, so it shows none of them.
 */
static void assert_broken(enum walk_outcome outcome, size_t i)
{
	assert_outcome(outcome, image.l->walk == PY_WALK_CFRAME && i < OUTER_LOOP ? 0 : i);
}

/* Checks that the stack walk gives the stack without its @n innermost frames. */
static void assert_without(size_t n)
{
	assert_int_equal(image_walk(), WALK_OK);
	assert_int_equal(host.w->n, expected.n - n);
	for (size_t i = 0; i < host.w->n; i++) {
		assert_int_equal(host.addrs->frame[i], expected.addr[n + i]);
		assert_int_equal(host.out->frame[i].flags, expected.frame[n + i].flags);
	}
}

static void frames_missing(void)
{
	build();
	for (size_t i = 0; i < FRAMES; i++) {
		host.fault_at = expected.addr[i] + image.l->frame_back;
		assert_broken(WALK_FRAME_FAULT, i);
	}
}

static void code_missing(void)
{
	build();
	for (size_t i = 0; i < FRAMES; i++) {
		uint64_t at = expected.addr[i] + image.l->frame_code, was = get_u64(at);

		put_u64(at, was - (1 << 20));
		assert_broken(WALK_CODE_FAULT, i);
		put_u64(at, 0);
		assert_broken(WALK_NOT_CODE, i);
		put_u64(at, was);
	}
}

/*
 * Before 3.12, only a code object's texts (name, file and so on) prove which one it is, so these
 * must be readable.
 */
static void texts_missing(void)
{
	const struct py_layout *l = image.l;
	uint64_t code = image_code("innermost");

	build();
	put_u64(expected.addr[0] + l->frame_code, code);
	for (int i = 0; i < 3; i++) {
		uint16_t field = (const uint16_t[]){
			l->code_filename, l->code_qualname ?: l->code_name, l->code_linetable}[i];
		uint64_t was = get_u64(code + field);

		if (l->code_version)
			/* version 0: the interpreter has run out of version numbers */
			put_u32(code + l->code_version, 0);
		put_u64(code + field, 0);
		assert_broken(WALK_CODE_FAULT, 0);
		put_u64(code + field, 0x1000);
		assert_broken(WALK_CODE_FAULT, 0);
		put_u64(code + field, was);
	}
}

/* Each frame in turn is made the outermost frame's caller, so that the chain is circular. */
static void circles(void)
{
	size_t last = FRAMES - 1;

	build();
	for (size_t i = 0; i < FRAMES; i++) {
		put_u64(expected.addr[last] + image.l->frame_back, expected.addr[i]);
		reached[image_walk()] = true;
		assert_int_equal(host.w->outcome, WALK_FRAME_CYCLE);
		assert_true(host.w->n >= FRAMES && host.w->n < 4 * FRAMES);
	}
}

/*
 * The chain of frames is a circle of shims (frames of evaluation loops themselves). Shims don't
 * count as frames, so the limit on frames doesn't end the walk.
 */
static void circle_of_shims(void)
{
	uint64_t a, b;

	if (image.l->version < 0x30c)
		return;
	build();
	a = chain_shim(0);
	b = chain_shim(a);
	put_u64(a + image.l->frame_back, b);
	put_u64(expected.addr[3] + image.l->frame_back, b);
	if (image.l->walk == PY_WALK_CURRENT) {
		expected.frame[3].flags = FRAME_ENTRY;
		assert_outcome(WALK_FRAME_CYCLE, 4);
	}
}

/*
 * 3.11 and later: the innermost frame has no caller, although no C evaluation loop began with it.
 * So the chain is torn (caught while it was being changed). In 3.12 such a chain counts as whole,
 * because a greenlet's chain lacks the loops' own frames.
 */
static void torn(void)
{
	build();
	if (image.l->walk == PY_WALK_OBJECT)
		return;
	put_u64(expected.addr[0] + image.l->frame_back, 0);
	if (image.l->walk == PY_WALK_CURRENT)
		assert_outcome(WALK_FRAME_TORN, 1);
	else if (image.l->frame_is_entry)
		assert_outcome(WALK_FRAME_TORN, 0);
	else
		assert_outcome(WALK_OK, 1);
}

/*
 * 3.9: the outermost frame isn't executing: an exception is being thrown into a generator, and the
 * frames of the code that throws it are missing. An innermost frame that isn't executing is only
 * just being entered.
 */
static void thrown_into(void)
{
	build();
	if (!image.l->frame_executing)
		return;
	put_u8(expected.addr[FRAMES - 1] + image.l->frame_executing, 0);
	assert_outcome(WALK_FRAME_CALLER, FRAMES);
	build();
	put_u8(expected.addr[0] + image.l->frame_executing, 0);
	assert_outcome(WALK_OK, FRAMES);
	put_u64(expected.addr[0] + image.l->frame_back, 0);
	assert_outcome(WALK_OK, 1);
}

/*
 * 3.11, 3.12: the innermost evaluation loop has published its _PyCFrame but hasn't set `previous`
 * in it yet.
 */
static void not_set_up(void)
{
	build();
	if (image.l->walk != PY_WALK_CFRAME)
		return;
	put_u64(image.cframe + image.l->cframe_current_frame + 8, 0);
	if (image.l->frame_is_entry)
		assert_outcome(WALK_FRAME_TORN, 0);
	else /* the data stack shows that this frame is the innermost one */
		assert_outcome(WALK_OK, FRAMES);
	put_u64(expected.addr[0] + image.l->frame_back, 0x1000);
	assert_true(image_walk() != WALK_OK);
}

/*
 * 3.11, 3.12: functions compiled by Nuitka run without an evaluation loop. The _PyCFrame in the
 * thread state has their frames.
 */
static void no_loop(void)
{
	uint64_t root;

	build();
	if (image.l->walk != PY_WALK_CFRAME)
		return;
	root = image.tstate + image.l->tstate_root_cframe;
	put_u64(image.tstate + image.l->tstate_frame, root);
	put_u64(root + image.l->cframe_current_frame, expected.addr[0]);
	assert_outcome(WALK_OK, FRAMES);
	put_u64(expected.addr[0] + image.l->frame_back, 0);
	assert_outcome(WALK_OK, 1);
	put_u64(root + image.l->cframe_current_frame, 0);
	assert_outcome(WALK_NO_PYTHON, 0);
}

/* Makes expected.addr[@i] the generator that was resumed last, and the only one that runs. */
static void resume(size_t i)
{
	uint64_t state = expected.addr[i] - EXC_STATE;

	put_u64(image.tstate + image.l->tstate_exc_info, state);
	put_u64(state + 8, image.tstate + image.l->tstate_exc_state);
}

/*
 * Builds the stack of build() with one more frame. 3.12: a stack walk first learns how far an
 * evaluation loop's shim (its own frame) is from its _PyCFrame.
 */
static void build_more(enum link link, int lasti)
{
	build();
	assert_outcome(WALK_OK, FRAMES);
	plan_add(&plan, link, expected.frame[1].code, lasti);
	plan.frame[FRAMES].locals = plan.frame[FRAMES - 2].locals;
	chain_build(&plan, &expected);
}

/* Lets the thread be in the C function of its innermost evaluation loop. */
static void run_loop(void)
{
	host.w->sp = image.cframe - 128;
}

/*
 * The two innermost evaluation loops aren't set up yet, and their memory still has frames of
 * earlier loops. The stack walk must show none of these.
 */
static void neither_set_up(void)
{
	const struct py_layout *l = image.l;
	uint64_t cframe, frames[3];

	build();
	if (l->walk != PY_WALK_CFRAME)
		return;
	cframe = image_alloc(32);
	for (size_t i = 0; i < 3; i++) {
		frames[i] =
			chain_iframe(&(struct planned){.code = expected.frame[1].code, .lasti = 2},
				     i ? frames[i - 1] : 0);
		put_u64(cframe + l->cframe_current_frame, frames[i]);
	}
	put_u64(frames[0] + l->frame_back, 0x1000);
	put_u64(cframe + l->cframe_current_frame + 8,
		get_u64(image.cframe + l->cframe_current_frame + 8));
	put_u64(image.cframe + l->cframe_current_frame, 0x1000);
	put_u64(image.cframe + l->cframe_current_frame + 8, cframe);
	run_loop();
	assert_outcome(l->frame_is_entry ? WALK_FRAME_TORN : WALK_FRAME_FAULT, 0);
	host.w->sp = 0;
}

/*
 * 3.11, 3.12: C code enters an evaluation loop for a function or a generator, and the loop isn't
 * set up yet. Its _PyCFrame may contain anything. The walk still works, as long as the thread is in
 * the loop itself and not in a function that the loop calls.
 */
static void entered_just_now(void)
{
	const struct py_layout *l = image.l;
	uint64_t loop, further_out, stale[4];

	if (l->walk != PY_WALK_CFRAME)
		return;
	for (int kind = 0; kind < 4; kind++) {
		bool generator = kind & 1;

		/*
		 * forgets what was learnt about shims (evaluation loops' own frames), as for
		 * another build of Python
		 */
		memset(host.w->shims, 0, sizeof(host.w->shims));
		image.shim = kind & 2 ? 112 : -112;
		build_more(generator ? RESUMED_FROM_C : FROM_C, generator ? 4 : -2);
		if (generator) {
			resume(0);
			if (!l->frame_is_entry) /* 3.11 has stored the caller by then */
				put_u64(expected.addr[0] + l->frame_back, 0);
		}
		loop = image.cframe + l->cframe_current_frame;
		further_out = get_u64(get_u64(loop + 8) + l->cframe_current_frame + 8);
		stale[0] = 0x1000;
		stale[1] = expected.addr[4];
		stale[2] = expected.addr[OUTER_LOOP + 1];
		stale[3] = expected.addr[FRAMES - 1];
		for (size_t i = 0; i < 4 * 4; i++) {
			uint64_t previous[] = {get_u64(loop + 8), further_out, 0x1000, image.stack};

			put_u64(loop, stale[i / 4]);
			put_u64(loop + 8, previous[i % 4]);
			host.w->sp = 0;
			assert_true(image_walk() != WALK_OK || l->frame_is_entry);
			run_loop();
			if ((i % 4 || generator) && l->frame_is_entry)
				assert_outcome(WALK_FRAME_TORN, 0);
			else
				assert_without(1);
			put_u64(loop + 8, previous[0]);
		}
		host.w->sp = 0;
	}
}

/*
 * 3.12: the shim (own frame) of an earlier evaluation loop is left in memory, and leads to a frame
 * of a loop further out.
 */
static void shim_left_over(void)
{
	const struct py_layout *l = image.l;
	uint64_t loop, outer;

	if (l->walk != PY_WALK_CFRAME || l->frame_is_entry)
		return;
	build_more(FROM_C, -2);
	run_loop();
	loop = image.cframe + l->cframe_current_frame;
	outer = get_u64(get_u64(loop + 8) + l->cframe_current_frame + 8);
	put_u64(loop, image.cframe + (uint64_t)image.shim);
	put_u64(loop + 8, outer);
	put_u64(image.cframe + (uint64_t)image.shim + l->frame_back,
		get_u64(outer + l->cframe_current_frame));
	assert_without(1);
	host.w->sp = 0;
}

/*
 * 3.11, 3.12: the first frame of an evaluation loop is a generator's, and can't be read. The frame
 * that resumed it must not be shown as the innermost one.
 */
static void resumed_and_missing(void)
{
	const struct py_layout *l = image.l;

	if (l->walk != PY_WALK_CFRAME)
		return;
	build_more(RESUMED_FROM_C, 4);
	run_loop();
	resume(0);
	assert_outcome(WALK_OK, FRAMES + 1);
	put_u64(expected.addr[0] + l->frame_code, expected.frame[0].code - (1 << 20));
	assert_outcome(WALK_CODE_FAULT, 0);
	host.w->sp = 0;
}

/*
 * 3.12: a greenlet begins, and its first evaluation loop isn't set up yet. A loop of another
 * greenlet, now left, used the same memory. The chain left there lacks the loops' own frames, and
 * ends.
 */
static void greenlet_begins(void)
{
	const struct py_layout *l = image.l;
	uint64_t first = image_alloc(32), stack;

	build();
	if (l->walk != PY_WALK_CFRAME || l->frame_is_entry)
		return;
	assert_outcome(WALK_OK, FRAMES);
	put_u64(expected.addr[OUTER_LOOP - 1] + l->frame_back, expected.addr[OUTER_LOOP]);
	put_u64(expected.addr[FRAMES - 1] + l->frame_back, 0);
	put_u64(first + l->cframe_current_frame, 0);
	put_u64(first + l->cframe_current_frame + 8, image.tstate + l->tstate_root_cframe);
	put_u64(image.cframe + l->cframe_current_frame + 8, first);
	stack = image.tstate + l->tstate_datastack_top - 8;
	put(stack, NULL, 24);
	run_loop();
	assert_outcome(WALK_NO_PYTHON, 0);
	host.w->sp = 0;
}

/*
 * 3.12: a generator resumes another generator. While the second one is being entered or left, no
 * caller is stored in it. The stack walk must still find its caller.
 */
static void resumed_just_now(void)
{
	const struct py_layout *l = image.l;

	if (l->walk != PY_WALK_CFRAME)
		return;
	build_more(GENERATOR, 4);
	put_u64(expected.addr[0] + l->frame_back, 0);
	assert_outcome(WALK_OK, FRAMES + 1); /* when the generator is being left */
	resume(0);
	assert_outcome(WALK_OK, FRAMES + 1);
}

/*
 * 3.12: while the greenlet module switches, it takes the evaluation loops' own frames out of the
 * chain, and overwrites the C stack. The stack is whole if the data stack shows which frame is the
 * innermost.
 */
static void switching_greenlets(void)
{
	const struct py_layout *l = image.l;
	uint64_t loop;

	build();
	if (l->walk != PY_WALK_CFRAME || l->frame_is_entry)
		return;
	put_u64(expected.addr[OUTER_LOOP - 1] + l->frame_back, expected.addr[OUTER_LOOP]);
	expected.frame[OUTER_LOOP - 1].flags = 0;
	/* only the first evaluation loop's own frame is taken out */
	assert_outcome(WALK_OK, FRAMES);
	put_u64(expected.addr[FRAMES - 1] + l->frame_back, 0);
	expected.frame[FRAMES - 1].flags = 0;
	assert_outcome(WALK_OK, FRAMES);
	loop = image.cframe + l->cframe_current_frame;
	put_u64(loop, 0x1000);
	assert_outcome(WALK_OK, FRAMES);
	put_u64(loop + 8, 0x1000);
	assert_outcome(WALK_OK, FRAMES);
	put_u64(image.tstate + l->tstate_datastack_top, image.stack + 8);
	assert_outcome(WALK_FRAME_FAULT, 0);
}

/*
 * 3.11, 3.12: the innermost frame is left over from a call that has ended, but its caller is right.
 */
static void left_over(void)
{
	uint64_t top;

	build();
	if (!image.l->tstate_datastack_top)
		return;
	top = image.tstate + image.l->tstate_datastack_top;
	put_u64(top, expected.addr[0] + 8);
	put_u64(top + 8, expected.addr[0] + 4096);
	assert_outcome(WALK_OK, FRAMES);
	put_u64(top, expected.addr[0]);
	/* 3.11 takes a frame off the data stack first */
	if (image.l->frame_is_entry)
		assert_outcome(WALK_OK, FRAMES);
	else /* 3.12 makes the caller current first */
		assert_without(1);
	put_u64(top, expected.addr[0] - 8);
	assert_broken(WALK_FRAME_TORN, 0);
}

static void put_first_instruction(size_t i)
{
	const struct py_layout *l = image.l;

	expected.frame[i].lasti = -2;
	put_u64(expected.addr[i] + l->frame_lasti, expected.frame[i].code + l->code_adaptive - 2);
}

/*
 * 3.11, 3.12: a frame hasn't executed an instruction yet. So a frame that it seems to have called
 * is left over from an earlier call. But a trace function is called before the first instruction,
 * in an evaluation loop of its own.
 */
static void called_by_nobody(void)
{
	build();
	if (image.l->walk != PY_WALK_CFRAME)
		return;
	put_first_instruction(OUTER_LOOP);
	assert_outcome(WALK_OK, FRAMES);
	put_first_instruction(1);
	assert_broken(WALK_FRAME_TORN, 0);
}

/*
 * 3.11 and later: the innermost frame was published before its caller was stored. The frame that
 * was in this memory before was called by a generator that isn't running any more.
 */
static void resumed_by_nobody(void)
{
	const struct py_layout *l = image.l;
	struct planned ended = {.link = GENERATOR, .lasti = 2};
	uint64_t generator;

	build();
	/* with copies of bytecode, no frame's offset is before the first instruction */
	if (l->walk == PY_WALK_OBJECT || l->code_tlbc)
		return;
	ended.code = expected.frame[1].code;
	ended.locals = plan.frame[FRAMES - 2].locals;
	generator = chain_iframe(&ended, 0);
	if (l->frame_is_entry)
		put_u8(generator + l->frame_is_entry, 1);
	put_first_instruction(0);
	put_u64(expected.addr[0] + l->frame_back, generator);
	if (l->walk == PY_WALK_CFRAME)
		assert_outcome(WALK_OK, FRAMES);
	else
		assert_outcome(WALK_FRAME_TORN, 1);
}

/*
 * 3.11: no caller is stored yet in the innermost frame. Its memory still has the flag `is_entry` of
 * an earlier frame, which C code called. The frame must not be shown as the thread's whole stack.
 */
static void entry_left_over(void)
{
	const struct py_layout *l = image.l;

	build();
	if (!l->frame_is_entry)
		return;
	/* the thread has only one evaluation loop */
	put_u64(get_u64(image.cframe + l->cframe_current_frame + 8) + l->cframe_current_frame, 0);
	put_first_instruction(0);
	put_u64(expected.addr[0] + l->frame_back, 0);
	expected.frame[0].flags = FRAME_ENTRY;
	for (uint8_t owner = 0; owner < 5; owner++) {
		put_u8(expected.addr[0] + l->frame_owner, owner);
		put_u8(expected.addr[0] + l->frame_is_entry, owner + 1);
		assert_outcome(WALK_FRAME_TORN, !owner);
	}
}

/*
 * Builds four frames, two of them called from C. The innermost one hasn't executed an instruction
 * yet.
 */
static void build_fresh(enum link caller, bool new_chunk)
{
	plan.n = 0;
	for (size_t i = 0; i < 4; i++)
		plan_add(&plan, (enum link[]){FROM_C, CALL, caller, CALL}[i],
			 image_code((const char *[]){"first", "second", "third", "fourth"}[i]),
			 i < 3 ? 4 : -2);
	plan.frame[2].locals = 256;
	plan.frame[3].new_chunk = new_chunk;
	put_u64(image.tstate + image.l->tstate_exc_info, image.tstate + image.l->tstate_exc_state);
	chain_build(&plan, &expected);
}

/*
 * 3.11, 3.12: a frame hasn't executed an instruction yet. The stack walk uses the stored caller if
 * it can prove that this is the right one; otherwise it searches for the caller.
 */
static void called_just_now(void)
{
	const struct py_layout *l = image.l;
	uint64_t back;

	if (l->walk != PY_WALK_CFRAME)
		return;
	for (int new_chunk = 0; new_chunk < 2; new_chunk++) {
		build_fresh(CALL, new_chunk);
		assert_outcome(WALK_OK, 4);
		for (int stale = 0; stale < 3; stale++) {
			put_u64(expected.addr[0] + l->frame_back,
				(uint64_t[]){expected.addr[2], 0, 0x1000}[stale]);
			assert_outcome(WALK_OK, 4);
		}

		build_fresh(FROM_C, new_chunk);
		assert_outcome(WALK_OK, 4);
		back = get_u64(expected.addr[1] + l->frame_back);
		put_u64(expected.addr[0] + l->frame_back, back);
		if (l->frame_is_entry) {
			assert_outcome(WALK_OK, 4);
		} else {
			/* the frame's caller is the evaluation loop's own frame (shim) */
			expected.frame[0].flags = FRAME_ENTRY;
			assert_outcome(WALK_FRAME_TORN, 1);
		}

		build_fresh(GENERATOR, new_chunk);
		resume(1);
		assert_outcome(WALK_OK, 4);
		put_u64(expected.addr[0] + l->frame_back, expected.addr[2]);
		assert_outcome(WALK_OK, 4);
	}
}

/*
 * A frame hasn't executed an instruction yet, and its stored caller, left over from an earlier
 * call, is an evaluation loop's own frame. That frame may still exist, or its field `owner`, which
 * marks it as a loop's own, may be overwritten.
 */
static void called_by_a_shim(void)
{
	const struct py_layout *l = image.l;
	uint64_t shim;

	if (l->walk != PY_WALK_CFRAME)
		return;
	build_fresh(GENERATOR, false);
	resume(1);
	shim = chain_shim(expected.addr[1]);
	put_u64(expected.addr[0] + l->frame_back, shim);
	for (uint8_t owner = 0; owner < 5; owner++) {
		put_u8(shim + l->frame_owner, owner);
		assert_outcome(WALK_OK, 4);
	}
}

/*
 * A frame that ends where the innermost one begins needn't be its caller. It may be left over from
 * an earlier call, in a part of the caller's frame that isn't used yet.
 */
static void called_by_the_dead(void)
{
	const struct py_layout *l = image.l;
	uint64_t dead, code;

	if (l->walk != PY_WALK_CFRAME)
		return;
	build_fresh(CALL, false);
	code = image_code("dead");
	put_u32(code + l->code_stacksize, 1);
	dead = expected.addr[0] - l->frame_locals - 8;
	assert_true(dead > expected.addr[1] + l->frame_locals);
	put_u64(dead + l->frame_code, code);
	put_u64(dead + l->frame_back, expected.addr[2]);
	put_u64(dead + l->frame_lasti, code + l->code_adaptive + 4);
	put_u8(dead + l->frame_owner, 0);
	put_u64(expected.addr[0] + l->frame_back, dead);
	assert_outcome(WALK_OK, 4);
}

/*
 * If the innermost evaluation loop's frame isn't the last one on CPython's data stack, the loop
 * isn't set up yet, and nothing is shown.
 */
static void not_the_last(void)
{
	const struct py_layout *l = image.l;

	build();
	if (l->walk != PY_WALK_CFRAME)
		return;
	put_first_instruction(0);
	assert_outcome(WALK_OK, FRAMES);
	put_u64(image.tstate + l->tstate_datastack_top, image.stack + 8);
	assert_broken(WALK_FRAME_TORN, 0);
}

/*
 * The memory of an evaluation loop says that it is the thread's first one. If CPython's data stack
 * has frames of other loops, that can't be true: the stack was caught while it was being changed.
 * Otherwise the thread has no Python frames.
 */
static void not_the_first(void)
{
	const struct py_layout *l = image.l;

	build();
	if (l->walk != PY_WALK_CFRAME)
		return;
	put_u64(image.cframe + l->cframe_current_frame, 0);
	put_u64(image.cframe + l->cframe_current_frame + 8, image.tstate + l->tstate_root_cframe);
	assert_outcome(WALK_FRAME_TORN, 0);
	put_u64(image.tstate + l->tstate_datastack_top, expected.addr[FRAMES - 2]);
	put_u32(expected.frame[FRAMES - 1].code + l->code_stacksize,
		(uint32_t)plan.frame[0].locals / 8);
	assert_outcome(WALK_NO_PYTHON, 0);
	put_u64(image.tstate + l->tstate_datastack_top, expected.addr[FRAMES - 1]);
	assert_outcome(WALK_NO_PYTHON, 0);
}

/*
 * 3.13 and later: while the greenlet module switches, it takes the evaluation loops' own frames out
 * of the chain. So a chain of several frames counts as whole, wherever it ends.
 */
static void switching(void)
{
	build();
	if (image.l->walk != PY_WALK_CURRENT)
		return;
	put_u64(expected.addr[4] + image.l->frame_back, 0);
	assert_outcome(WALK_OK, 5);
}

/*
 * Checks that the stack walk gives the innermost part of the true stack, with the true checks of
 * its code objects.
 */
static void assert_part(void)
{
	assert_true(host.w->n <= FRAMES);
	for (size_t i = 0; i < host.w->n; i++) {
		assert_true(host_same_frame(&host.out->frame[i], &expected.frame[i]));
		assert_int_equal(host.addrs->frame[i], expected.addr[i]);
	}
	if (host.w->outcome == WALK_OK)
		assert_int_equal(host.w->n, FRAMES);
	reached[host.w->outcome] = true;
}

static void every_nth_read_fails(void)
{
	build();
	if (image.l->code_version)
		image_count_codes(image.next_version);
	/*
	 * makes each of the first 50 reads fail, as these are of different kinds, and then every
	 * 7th up to read 200
	 */
	for (host.fail_nth = 1; host.fail_nth <= 200; host.fail_nth += host.fail_nth < 50 ? 1 : 7) {
		for (int keep = 0; keep < 2; keep++) {
			host.keep_on_fault = keep;
			nested_check(walk);
			assert_part();
			send_stack(host.w);
			host_forget_sent();
		}
	}
	host.keep_on_fault = false;
}

/* Makes each page unreadable in turn, and walks the stack. */
static void every_page_missing(void)
{
	VEC(uint64_t) pages = {};

	build();
	map_foreach(slot, &host.pages)
		assert_int_equal(vec_push(&pages, slot->key), 0);
	vec_foreach(page, &pages) {
		uint64_t at = *map_get(&host.pages, *page);

		map_del(&host.pages, *page);
		image_walk();
		assert_part();
		assert_int_equal(map_put(&host.pages, *page, at), 0);
	}
	vec_fini(&pages);
}

static uint64_t id_with(enum walk_outcome outcome, enum native_outcome native, unsigned n)
{
	host.w->n = 0;
	host.w->hash = 77; /* left over from the sample before */
	host.w->outcome = outcome;
	host.native->n = n;
	host.native->hash = 1234;
	host.native->outcome = native;
	identify_stack(host.w, host.native, 0);
	return host.w->hash;
}

/*
 * Two stacks that differ only in how the stack walk ended have different ids, because their records
 * say how it ended.
 */
static void ended_differently(void)
{
	uint64_t id = id_with(WALK_NO_PYTHON, NATIVE_WHOLE, 3);

	assert_true(id);
	assert_int_equal(id_with(WALK_NO_PYTHON, NATIVE_WHOLE, 3), id);
	assert_int_not_equal(id_with(WALK_TSTATE_FAULT, NATIVE_WHOLE, 3), id);
	assert_int_not_equal(id_with(WALK_NO_PYTHON, NATIVE_NO_ROWS, 3), id);
	assert_int_equal(id_with(WALK_NO_PYTHON, NATIVE_NONE, 0), 0);
}

/* clang-format off */
#define TESTS(X) \
	X(thread_state) X(state_of_another_thread) X(no_key) X(interpreter_life) X(no_tls) \
	X(musl_key) X(glibc_second_level) X(dynamic_tls) X(tls_word) X(current_first) \
	X(listed_threads) X(no_thread_pointer) X(no_frames) X(frames_missing) \
	X(code_missing) X(texts_missing) X(circles) X(circle_of_shims) X(torn) \
	X(thrown_into) X(no_loop) X(not_set_up) X(left_over) X(neither_set_up) \
	X(entered_just_now) X(resumed_just_now) X(shim_left_over) X(resumed_and_missing) \
	X(greenlet_begins) X(switching_greenlets) X(called_by_nobody) X(resumed_by_nobody) \
	X(entry_left_over) X(called_just_now) X(called_by_a_shim) X(called_by_the_dead) \
	X(not_the_last) X(not_the_first) X(switching) X(every_nth_read_fails) \
	X(every_page_missing) X(ended_differently)
/* clang-format on */
TESTS(RELEASE_TEST)

/*
 * Must be the last test. Checks that every way in which a stack walk can end was reached, so that a
 * new one needs a test. TRUNCATED is tested in test_walk_image.c, CODE_HUGE in test_walk_random.c,
 * CROWDED in tests/e2e/costs/storms.py.
 */
static void test_all_reached(void **state)
{
	static const enum walk_outcome elsewhere[] = {WALK_TRUNCATED,  WALK_CODE_HUGE,
						      WALK_PENDING,    WALK_UNSUPPORTED,
						      WALK_STACK_LOST, WALK_CROWDED};
	static const char *const names[] = {
#define X(name, mark, words, sentence) #name,
		WALK_OUTCOMES(X)
#undef X
	};

	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
		reached[elsewhere[i]] = true;
	for (size_t i = 0; i < WALK_OUTCOME_MAX; i++)
		if (!reached[i])
			fail_msg("outcome %s is reached by no test", names[i]);
}

WALK_MAIN("walk_outcome", TESTS(RELEASE_ENTRY) cmocka_unit_test(test_all_reached))
