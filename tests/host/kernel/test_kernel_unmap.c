/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests three parts of the kernel side: when a process unmaps code, its known mappings become stale
 * (out of date); absent (unreadable) memory is reported to user space, but not too often; sets
 * remember which ids were sent.
 */
#include "kernel_shim.h"

#include "events/unmap.bpf.h"
#include "absent.bpf.h"

static struct mm_struct mm, other_mm;
static struct task_struct task, parent;

static int setup(void **state)
{
	(void)state;
	shim_clear();
	shim_map(procs);
	shim_map(spaces);
	shim_map(early_unmaps);
	shim_map(absent_quotas);
	shim_map(codes_sent);
	shim_map(stacks_sent);
	parent = (struct task_struct){.tgid = 4, .group_leader = &parent, .start_time = 4};
	task = (struct task_struct){.tgid = 5,
				    .group_leader = &task,
				    .start_time = 5,
				    .mm = &mm,
				    .real_parent = &parent};
	shim.task = &task;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shim_clear();
	return 0;
}

static struct unwind_space *give_space(__u32 tgid, __u64 start_ns, __u32 slot)
{
	struct proc_entry entry = {.key = {start_ns, tgid, 0}, .space = slot};

	bpf_map_update_elem(&procs, &tgid, &entry, BPF_ANY);
	return bpf_map_lookup_elem(&spaces, &slot);
}

static bool is_early(__u32 tgid)
{
	return bpf_map_lookup_elem(&early_unmaps, &tgid);
}

static void test_unmap(void **state)
{
	struct vm_area_struct vma = {.vm_mm = &mm, .vm_flags = VM_EXEC};
	struct unwind_space *s = give_space(5, 5, 3);

	(void)state;
	on_unmap(&vma);
	assert_int_equal(s->unmaps, 1);
	vma.vm_flags = 0; /* unmaps data, not code */
	on_unmap(&vma);
	vma.vm_flags = VM_EXEC;
	/* unmaps memory of the program that ran before execve() */
	vma.vm_mm = &other_mm;
	on_unmap(&vma);
	assert_int_equal(s->unmaps, 1);
	assert_false(is_early(5));
}

/*
 * A process unmaps code before its first sample, or has the pid of an earlier process. It has no
 * known mappings yet that could become stale (out of date), so the kernel program remembers the
 * unmapping.
 */
static void test_unmap_early(void **state)
{
	struct vm_area_struct vma = {.vm_mm = &mm, .vm_flags = VM_EXEC};
	struct unwind_space *s;

	(void)state;
	on_unmap(&vma);
	assert_true(is_early(5));
	s = give_space(5, 1, 3);
	on_unmap(&vma);
	assert_int_equal(s->unmaps, 0);
	/*
	 * Mappings that user space set before the process's first sample have no start time. They
	 * count as this process's.
	 */
	give_space(5, 0, 3);
	on_unmap(&vma);
	assert_int_equal(s->unmaps, 1);
}

/*
 * While user space reads a process's mappings, any new mapping makes them stale (out of date). At
 * other times, only a new mapping over a known one does.
 */
static void test_new_place(void **state)
{
	struct unwind_space *s = give_space(5, 5, 3), *p = give_space(4, 4, 2);

	(void)state;
	on_new_place(0x1000, 0x1000);
	assert_int_equal(s->unmaps, 0);
	s->reading = 1;
	on_new_place(0x1000, 0x1000);
	assert_int_equal(s->unmaps, 1);
	assert_int_equal(p->unmaps, 0);
}

/* Gives the process of @s one mapping: the page at 0x1000. */
static void give_mapping(struct unwind_space *s)
{
	static const __u32 zero;
	struct space_chunk *c;
	const void *slab;

	shim_add(&slabs, sizeof(zero), 1, true);
	slab = bpf_map_lookup_elem(&slabs, &zero);
	shim_add(slab, sizeof(zero), sizeof(struct unwind_chunk), true);
	c = bpf_map_lookup_elem(slab, &zero);
	for (size_t i = 0; i < SPACE_MAPPINGS; i++)
		c->start[i] = SPACE_UNUSED;
	c->start[0] = 0x1000;
	c->map[0].pages = 1;
	s->chunks = 1;
}

