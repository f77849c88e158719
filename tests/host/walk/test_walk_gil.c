/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the GIL state that the kernel program finds for a thread: for every state that take_gil(),
 * drop_gil() and PyThreadState_Swap() leave in memory between their steps (Python/ceval_gil.c,
 * pystate.c), in every version, and with each read failing in turn.
 */
#include "walk_host.h"

#include "python/gil.bpf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "walk_image.h"
#include "walk_tests.h"

#define FUTEX_PRIVATE  0x80
#define FUTEX_REALTIME 0x100
#define WAKE	       1

static const struct futex_call no_call = {.op = -1};
static uint64_t gil, other; /* addresses of the GIL and of another thread's state */

static bool is_free(void)
{
	return image.l->ob_type == 24 && image.l->version >= 0x30d;
}

static uint8_t state_in(struct futex_call call)
{
	image_walk();
	return gil_of(host.w, &host.layout, &call);
}

static void assert_state(enum gil_state want)
{
	assert_int_equal(state_in(no_call), want);
}

/*
 * Returns the GIL state of a thread in FUTEX_WAIT_BITSET on @addr, as glibc's
 * pthread_cond_timedwait() and sem_wait() call it.
 */
static uint8_t asleep_at(uint64_t addr)
{
	return state_in((struct futex_call){
		.addr = addr, .op = FUTEX_WAIT_BITSET | FUTEX_PRIVATE | FUTEX_REALTIME});
}

static uint8_t waking(uint64_t addr)
{
	return state_in((struct futex_call){.addr = addr, .op = WAKE | FUTEX_PRIVATE});
}

static void make_gil(void)
{
	struct py_where *w = &image.where;

	/*
	 * offsets count from the member that comes first in builds with a GIL; free-threaded builds
	 * have other members before it
	 */
	gil = image_alloc(256) + (is_free() ? PY_GIL_ENABLED_BYTES : 0);
	w->gil_wait_bytes = PY_GIL_WAIT_BYTES;
	if (image.l->interp_gil) {
		uint64_t interp = image_alloc(16384);

		put_u64(image.tstate + image.l->tstate_interp, interp);
		put_u64(interp + image.l->interp_gil, gil - (is_free() ? PY_GIL_ENABLED_BYTES : 0));
		w->gil = image.l->version == 0x30c ? PY_GIL_ACTIVE : PY_GIL_HOLDS;
		if (is_free())
			w->gil = PY_GIL_FREE;
		return;
	}
	w->gil = PY_GIL_CURRENT;
	/*
	 * in 3.6 the GIL and the pointer to the current thread state are static variables of two
	 * source files
	 */
	if (image.l->version == 0x306)
		image_alloc(HOST_PAGE);
	w->tstate_current = image_alloc(8);
	if (image.l->version < 0x300) {
		w->gil_wait_bytes = 4;
		w->gil_wait = image_alloc(8);
		put_u64(w->gil_wait, gil + PY_GIL_WAIT);
		return;
	}
	w->gil_holder = gil + PY_GIL_HOLDER;
	w->gil_locked = gil + PY_GIL_LOCKED;
	w->gil_wait = gil + PY_GIL_WAIT;
}

/* Sets the GIL's fields for its holder and whether it is locked. */
static void gil_says(uint64_t holder, uint32_t locked)
{
	put_u64(gil + PY_GIL_HOLDER, holder);
	put_u32(gil + PY_GIL_LOCKED, locked);
}

/*
 * Sets the fields of the thread's state that concern the GIL. @attached: they say that the thread
 * holds the GIL.
 */
static void thread_says(bool attached)
{
	if (image.where.gil == PY_GIL_CURRENT)
		put_u64(image.where.tstate_current, attached ? image.tstate : 0);
	else
		put_u32(image.tstate + image.l->tstate_gil, 9 | (attached ? image.l->gil_bit : 0));
	if (image.l->version >= 0x30e)
		put_u32(image.tstate + image.l->tstate_gil, attached);
}

/*
 * Enables the GIL of a free-threaded build (PYTHON_GIL=1). From then on it is like that of other
 * builds.
 */
static void enable(uint32_t count)
{
	if (is_free())
		put_u32(gil - PY_GIL_ENABLED_BYTES, count);
}

static void hold(void)
{
	thread_says(true);
	gil_says(image.tstate, 1);
}

static void release(void)
{
	thread_says(false);
	gil_says(image.tstate, 0);
}

static void begin(void)
{
	make_gil();
	enable(1);
	other = image_alloc(512);
	put_u64(other + image.l->tstate_thread_id, IMAGE_TP + 0x1000);
	hold();
}

