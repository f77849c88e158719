/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * krait takes a process's mappings from the records of perf's side band, or reads /proc if the
 * records may be incomplete. The child's /proc/PID/maps says what it has mapped. In this test, the
 * side band reports a wrong address for the first mapping, so that this address shows where krait
 * took the mappings from.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/internal.h"
#include "collect/space/space.h"
#include "proc/read/maps.h"

#define EXEC_NS 1000u	 /* time of the child's exec, as perf's side band has it */
#define MET_NS	2000u	 /* the time at which the kernel program first saw the child */
#define MOVED	0x10000u /* an address below all of the child's mappings */

/* how often the child has unmapped code, as the kernel program counts it */
static uint64_t n_unmaps;
static bool places; /* makes the child map something while the kernel programs are given mappings */
/*
 * adds a record of the child to perf's side band while krait gives mappings to the kernel programs
 */
static bool tells;
/*
 * the count of unmappings up to which the mappings are valid that krait gave to the kernel programs
 */
static uint64_t n_allowed;
static bool untold;  /* perf's side band has a record of the child that krait hasn't read */
static int n_asked;  /* how often krait asked whether perf's side band has an unread record */
static size_t n_set; /* how many mappings krait last gave to the kernel programs */
/* start and end of the first of the mappings that krait last gave to the kernel programs */
static uint64_t first_set[2];

static int set_proc(void *ctx, const struct proc_key *k, enum proc_state state,
		    const struct py_where *where, const struct image_place *place, uint32_t space)
{
	return 0;
}

static int add_exe(void *ctx, const struct exe_key *key, const struct exe_entry *e)
{
	return 0;
}

static const struct collect_ops ops = {.set_proc = set_proc, .add_exe = add_exe};

static int new_one(void *ctx, uint32_t *number)
{
	static uint32_t last;

	*number = ++last;
	return 0;
}

static void free_one(void *ctx, uint32_t number)
{
}

static uint64_t unmaps(void *ctx, uint32_t slot)
{
	return n_unmaps;
}

static bool has_untold(void *ctx, uint32_t tgid)
{
	n_asked++;
	return untold;
}

static int set_space(void *ctx, uint32_t slot, const struct unwind_space *head,
		     const struct unwind_mapping *m, size_t n)
{
	n_set = n;
	first_set[0] = n ? m[0].start : 0;
	first_set[1] = n ? m[0].end : 0;
	n_unmaps += places;
	untold |= tells;
	return 0;
}

static void allow_space(void *ctx, uint32_t slot, uint64_t at_unmaps)
{
	n_allowed = at_unmaps;
}

static void read_space(void *ctx, uint32_t slot, bool begins)
{
}

static const struct collect_unwind_ops unwind = {.new_table = new_one,
						 .free_table = free_one,
						 .new_space = new_one,
						 .free_space = free_one,
						 .read_space = read_space,
						 .unmaps = unmaps,
						 .untold = has_untold,
						 .set_space = set_space,
						 .allow_space = allow_space};

struct fixture {
	struct profile *profile;
	struct collect *c;
	pid_t child;
	struct maps maps; /* the child's executable mappings */
};

static pid_t start_child(void)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* the child ends even if a test crashes */
	for (;;)
		pause();
}

/* Makes the record with which the kernel program reports the child after @exec_id execs. */
static struct rec_proc record_of(const struct fixture *f, uint32_t exec_id, uint64_t time_ns)
{
	return (struct rec_proc){
		.type = REC_PROC,
		.state = PROC_NATIVE,
		.proc = {.start_ns = 500, .tgid = (uint32_t)f->child, .exec_id = exec_id},
		.start_boot_ns = 500,
		.time_ns = time_ns};
}

static void hand_over(struct fixture *f, struct rec_proc rec)
{
	n_set = 0;
	collect_record(f->c, &rec, sizeof(rec));
}

static void read_own_maps(struct fixture *f)
{
	struct proc proc = PROC_INIT;

	assert_int_equal(proc_open(&proc, f->child), 0);
	assert_int_equal(maps_read(proc.dirfd, MAPS_EXEC, &f->maps), 0);
	proc_close(&proc);
	while (f->maps.list.v[f->maps.list.n - 1].start >= SPACE_UNUSED)
		f->maps.list.n--; /* [vsyscall] */
	assert_in_range(f->maps.list.n, 2, 24);
}

static int set_up(void **state, bool sees_unmaps)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct collect_config config = {.ops = &ops,
					.unwind = &unwind,
					.sees_unmaps = sees_unmaps,
					.all_processes = true,
					.kallsyms = -1,
					.n_sources = 1};

	untold = places = tells = false;
	n_asked = 0;
	n_unmaps = 7;
	n_allowed = 0;
	f->profile = config.profile = profile_new();
	f->c = collect_new(&config);
	f->child = start_child();
	read_own_maps(f);
	/*
	 * perf's side band has reported nothing of the child's program, so krait reads its
	 * mappings, and knows its files from then on
	 */
	hand_over(f, record_of(f, 1, 600));
	assert_int_equal(n_set, f->maps.list.n);
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return set_up(state, true);
}