/*
 * A forked process without a sample yet will be given its parent's mappings, unless it calls
 * execve().
 */
static void test_new_place_of_fork(void **state)
{
	(void)state;
	give_mapping(give_space(4, 4, 2));
	task.self_exec_id = 1;
	on_new_place(0x1000, 0x1000);
	assert_false(is_early(5));
	task.self_exec_id = 0;
	on_new_place(0x2000, 0x1000);
	assert_false(is_early(5));
	on_new_place(0x1000, 0x1000);
	assert_true(is_early(5));
}

static void test_quota(void **state)
{
	static struct walk w, other;
	unsigned n = 0;

	(void)state;
	w.proc_hash = 1ull << 32;
	other.proc_hash = 2ull << 32;
	while (n < 2 * ABSENT_BURST && has_quota(&w))
		n++;
	assert_int_equal(n, ABSENT_BURST);
	assert_true(has_quota(&other));
	/* another process, which shares a map entry for the limit with the first one */
	other.proc_hash = 1ull << 32 | 1;
	assert_true(has_quota(&other));
	for (n = 0; n < 2 * ABSENT_BURST && has_quota(&w);)
		n++;
	assert_int_equal(n, ABSENT_BURST);
	shim.now_ns += ABSENT_NS - 1;
	assert_false(has_quota(&w));
	shim.now_ns += 1;
	assert_true(has_quota(&w));
	assert_false(has_quota(&w));
	/* however much time has passed, only ABSENT_BURST reports are allowed at once */
	shim.now_ns += 1000000 * ABSENT_NS;
	for (n = 0; n < 2 * ABSENT_BURST && has_quota(&w);)
		n++;
	assert_int_equal(n, ABSENT_BURST);
}

/* Absent (unreadable) memory isn't reported if the sample is complete without it. */
static void test_lacks(void **state)
{
	struct rec_sample rec = {.gil = GIL_HELD};
	static struct walk w;

	(void)state;
	w.outcome = WALK_FRAME_FAULT;
	assert_false(lacks(&rec, &w));
	note_absent(&w, ABSENT_FRAME, 0x1000, 8);
	assert_true(lacks(&rec, &w));
	w.outcome = WALK_PENDING;
	assert_false(lacks(&rec, &w));
	w.outcome = WALK_OK;
	assert_false(lacks(&rec, &w));
	rec.gil = GIL_UNKNOWN;
	assert_true(lacks(&rec, &w));
	rec.gil = GIL_HELD;
	rec.native = NATIVE_TRUNCATED + 1;
	assert_true(lacks(&rec, &w));
	forget_absent(&w);
	assert_false(lacks(&rec, &w));
}

/* A full set of sent ids forgets the oldest one. */
static void test_sent(void **state)
{
	__u64 id[SENT_WAYS + 1];
	size_t n = 0;

	(void)state;
	for (__u64 i = 1; n <= SENT_WAYS; i++)
		if (bounded(sent_set_of(i), SENT_SETS) == bounded(sent_set_of(1), SENT_SETS))
			id[n++] = i;
	for (size_t i = 0; i < SENT_WAYS; i++) {
		assert_false(stack_seen(id[i]));
		stack_mark(id[i]);
	}
	for (size_t i = 0; i < SENT_WAYS; i++)
		assert_true(stack_seen(id[i]));
	stack_mark(id[SENT_WAYS]);
	assert_false(stack_seen(id[0]));
	assert_true(stack_seen(id[1]));
	assert_false(code_seen(id[1]));
	code_mark(id[1]);
	assert_true(code_seen(id[1]));
	sent_epoch++; /* user space begins a new epoch: no id counts as sent any more */
	assert_false(code_seen(id[1]));
	sent_epoch--;
	assert_true(code_seen(id[1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_unmap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unmap_early, setup, teardown),
		cmocka_unit_test_setup_teardown(test_new_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_new_place_of_fork, setup, teardown),
		cmocka_unit_test_setup_teardown(test_quota, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lacks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sent, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
