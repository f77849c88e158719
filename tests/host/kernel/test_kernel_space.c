/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests which process's mappings a native stack is unwound with, and when missing mappings or
 * unwind rows wake user space.
 */
#include "kernel_shim.h"
#include "kernel_task.h"

#include "native/space.bpf.h"

#define SLOT 3

static struct walk *w;
static struct native *n;
static struct native_out *out;
static struct unwind_space *space;

static int setup(void **state)
{
	__u32 slot = SLOT;

	(void)state;
	shim_clear();
	shim_map(walk_states);
	shim_map(walk_outs);
	shim_map(walk_addresses);
	shim_map(native_states);
	shim_map(native_outs);
	shim_map(layouts);
	shim_map(spaces);
	w = walk_state(SLOT_PERF);
	n = native_state(SLOT_PERF);
	out = native_out(SLOT_PERF);
	space = bpf_map_lookup_elem(&spaces, &slot);
	w->proc = (struct proc_key){.start_ns = 100 * SECOND, .tgid = 5, .exec_id = 1};
	w->space = SLOT;
	*space = (struct unwind_space){.owner_start_ns = 100 * SECOND,
				       .owner_tgid = 5,
				       .owner_exec = 1,
				       .version = 8,
				       .unmaps = 2,
				       .at_unmaps = 2,
				       .read_ns = 101 * SECOND};
	shim.now_ns = 110 * SECOND;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shim_clear();
	SHIM_SET(native_mode, (__u8){NATIVE_MODE_NONE});
	SHIM_SET(patient, (bool){false});
	SHIM_SET(whole_machine, (bool){false});
	return 0;
}

/*
 * Returns the version of the mappings that the kernel program takes for the stack; 0: it takes
 * none.
 */
static __u32 version(void)
{
	memset(&n->space, 0x5a, sizeof(n->space));
	copy_space(n, w);
	if (!n->space.version)
		assert_int_equal(n->space.chunks, 0);
	return n->space.version;
}

static void test_own(void **state)
{
	(void)state;
	assert_int_equal(version(), 8);
	space->unmaps++; /* something was unmapped after the mappings were read */
	assert_int_equal(version(), 0);
	space->at_unmaps++;
	assert_int_equal(version(), 8);
	space->chunks = SPACE_CHUNKS;
	assert_int_equal(version(), 8);
	/* the mappings are being written, so their number of chunks may be impossible */
	space->chunks++;
	assert_int_equal(version(), 0);
	space->chunks = 0;
	w->space = 0;
	assert_int_equal(version(), 0);
}

/*
 * Mappings aren't used if their slot (place in the map `spaces`) was given to another process, or
 * if the process has called execve() since they were read.
 */
static void test_of_another(void **state)
{
	(void)state;
	w->proc.start_ns++;
	assert_int_equal(version(), 0);
	w->proc.start_ns--;
	w->proc.tgid++;
	assert_int_equal(version(), 0);
	w->proc.tgid--;
	w->proc.exec_id++;
	assert_int_equal(version(), 0);
}

/*
 * User space may read mappings before the process's first sample, when it doesn't know all of the
 * process's key. Then only the pid must match.
 */
static void test_before_first_sample(void **state)
{
	(void)state;
	space->owner_start_ns = 0;
	space->owner_exec = 0;
	assert_int_equal(version(), 8);
	space->owner_tgid++;
	assert_int_equal(version(), 0);
}

/* A forked process uses its parent's mappings if these were read before the fork. */
static void test_of_parent(void **state)
{
	(void)state;
	w->proc.tgid = 6;
	w->space_before_ns = 101 * SECOND + 1;
	assert_int_equal(version(), 8);
	w->space_before_ns = 101 * SECOND;
	assert_int_equal(version(), 0);
}

static void write_version(void)
{
	space->version++;
}

static void write_unmap(void)
{
	space->unmaps++;
}

/*
 * User space begins to write new mappings while the kernel program copies the old ones. The copy
 * isn't used.
 */
static void test_written_meanwhile(void **state)
{
	(void)state;
	shim.at_barrier = write_version;
	assert_int_equal(version(), 0);
	/*
	 * the unmapping came after the copy, so the mappings were right when the sample was taken
	 */
	shim.at_barrier = write_unmap;
	assert_int_equal(version(), 9);
	shim.at_barrier = NULL;
	assert_int_equal(version(), 0);
}

static bool urgent(__u8 outcome)
{
	n->outcome = outcome;
	return is_urgent(n, w);
}

/* Code outside of the known mappings wakes krait once for each version of the mappings. */
static void test_unmapped_wakes(void **state)
{
	(void)state;
	assert_true(urgent(NATIVE_UNMAPPED));
	assert_false(urgent(NATIVE_UNMAPPED));
	shim.now_ns += 100 * SECOND;
	assert_false(urgent(NATIVE_UNMAPPED));
	space->version++;
	assert_true(urgent(NATIVE_UNMAPPED));
	/*
	 * the process has no slot (place in the map `spaces`); slot 0 stands for that, and belongs
	 * to no process
	 */
	w->space = 0;
	((struct unwind_space *)bpf_map_lookup_elem(&spaces, &w->space))->version = 1;
	assert_false(urgent(NATIVE_UNMAPPED));
	w->space = SLOT;
	space->version++;
	SHIM_SET(patient, (bool){true});
	assert_false(urgent(NATIVE_UNMAPPED));
	assert_false(urgent(NATIVE_NO_ROWS));
}

