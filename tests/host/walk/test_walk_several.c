/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process has several interpreters. Tests which of them a thread is taken to run: the one whose
 * GIL it holds, else the last one in which it has frames. Also tests the time limit of that search.
 */
#include "walk_host.h"

#include "python/several.bpf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "walk_image.h"
#include "walk_tests.h"

static struct proc_several several;

walk_inline const struct proc_several *walk_several(__u32 tgid)
{
	return several.n ? &several : NULL;
}

/* Adds an interpreter in which the thread has a thread state and, with @frames, frames. */
static void add(bool frames)
{
	uint64_t key = image_alloc(16) + 4, tstate = image_alloc(512);
	struct py_where *w = &several.where[several.n];

	*w = image.where;
	w->tss_key = key;
	put_u32(key - 4, 1);
	put_u32(key, IMAGE_KEY + several.n);
	put_u64(IMAGE_TP + IMAGE_TSD + 16 * (IMAGE_KEY + several.n) + 8, tstate);
	put_u64(tstate + image.l->tstate_thread_id, IMAGE_TP);
	if (frames)
		put_u64(tstate + image.l->tstate_frame, image_alloc(64));
	several.n++;
}

static void begin(const char *release)
{
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++)
		if (!strcmp(releases[i].name, release))
			image_begin(&releases[i]);
	host.tick_ns = 0;
	several = (struct proc_several){};
}

/* Returns the index of the interpreter that choose_interpreter() chooses. */
static size_t chosen(void)
{
	struct walk *w = host.w;
	size_t i = 0;

	w->where = several.where[0];
	w->tp = IMAGE_TP;
	w->began_ns = host.clock_ns;
	choose_interpreter(0, 1);
	while (i < several.n && w->where.tss_key != several.where[i].tss_key)
		i++;
	return i;
}

static void test_last_with_frames(void **state)
{
	begin("3.9");
	add(true);
	add(true);
	add(false);
	assert_int_equal(chosen(), 1);
	add(true);
	assert_int_equal(chosen(), 3);
}

static void test_no_frames(void **state)
{
	begin("3.9");
	add(false);
	add(false);
	assert_int_equal(chosen(), 0);
}

/*
 * If looking at an interpreter takes 100 us, there is time for two of them. The stack walk uses the
 * better of the two.
 */
static void test_bounded(void **state)
{
	begin("3.9");
	add(false);
	add(true);
	add(true);
	add(true);
	assert_int_equal(chosen(), 3);
	host.tick_ns = 100000;
	assert_int_equal(chosen(), 1);
}

/* The first interpreter is examined even if no time is left. */
static void test_late(void **state)
{
	begin("3.9");
	add(true);
	add(true);
	host.tick_ns = NSEC_PER_SEC;
	assert_int_equal(chosen(), 0);
}

WALK_MAIN("several", cmocka_unit_test(test_last_with_frames), cmocka_unit_test(test_no_frames),
	  cmocka_unit_test(test_bounded), cmocka_unit_test(test_late))