static int setup_blind(void **state)
{
	return set_up(state, false);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kill(f->child, SIGKILL);
	waitpid(f->child, NULL, 0);
	collect_free(f->c);
	profile_free(f->profile);
	maps_fini(&f->maps);
	free(f);
	return 0;
}

static void tell(struct fixture *f, const struct mapping *m, uint64_t time_ns)
{
	collect_mapped(f->c, &(struct collect_mapping){.tgid = (uint32_t)f->child,
						       .addr = m->start,
						       .len = m->end - m->start,
						       .offset = m->offset,
						       .dev = m->dev,
						       .ino = m->ino,
						       .path = maps_path(&f->maps, m),
						       .time_ns = time_ns});
}

/*
 * Makes perf's side band report an exec and all mappings after it. The first mapping has a wrong
 * address, and is @more bytes too long.
 */
static void tell_all(struct fixture *f, uint64_t more)
{
	struct mapping first = f->maps.list.v[0];

	collect_exec(f->c, (uint32_t)f->child, EXEC_NS);
	for (size_t i = 1; i < f->maps.list.n; i++)
		tell(f, &f->maps.list.v[i], EXEC_NS + i);
	first.end = MOVED + first.end - first.start + more;
	first.start = MOVED;
	tell(f, &first, MET_NS - 1);
}

static void expect_first_at(struct fixture *f, uint64_t start)
{
	const struct mapping *first = &f->maps.list.v[0];

	assert_int_equal(n_set, f->maps.list.n);
	assert_int_equal(first_set[0], start);
	assert_int_equal(first_set[1], start + first->end - first->start);
}

static void expect_told(struct fixture *f)
{
	hand_over(f, record_of(f, 2, MET_NS));
	expect_first_at(f, MOVED);
}

static void expect_read(struct fixture *f)
{
	hand_over(f, record_of(f, 2, MET_NS));
	expect_first_at(f, f->maps.list.v[0].start);
}

static void test_told(void **state)
{
	tell_all(*state, 0);
	expect_told(*state);
}

static struct process *newest(const struct fixture *f)
{
	return process_newest(f->c, (uint32_t)f->child);
}

/*
 * Without the kprobe on munmap, a new mapping may have replaced one of the list meanwhile. So krait
 * compares the list a second time.
 */
static void test_placed(void **state)
{
	struct fixture *f = *state;

	tell_all(f, 0);
	places = true;
	expect_told(f);
	assert_int_equal(n_allowed, n_unmaps);
	assert_int_equal(newest(f)->space_stale, SPACE_FRESH);
}

static void test_placed_code(void **state)
{
	struct fixture *f = *state;

	tell_all(f, 0);
	places = tells = true;
	expect_told(f);
	assert_int_equal(n_allowed, 0);
	assert_int_equal(newest(f)->space_stale, SPACE_GONE);
}

static void read_again(struct fixture *f, enum space_stale why)
{
	n_set = 0;
	space_wanted(newest(f), why);
	space_read(f->c, newest(f));
}

/*
 * Mappings that are reported later are added to the list. If a stack has unknown code, or something
 * was unmapped, krait reads /proc.
 */
static void test_later(void **state)
{
	struct fixture *f = *state;

	tell_all(f, 0);
	expect_told(f);
	read_again(f, SPACE_ODD);
	expect_first_at(f, f->maps.list.v[0].start);
	read_again(f, SPACE_GROWN);
	expect_first_at(f, MOVED);
	read_again(f, SPACE_GONE);
	expect_first_at(f, f->maps.list.v[0].start);
}

/*
 * krait examined the process before its first sample, so that the kernel programs were given no
 * mappings. They are given them later.
 */
static void test_nothing_known(void **state)
{
	struct fixture *f = *state;
	struct rec_proc rec = record_of(f, 2, MET_NS);

	rec.state = PROC_PENDING;
	tell_all(f, 0);
	hand_over(f, rec);
	assert_int_equal(n_set, 0);
	assert_int_equal(newest(f)->space_stale, SPACE_GONE);
	space_read(f->c, newest(f));
	expect_first_at(f, MOVED);
}

/* The child has less code mapped than perf's side band reported, so something was unmapped. */
static void test_other_size(void **state)
{
	struct fixture *f = *state;

	tell_all(f, 4096);
	expect_read(f);
	assert_int_equal(n_asked, 1);
	/* krait doesn't ask perf's side band a second time */
	read_again(f, SPACE_GROWN);
	expect_first_at(f, f->maps.list.v[0].start);
	assert_int_equal(n_asked, 1);
}