/* Tests the simple cases, in which the thread is in no system call. */
static void plain(void)
{
	begin();
	assert_state(GIL_HELD);
	release();
	assert_state(GIL_RELEASED);
	gil_says(other, 1);
	assert_state(GIL_RELEASED);
	image.where.gil = PY_GIL_UNKNOWN;
	assert_state(GIL_UNKNOWN);
}

static void no_state(void)
{
	begin();
	if (image.where.tss == PY_TSS_NONE) {
		thread_says(false);
		put_u64(image.tstate + image.l->tstate_thread_id, 1);
		assert_state(GIL_NONE);
		put_u64(get_u64(image.where.interp_head) + image.l->interp_next, image_alloc(64));
		/* the thread may hold the GIL of the second interpreter */
		assert_state(GIL_UNKNOWN);
		return;
	}
	thread_says(false);
	if (image.where.tss == PY_TSS_TLS_STATIC)
		put_u64(IMAGE_TP - 40, 0);
	else
		put_u64(IMAGE_TP + IMAGE_TSD + 16 * IMAGE_KEY + 8, 0);
	assert_state(GIL_NONE);
}

/* Where the stack walk looks for this thread's state, it finds another thread's. */
static void mismatch(void)
{
	begin();
	put_u64(image.tstate + image.l->tstate_thread_id, 1);
	assert_state(image.where.tss == PY_TSS_NONE ? GIL_NONE : GIL_UNKNOWN);
}

/* The thread is in a futex call, on a word of the GIL or on a word beside it. */
static void futex(void)
{
	uint64_t first = gil + PY_GIL_WAIT, past;

	begin();
	first = gil + PY_GIL_WAIT;
	past = first + image.where.gil_wait_bytes;
	/* C code may sleep while it holds the GIL */
	assert_int_equal(asleep_at(first), GIL_HELD);
	release();
	gil_says(other, 1);
	assert_int_equal(asleep_at(first), GIL_WAITING);
	assert_int_equal(asleep_at((past - 4) & ~3ull), GIL_WAITING);
	assert_int_equal(asleep_at(first - 8), GIL_RELEASED);
	assert_int_equal(waking(first), GIL_RELEASED);
	/*
	 * 2.7 has two implementations of locks. If locks aren't semaphores, the lock's words may
	 * come after the place of the semaphore's value.
	 */
	assert_int_equal(asleep_at(past), image.l->version < 0x300 ? GIL_UNKNOWN : GIL_RELEASED);
	assert_int_equal(asleep_at(past + 4096), GIL_RELEASED);
	image.where.gil_wait_bytes = 0; /* as if krait didn't know where the GIL's words are */
	image.where.gil_wait = 0;
	if (!image.l->interp_gil)
		assert_int_equal(asleep_at(past + 4096), GIL_UNKNOWN);
}

/* In musl, a thread that waits for a condition variable sleeps on a word in its own stack. */
static void stack_waits(void)
{
	struct futex_call call = {.addr = 0x7ffe0100, .sp = 0x7ffe0000, .op = 0};

	begin();
	release();
	assert_int_equal(state_in(call), GIL_RELEASED);
	image.where.stack_waits = true;
	assert_int_equal(state_in(call), GIL_UNKNOWN);
	call.addr = 0x12340;
	assert_int_equal(state_in(call), GIL_RELEASED);
}

/* The thread is in the middle of taking or releasing the GIL. */
static void steps(void)
{
	bool by_word = image.l->version >= 0x30d;

	begin();
	/*
	 * either drop_gil() has begun, or another thread has set `locked` but not yet `last_holder`
	 */
	thread_says(false);
	gil_says(image.tstate, 1);
	assert_state(by_word || image.l->version < 0x300 ? GIL_RELEASED : GIL_UNKNOWN);
	/* take_gil() wakes the thread that gave the GIL up, and only then sets holds_gil */
	if (by_word)
		assert_int_equal(waking(gil + PY_GIL_WAIT), GIL_UNKNOWN);
	/*
	 * either PyEval_ReleaseLock() has left this state the current one, or PyThreadState_Swap()
	 * has made it active too early
	 */
	thread_says(true);
	gil_says(image.tstate, 0);
	if (image.l->version == 0x30c) {
		assert_state(GIL_UNKNOWN);
		gil_says(other, 1);
		assert_state(GIL_UNKNOWN);
		assert_int_equal(asleep_at(gil + PY_GIL_WAIT), GIL_WAITING);
	} else if (!by_word && image.l->version >= 0x300) {
		assert_state(GIL_RELEASED);
	}
	/*
	 * up to 3.11, PyThreadState_Swap() makes a sub-interpreter's state current while the thread
	 * holds the GIL
	 */
	gil_says(other, 1);
	if (image.l->version < 0x30c)
		assert_state(GIL_HELD);
}

