/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the rings: each CPU's records go into its own ring, refused records are counted, and some
 * records wake user space.
 */
#include "kernel_shim.h"

#include "maps.bpf.h"

static int setup(void **state)
{
	__u32 cpu;

	(void)state;
	shim_clear();
	shim_map(counters);
	shim_add(&rings, sizeof(__u32), 8, false);
	for (cpu = 0; cpu < 2; cpu++)
		bpf_map_update_elem(&rings, &cpu, &(__u64){0}, BPF_ANY);
	settled = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shim_clear();
	settled = false;
	return 0;
}

static __u64 counted(__u32 counter)
{
	return *(__u64 *)bpf_map_lookup_elem(&counters, &counter);
}

static const void *ring_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&rings, &cpu);
}

static void test_ring_of_cpu(void **state)
{
	struct rec_sample rec = {.type = REC_SAMPLE, .tid = 4711};

	(void)state;
	for (shim.cpu = 0; shim.cpu < 2; shim.cpu++)
		assert_int_equal(ring_output(&rec, sizeof(rec), BPF_RB_NO_WAKEUP), 0);
	assert_int_equal(shim.n_sent, 2);
	assert_ptr_equal(shim.sent[0].ring, ring_of(0));
	assert_ptr_equal(shim.sent[1].ring, ring_of(1));
	assert_ptr_not_equal(ring_of(0), ring_of(1));
	assert_int_equal(shim.sent[0].n, sizeof(rec));
	assert_memory_equal(shim.sent[0].bytes, &rec, sizeof(rec));
	assert_int_equal(counted(COUNT_NO_RING), 0);
	/* the CPU came online after the rings were made, so it has no ring */
	assert_int_not_equal(ring_output(&rec, sizeof(rec), BPF_RB_NO_WAKEUP), 0);
	assert_int_equal(counted(COUNT_NO_RING), 1);
	assert_int_equal(counted(COUNT_RING_FULL), 0);
	assert_int_equal(shim.n_sent, 2);
}

static void test_full(void **state)
{
	struct rec_sample rec = {.type = REC_SAMPLE};

	(void)state;
	shim.full = true;
	assert_int_not_equal(ring_output(&rec, sizeof(rec), BPF_RB_NO_WAKEUP), 0);
	assert_int_not_equal(send_bytes(&rec, sizeof(rec)), 0);
	assert_int_equal(counted(COUNT_RING_FULL), 2);
	shim.full = false;
	assert_int_equal(send_bytes(&rec, sizeof(rec)), 0);
	assert_int_equal(shim.sent[0].flags, BPF_RB_NO_WAKEUP);
	assert_int_equal(counted(COUNT_RING_FULL), 2);
	assert_int_equal(counted(COUNT_NO_RING), 0);
}

/* Sends the record @rec of @n bytes with @flags. Returns whether it wakes user space. */
static bool wakes(const void *rec, size_t n, __u64 flags)
{
	assert_int_equal(ring_output(rec, n, flags), 0);
	assert_true(shim.sent[shim.n_sent - 1].flags == BPF_RB_NO_WAKEUP ||
		    shim.sent[shim.n_sent - 1].flags == BPF_RB_FORCE_WAKEUP);
	return shim.sent[shim.n_sent - 1].flags == BPF_RB_FORCE_WAKEUP;
}

/*
 * When a ring is more than a quarter full, a large record wakes user space, but a sample doesn't.
 */
static void test_quarter(void **state)
{
	static const uint8_t large[sizeof(struct rec_sample) + 8] = {REC_STACK};
	struct rec_sample rec = {.type = REC_SAMPLE, .runtime_ns = 1ull << 40};

	(void)state;
	shim.ring_used = SHIM_RING_BYTES / 4;
	assert_false(wakes(large, sizeof(large), BPF_RB_NO_WAKEUP));
	shim.ring_used++;
	assert_true(wakes(large, sizeof(large), BPF_RB_NO_WAKEUP));
	shim.ring_used = SHIM_RING_BYTES;
	assert_false(wakes(&rec, sizeof(rec), BPF_RB_NO_WAKEUP));
	assert_true(wakes(&rec, sizeof(rec), BPF_RB_FORCE_WAKEUP));
	shim.ring_used = 0;
	assert_true(wakes(large, sizeof(large), BPF_RB_FORCE_WAKEUP));
}

/*
 * While user space sleeps for a long time, the first record of something new (a code object, a
 * sample of a young thread) wakes it, and later ones don't.
 */
static void test_settled(void **state)
{
	static const uint8_t code[sizeof(struct rec_code)] = {REC_CODE},
						stack[sizeof(struct rec_sample)] = {REC_STACK};
	struct rec_sample old = {.type = REC_SAMPLE, .runtime_ns = NEW_THREAD_NS},
			  young = {.type = REC_SAMPLE, .runtime_ns = NEW_THREAD_NS - 1};

	(void)state;
	assert_false(wakes(code, sizeof(code), BPF_RB_NO_WAKEUP));
	assert_false(wakes(&young, sizeof(young), BPF_RB_NO_WAKEUP));
	settled = true;
	assert_false(wakes(&old, sizeof(old), BPF_RB_NO_WAKEUP));
	assert_false(wakes(stack, sizeof(stack), BPF_RB_NO_WAKEUP));
	assert_true(wakes(code, sizeof(code), BPF_RB_NO_WAKEUP));
	assert_false(wakes(code, sizeof(code), BPF_RB_NO_WAKEUP));
	settled = true;
	assert_true(wakes(&young, sizeof(young), BPF_RB_NO_WAKEUP));
	assert_false(settled);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ring_of_cpu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_quarter, setup, teardown),
		cmocka_unit_test_setup_teardown(test_settled, setup, teardown),
	};

	return cmocka_run_group_tests_name("rings", tests, NULL, NULL);
}
