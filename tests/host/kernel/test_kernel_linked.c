/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel program looks for libpython in the dynamic loader's list of libraries, and must take
 * no other library for it. If it doesn't find libpython, it leaves the process's state as it is, or
 * asks user space what the process runs.
 */
#include "kernel_shim.h"
#include "kernel_task.h"

#include "process/linked.bpf.h"

#define TGID	    5
#define DEBUG_SLOT  0x3df8ull /* p_vaddr of the value of DT_DEBUG in the executable */
#define START_VADDR 0x1000ull
/* the code begins at 0x500000, as in kernel_task.h */
#define BIAS	(0x500000ull - START_VADDR)
#define R_DEBUG 0x7f0000000000ull
/* address of the first link of the loader's list; each link has a page */
#define LINKS 0x7f0000010000ull
/* address of the first library; there are 16 MiB for each library */
#define LIBRARY 0x7f1000000000ull
#define DYNAMIC 0x5000ull /* p_vaddr of each library's dynamic section */
#define SEEN	100	  /* number of libraries in the longest list */

/* The structs of <link.h> as the dynamic loader fills them in. */
struct loader_debug {
	uint32_t version, padding;
	uint64_t map;
};
struct loader_link {
	uint64_t addr, name, dynamic, next, previous;
};

static struct made process;
static uint64_t debug;
static struct loader_debug r_debug;
static struct loader_link links[SEEN];
static uint64_t python[32], other[32]; /* two dynamic sections, each a list of tags and values */
static struct exe_entry exe;

static uint64_t check_of(const uint64_t *section)
{
	uint64_t h = 0;

	for (size_t i = 0; i < ABI_DYNAMIC_ENTRIES; i++)
		h = check_dynamic(h, section[2 * i], section[2 * i + 1]);
	return h;
}

/* Makes the loader's list of @n libraries. Number @at is libpython. */
static void load_libraries(size_t n, size_t at)
{
	assert_true(n <= SEEN);
	for (size_t i = 0; i < n; i++) {
		uint64_t addr = LIBRARY + (i << 24);

		links[i] = (struct loader_link){.addr = addr,
						.dynamic = addr + DYNAMIC,
						.next = i + 1 < n ? LINKS + ((i + 1) << 12) : 0};
		shim_give(LINKS + (i << 12), &links[i], sizeof(links[i]));
		/* only these libraries have a readable dynamic section */
		if (i >= n - 2 || i == at)
			shim_give(addr + DYNAMIC, i == at ? python : other, sizeof(python));
	}
}

static void set_state(__u8 state)
{
	struct proc_entry entry = {.state = state};
	__u32 tgid = TGID;

	read_key(&process.task, TGID, &entry.key);
	bpf_map_update_elem(&procs, &tgid, &entry, BPF_ANY);
}

static void set_exe(void)
{
	struct rec_proc rec = {};

	read_exe(&process.task, &rec);
	bpf_map_update_elem(&exes, &rec.exe, &exe, BPF_ANY);
}

static int setup(void **state)
{
	(void)state;
	shim_clear();
	shim_map(walk_states);
	shim_map(meetings);
	shim_map(procs);
	shim_map(exes);
	shim_map(counters);
	shim_add(&rings, sizeof(__u32), 8, true);
	make(&process, TGID, NULL);
	process.inode.i_ino = 77;
	shim.task = &process.task;
	debug = R_DEBUG;
	r_debug = (struct loader_debug){.version = 1, .map = LINKS};
	shim_give(BIAS + DEBUG_SLOT, &debug, sizeof(debug));
	shim_give(R_DEBUG, &r_debug, sizeof(r_debug));
	memset(python, 0, sizeof(python));
	python[0] = 1; /* DT_NEEDED */
	python[1] = 0x1234;
	python[2] = 14; /* DT_SONAME */
	python[3] = 0x77;
	memcpy(other, python, sizeof(other));
	other[3] = 0x78;
	exe = (struct exe_entry){.kind = EXE_LINKED,
				 .start_vaddr = START_VADDR,
				 .debug_slot = DEBUG_SLOT,
				 .lib_dynamic = DYNAMIC,
				 .lib_check = check_of(python),
				 .where = {.layout = 4, .tstate_current = 0x9000}};
	set_exe();
	set_state(PROC_LINKING);
	read_key(&process.task, TGID, &walk_state(SLOT_PERF)->proc);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shim_clear();
	return 0;
}

static bool found(void)
{
	return find_linked(SLOT_PERF, TGID);
}

/*
 * The kernel program finds libpython: it adds libpython's load bias to the addresses, takes the
 * process for Python from now on, and tells user space so.
 */