/*
 * Python 2.7 and 3.6 create the GIL only when the program begins its first thread. Here it doesn't
 * exist yet.
 */
static void not_made(void)
{
	begin();
	if (image.l->version >= 0x30c)
		return;
	if (image.l->version < 0x300)
		put_u64(image.where.gil_wait, 0);
	gil_says(0, -1);
	assert_state(GIL_HELD);
	thread_says(false);
	assert_state(GIL_RELEASED);
	if (image.l->version < 0x300)
		assert_int_equal(asleep_at(0x5000), GIL_RELEASED);
}

/* In Python 3.15, the thread's own state says that it wants the GIL. */
static void requested(void)
{
	begin();
	if (!image.l->tstate_gil_requested)
		return;
	release();
	put_u32(image.tstate + image.l->tstate_gil_requested, 1);
	assert_state(GIL_WAITING);
	hold();
	assert_state(GIL_HELD);
}

/* Makes each read fail in turn, and checks that the state is right or unknown. */
static void assert_failing(struct futex_call call)
{
	uint8_t want = state_in(call);

	for (int keep = 0; keep < 2; keep++) {
		host.keep_on_fault = keep;
		for (host.fail_nth = 1; host.fail_nth < 40; host.fail_nth++) {
			uint8_t got = state_in(call);

			if (got != want)
				assert_int_equal(got, GIL_UNKNOWN);
		}
		host.fail_nth = 0;
	}
	host.keep_on_fault = false;
}

/* The GIL of a free-threaded build is disabled, so no thread holds it or waits for it. */
static void disabled(void)
{
	begin();
	if (!is_free())
		return;
	release();
	enable(0);
	assert_state(GIL_NONE);
	gil_says(other, 1);
	assert_state(GIL_NONE);
	assert_int_equal(asleep_at(gil + PY_GIL_WAIT), GIL_NONE);
	assert_failing(no_call);
	/* while an extension module that needs the GIL is imported, the GIL is enabled */
	enable(2);
	assert_state(GIL_RELEASED);
	thread_says(true);
	assert_state(GIL_HELD);
}

/*
 * Makes each read fail in turn, and checks that the stack walk says what the thread waits for, or
 * that it doesn't know.
 */
static void assert_recognized(uint64_t semaphore, uint8_t want)
{
	assert_int_equal(asleep_at(semaphore), want);
	for (host.fail_nth = 1; host.fail_nth < 40; host.fail_nth++) {
		uint8_t got = asleep_at(semaphore);

		if (got != want && got != GIL_UNKNOWN)
			assert_int_equal(got, GIL_NONE);
	}
	host.fail_nth = 0;
}

/*
 * A thread without a GIL sleeps on the semaphore in a struct wait_entry. The member before the
 * semaphore is the address of what the thread waits for.
 */
static void parked(void)
{
	uint64_t entry, section, mutex;

	begin();
	if (!is_free())
		return;
	release();
	enable(0);
	entry = image_alloc(64);
	section = image_alloc(64);
	mutex = image_alloc(8);
	put_u64(entry + 8, image.tstate + image.l->tstate_state);
	assert_recognized(entry + 16, GIL_NONE_STOPPED);
	put_u64(entry + 8, mutex);
	assert_recognized(entry + 16, GIL_NONE);
	for (uint64_t tag = 0; tag < 4; tag++) {
		put_u64(image.tstate + image.l->tstate_section, section | tag);
		put_u64(section + 8, 0);
		assert_recognized(entry + 16, GIL_NONE_SECTION);
		/* the thread already has the mutex of its critical section */
		put_u64(section + 8, mutex);
		assert_recognized(entry + 16, GIL_NONE);
	}
	put_u64(section + 8, 0);
	assert_state(GIL_NONE); /* the thread isn't in a futex call */
	enable(1);
	assert_int_equal(asleep_at(entry + 16), GIL_RELEASED);
}

static void failing(void)
{
	begin();
	assert_failing(no_call);
	release();
	assert_failing(no_call);
	gil_says(other, 1);
	assert_failing((struct futex_call){.addr = gil + PY_GIL_WAIT, .op = FUTEX_WAIT});
	gil_says(image.tstate, 1);
	assert_failing(no_call);
	put_u64(image.tstate + image.l->tstate_thread_id, 1);
	assert_failing(no_call);
}

/* clang-format off */
#define GIL_TESTS(X)                                                                               \
	X(plain) X(no_state) X(mismatch) X(futex) X(stack_waits) X(steps) X(not_made)              \
	X(requested) X(disabled) X(parked) X(failing)
/* clang-format on */

GIL_TESTS(RELEASE_TEST)

WALK_MAIN("gil", GIL_TESTS(RELEASE_ENTRY))