/* perf's side band has a record of the child that krait hasn't read. */
static void test_untold(void **state)
{
	struct fixture *f = *state;

	tell_all(f, 0);
	untold = true;
	expect_read(f);
	untold = false;
	read_again(f, SPACE_GROWN);
	expect_first_at(f, MOVED);
}

static void test_exec_later(void **state)
{
	struct fixture *f = *state;

	tell_all(f, 0);
	collect_exec(f->c, (uint32_t)f->child, MET_NS + 1);
	for (size_t i = 0; i < f->maps.list.n; i++)
		tell(f, &f->maps.list.v[i], MET_NS + 2);
	hand_over(f, record_of(f, 2, MET_NS));
	assert_int_equal(n_asked, 0);
}

/*
 * Records of other CPUs may come out of order. Then mappings of the new program may be reported
 * before its exec, and the list lacks them.
 */
static void test_exec_late(void **state)
{
	struct fixture *f = *state;

	tell(f, &f->maps.list.v[1], EXEC_NS + 1);
	tell_all(f, 0);
	expect_read(f);
}

/*
 * krait itself made the record of the process. Such a record doesn't say since when the process
 * runs its present program.
 */
static void test_met_by_krait(void **state)
{
	struct fixture *f = *state;
	struct rec_proc rec = record_of(f, 2, MET_NS);

	rec.start_boot_ns = 0;
	tell_all(f, 0);
	hand_over(f, rec);
	expect_first_at(f, f->maps.list.v[0].start);
}

static void test_events_lost(void **state)
{
	struct fixture *f = *state;

	tell_all(f, 0);
	collect_look_again(f->c);
	expect_read(f);
}

/* perf's side band doesn't report that code without a file was moved, so krait reads /proc. */
static void test_anonymous(void **state)
{
	struct fixture *f = *state;
	struct mapping m = {.start = 0x1000, .end = 0x2000};

	tell_all(f, 0);
	tell(f, &m, MET_NS - 1);
	expect_read(f);
}

static void test_covered(void **state)
{
	struct fixture *f = *state;
	struct mapping m = f->maps.list.v[1];

	tell_all(f, 0);
	tell(f, &m, MET_NS - 2); /* the same mapping reported again changes nothing */
	expect_told(f);
	m.offset += 4096;
	tell(f, &m, MET_NS - 1);
	read_again(f, SPACE_GROWN);
	expect_first_at(f, f->maps.list.v[0].start);
}

/*
 * krait compares a file's path as well, because two files on btrfs may have the same numbers. The
 * child hasn't mapped this file, so the list would be too long even if krait knew the file.
 */
static void test_file_not_known(void **state)
{
	struct fixture *f = *state;
	struct collect_mapping m = {.tgid = (uint32_t)f->child,
				    .addr = 0x1000,
				    .len = 0x1000,
				    .dev = f->maps.list.v[0].dev,
				    .ino = f->maps.list.v[0].ino,
				    .path = "/other/file",
				    .time_ns = MET_NS - 1};

	tell_all(f, 0);
	collect_mapped(f->c, &m);
	expect_read(f);
	assert_int_equal(n_asked, 0);
}

static void test_too_many(void **state)
{
	struct fixture *f = *state;
	struct mapping m = f->maps.list.v[0];
	size_t n = 25 - f->maps.list.n;

	tell_all(f, 0);
	for (m.start = 2 * MOVED + m.end - m.start; n-- > 0; m.start += 0x2000) {
		m.end = m.start + 0x1000;
		tell(f, &m, MET_NS - 1);
	}
	expect_read(f);
	assert_int_equal(n_asked, 0);
}

/*
 * After the exec of this program there were as many other execs as krait keeps lists for, so the
 * program's list of mappings is gone.
 */
static void test_long_ago(void **state)
{
	struct fixture *f = *state;

	tell_all(f, 0);
	for (uint32_t i = 1; i <= 128; i++)
		collect_exec(f->c, (uint32_t)f->child + i, MET_NS - 1);
	expect_read(f);
}

/* The process has ended, and its number may belong to another process. */
static void test_ended(void **state)
{
	struct fixture *f = *state;

	tell_all(f, 0);
	collect_exit(f->c, (uint32_t)f->child, (uint32_t)f->child, MET_NS - 1);
	expect_read(f);
}

#define TEST(name)	 cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_BLIND(name) cmocka_unit_test_setup_teardown(name, setup_blind, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_told),
		TEST_BLIND(test_told),
		TEST(test_later),
		TEST_BLIND(test_later),
		TEST(test_nothing_known),
		TEST(test_other_size),
		TEST(test_untold),
		TEST(test_exec_later),
		TEST(test_exec_late),
		TEST(test_met_by_krait),
		TEST(test_events_lost),
		TEST(test_anonymous),
		TEST(test_covered),
		TEST(test_file_not_known),
		TEST(test_too_many),
		TEST(test_long_ago),
		TEST(test_ended),
		TEST_BLIND(test_placed),
		TEST_BLIND(test_placed_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