static void test_found(void **state)
{
	const struct rec_proc *rec = (const void *)shim.sent[0].bytes;
	uint64_t want = LIBRARY + (3ull << 24) + 0x9000;

	(void)state;
	load_libraries(5, 3);
	assert_true(found());
	assert_int_equal(walk_state(SLOT_PERF)->where.tstate_current, want);
	assert_int_equal(walk_state(SLOT_PERF)->where.layout, 4);
	assert_int_equal(proc_entry_of(TGID)->state, PROC_PYTHON);
	assert_int_equal(proc_entry_of(TGID)->where.tstate_current, want);
	assert_int_equal(shim.n_sent, 1);
	assert_int_equal(rec->type, REC_PROC);
	assert_int_equal(rec->state, PROC_PYTHON);
	assert_int_equal(rec->proc.tgid, TGID);
	assert_int_equal(rec->where.tstate_current, want);
	assert_string_equal(rec->comm, "prog");
}

/*
 * Two libraries that aren't the libpython which the executable needs: another build of libpython,
 * and a library whose dynamic section is at another address.
 */
static void test_not_that_library(void **state)
{
	(void)state;
	load_libraries(3, 1);
	/* one changed word changes the hash of the dynamic section */
	python[1]++;
	assert_false(found());
	python[1]--;
	exe.lib_dynamic += 8;
	set_exe();
	assert_false(found());
	exe.lib_dynamic -= 8;
	set_exe();
	assert_true(found());
}

/* The kernel program looks at the first 64 libraries, even if the list is longer or circular. */
static void test_far_in_list(void **state)
{
	(void)state;
	load_libraries(64, 63);
	assert_true(found());
	set_state(PROC_LINKING);
	shim.n_memory = 2;
	load_libraries(SEEN, 64);
	assert_false(found());
	links[1].next = LINKS; /* a circle */
	assert_false(found());
}

/*
 * libpython isn't found before the loader has put it into its list, nor if the list can't be read.
 */
static void test_not_loaded_yet(void **state)
{
	(void)state;
	load_libraries(2, 1);
	links[0].next = 0;
	assert_false(found());
	links[0].next = LINKS + 0x800; /* the next link can't be read */
	assert_false(found());
	links[0].next = LINKS + 0x1000;
	r_debug.map = 0;
	assert_false(found());
	r_debug.map = LINKS;
	debug = 0; /* the loader has set up r_debug, but hasn't loaded a library yet */
	assert_false(found());
	debug = R_DEBUG;
	assert_int_equal(shim.n_sent, 0);
	assert_true(found());
}

/*
 * A process is linked to libpython, but in MAX_LINKING_TRIES samples libpython wasn't found: the
 * kernel program asks user space what the process runs. It never asks about a process in state
 * PROC_HOST.
 */
static void test_tries(void **state)
{
	(void)state;
	load_libraries(1, SEEN);
	for (unsigned i = 0; i <= MAX_LINKING_TRIES; i++) {
		assert_false(found());
		assert_int_equal(proc_entry_of(TGID)->state, PROC_LINKING);
	}
	assert_false(found());
	assert_int_equal(proc_entry_of(TGID)->state, PROC_PENDING);
	set_state(PROC_HOST);
	for (unsigned i = 0; i <= MAX_LINKING_TRIES + 1; i++)
		assert_false(found());
	assert_int_equal(proc_entry_of(TGID)->state, PROC_HOST);
	assert_int_equal(proc_entry_of(TGID)->asks, 0);
}

/*
 * If the kernel program doesn't know the process's executable any more, it asks user space what the
 * process runs.
 */
static void test_unknown_executable(void **state)
{
	(void)state;
	load_libraries(2, 1);
	process.inode.i_ino++;
	assert_false(found());
	assert_int_equal(proc_entry_of(TGID)->state, PROC_PENDING);
	set_state(PROC_HOST);
	assert_false(found());
	assert_int_equal(proc_entry_of(TGID)->state, PROC_PENDING);
}

/* While the ring is full, user space can't be told of the process. The next sample tries again. */
static void test_ring_full(void **state)
{
	(void)state;
	load_libraries(2, 1);
	shim.full = true;
	assert_false(found());
	assert_int_equal(proc_entry_of(TGID)->state, PROC_LINKING);
	assert_int_equal(walk_state(SLOT_PERF)->where.layout, 0);
	shim.full = false;
	assert_true(found());
}

/*
 * The process's entry in the map isn't changed if the pid now belongs to another process, or if the
 * process runs another program by now.
 */
static void test_another_process(void **state)
{
	struct walk *w = walk_state(SLOT_PERF);

	(void)state;
	load_libraries(2, 1);
	w->proc.exec_id++;
	assert_false(found());
	w->proc.exec_id--;
	w->proc.start_ns++;
	assert_false(found());
	w->proc.start_ns--;
	assert_true(found());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_found, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_that_library, setup, teardown),
		cmocka_unit_test_setup_teardown(test_far_in_list, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_loaded_yet, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown_executable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ring_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_process, setup, teardown),
	};

	return cmocka_run_group_tests_name("linked", tests, NULL, NULL);
}