/*
 * Takes a sample whose @outcome wakes user space. Returns for how many ns further samples with this
 * outcome don't wake it.
 */
static uint64_t apart(__u8 outcome)
{
	uint64_t ns = 0, step = 100000;

	assert_true(urgent(outcome));
	while (!urgent(outcome)) {
		ns += step;
		shim.now_ns += step;
		assert_true(ns < SECOND);
	}
	return ns;
}

/*
 * Samples that lack unwind rows wake krait at most every 10 ms. Those of a young process may wake
 * it every 1 ms, unless the whole machine is recorded.
 */
static void test_missing_wakes(void **state)
{
	(void)state;
	assert_int_equal(apart(NATIVE_NO_ROWS), 10000000);
	shim.now_ns += SECOND;
	assert_int_equal(apart(NATIVE_NO_SPACE), 10000000);
	assert_false(urgent(NATIVE_NO_RULE));
	shim.now_ns += SECOND;
	assert_false(urgent(NATIVE_WHOLE));
	w->proc.start_ns = shim.now_ns - SECOND;
	assert_int_equal(apart(NATIVE_NO_ROWS), 1000000);
	SHIM_SET(whole_machine, (bool){true});
	shim.now_ns += SECOND / 10;
	assert_int_equal(apart(NATIVE_NO_ROWS), 10000000);
}

/*
 * A stack's id depends on each kernel frame that belongs to the stack, and on no other kernel
 * frame.
 */
static void test_kernel_frames(void **state)
{
	__u64 ids[3];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		out->pc[i] = 0xffffffff81000000ull + i;
	out->head.n_kernel = 3;
	add_native(SLOT_PERF, false);
	ids[0] = w->hash;
	out->pc[3]++;
	w->hash = 0;
	add_native(SLOT_PERF, false);
	assert_int_equal(w->hash, ids[0]);
	for (size_t i = 0; i < 3; i++) {
		out->pc[i]++;
		w->hash = 0;
		add_native(SLOT_PERF, false);
		assert_int_not_equal(w->hash, ids[0]);
		out->pc[i]--;
	}
	out->head.n_kernel = 2;
	w->hash = 0;
	add_native(SLOT_PERF, false);
	assert_int_not_equal(w->hash, ids[0]);
	out->head.n_kernel = 0;
	w->hash = 17; /* 17 is left over from another sample; a stack without frames has no id */
	assert_int_equal(add_native(SLOT_PERF, false), NATIVE_NONE);
	assert_int_equal(w->hash, 0);
}

/*
 * Without mappings, the stack has only its innermost native frame. The sample wakes user space, but
 * only once.
 */
static void test_without_mappings(void **state)
{
	(void)state;
	SHIM_SET(native_mode, (__u8){NATIVE_MODE_FULL});
	space->unmaps++;
	n->regs = (struct unwind_regs){.pc = 0x401000, .sp = 0x7ffc0000};
	assert_int_equal(add_native(SLOT_PERF, true), NATIVE_NO_SPACE);
	assert_int_equal(n->n, 1);
	assert_int_equal(out->pc[0], 0x401000);
	assert_int_equal(n->space.version, 0);
	assert_true(w->urgent);
	assert_int_equal(add_native(SLOT_PERF, true), NATIVE_NO_SPACE);
	assert_false(w->urgent);
}

/*
 * In leaf mode (native frames only up to the innermost Python frame), the kernel program unwinds C
 * code between Python frames only while the interpreter collects garbage.
 */
static void test_collector(void **state)
{
	__u32 layout = 0, words[5] = {1, 1, 1, 1, 1}, *collecting = &words[4];
	struct py_layout *l = bpf_map_lookup_elem(&layouts, &layout);

	(void)state;
	l->interp_collecting = 16;
	w->interp = 0x7f0000000000;
	w->thread = THREAD_STATE;
	w->groups = 2;
	shim_give(w->interp, words, sizeof(words));
	assert_true(may_be_in_collector(w));
	*collecting = 0;
	assert_false(may_be_in_collector(w));
	*collecting = 1;
	w->groups = 1; /* a single group of frames has no C code between Python frames */
	assert_false(may_be_in_collector(w));
	w->n = 2;
	assert_false(may_be_in_collector(w));
	/* up to Python 3.10, each Python frame has its own evaluation loop in C */
	l->walk = PY_WALK_OBJECT;
	assert_true(may_be_in_collector(w));
	w->thread = THREAD_UNKNOWN;
	assert_false(may_be_in_collector(w));
	w->thread = THREAD_STATE;
	l->interp_collecting = 0;
	assert_false(may_be_in_collector(w));
	l->interp_collecting = 20; /* the word at this offset can't be read */
	assert_false(may_be_in_collector(w));
	l->interp_collecting = 16;
	SHIM_SET(native_mode, (__u8){NATIVE_MODE_LEAF});
	add_native(SLOT_PERF, true);
	assert_false(n->leaf_only);
	*collecting = 0;
	add_native(SLOT_PERF, true);
	assert_true(n->leaf_only);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_own, setup, teardown),
		cmocka_unit_test_setup_teardown(test_of_another, setup, teardown),
		cmocka_unit_test_setup_teardown(test_before_first_sample, setup, teardown),
		cmocka_unit_test_setup_teardown(test_of_parent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_written_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unmapped_wakes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missing_wakes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_mappings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_collector, setup, teardown),
	};

	return cmocka_run_group_tests_name("space", tests, NULL, NULL);
}
