/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * krait reads a process's facts (control group, user) again when the process's stamp has changed,
 * and now and then without that. The stamp is a few numbers that tell cheaply whether a process has
 * changed. The process is this test. To see whether krait reads, the test changes the facts that
 * krait has stored.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/internal.h"
#include "one_layout.h"

#define BEGIN_NS (1000 * NSEC_PER_SEC)
#define SPOILT	 "/no such group"

static const struct collect_ops ops = {
	.add_layout = add_layout, .layout = get_layout, .set_proc = set_no_proc};

static struct profile *profile;
static struct collect *collect;
static struct proc_match match;
static struct process *process;

/*
 * Lets krait see this process for the first time, and read its facts (control group, user) at
 * BEGIN_NS.
 */
static int setup(void **state)
{
	struct collect_config config = {.ops = &ops, .kallsyms = -1, .n_sources = 1, .users = true};
	const struct proc_key key = {.tgid = (uint32_t)getpid(), .start_ns = 1000};
	_cleanup_proc_ struct proc proc = PROC_INIT;
	bool changed;

	profile = config.profile = profile_new();
	collect = collect_new(&config);
	process = process_at(collect, (uint32_t)process_of(collect, &key));
	proc_match_init(&match);
	return proc_open(&proc, getpid()) || !facts_read(collect, process, &proc) ||
	       !facts_renew(collect, process, BEGIN_NS, &changed) || changed;
}

static int teardown(void **state)
{
	collect_free(collect);
	proc_match_fini(&match);
	profile_free(profile);
	return 0;
}

/*
 * Has krait look at the process at time @ns. Returns whether krait read the control group and the
 * user.
 */
static bool reads_at(uint64_t ns)
{
	uint64_t user = process->runs_as;
	bool changed;

	free(process->cgroup);
	process->cgroup = strdup(SPOILT);
	process->runs_as = 999999;
	assert_int_equal(user, 1ull + geteuid());
	assert_true(facts_renew(collect, process, ns, &changed));
	assert_int_equal(changed, strcmp(process->cgroup, SPOILT) != 0);
	assert_int_equal(changed, process->runs_as == user);
	process->runs_as = user;
	return changed;
}

/*
 * The longer a process's facts (control group, user) haven't changed, the more rarely krait reads
 * them.
 */
static void test_same_stamp(void **state)
{
	assert_false(reads_at(BEGIN_NS + NSEC_PER_SEC));
	assert_false(reads_at(BEGIN_NS + 8 * NSEC_PER_SEC));
	assert_true(reads_at(BEGIN_NS + 10 * NSEC_PER_SEC));
	assert_false(reads_at(BEGIN_NS + 19 * NSEC_PER_SEC));
	assert_true(reads_at(BEGIN_NS + 25 * NSEC_PER_SEC));
	assert_false(reads_at(BEGIN_NS + 49 * NSEC_PER_SEC));
	assert_true(reads_at(BEGIN_NS + 1000 * NSEC_PER_SEC));
	assert_false(reads_at(BEGIN_NS + 1059 * NSEC_PER_SEC));
	assert_true(reads_at(BEGIN_NS + 1069 * NSEC_PER_SEC));
}

/*
 * The longer a process's stamp (which tells cheaply whether the process has changed) stays the
 * same, the more rarely krait reads it. After a change krait reads it at each call again.
 */
static void test_stamp_apart(void **state)
{
	assert_false(reads_at(BEGIN_NS + 8 * NSEC_PER_SEC));
	process->stamp.groups++;
	assert_false(reads_at(BEGIN_NS + 10 * NSEC_PER_SEC - 1));
	assert_true(reads_at(BEGIN_NS + 10 * NSEC_PER_SEC));
	process->stamp.groups++;
	assert_true(reads_at(BEGIN_NS + 11 * NSEC_PER_SEC));
	assert_true(reads_at(BEGIN_NS + 1000 * NSEC_PER_SEC));
	process->stamp.groups++;
	assert_false(reads_at(BEGIN_NS + 1010 * NSEC_PER_SEC - 1));
	assert_true(reads_at(BEGIN_NS + 1010 * NSEC_PER_SEC));
}

static void test_other_stamp(void **state)
{
	process->stamp.groups++;
	assert_true(reads_at(BEGIN_NS + 1 * NSEC_PER_SEC));
	assert_false(reads_at(BEGIN_NS + 2 * NSEC_PER_SEC));
	process->stamp.uid++;
	assert_true(reads_at(BEGIN_NS + 3 * NSEC_PER_SEC));
	process->stamp.dir++;
	assert_true(reads_at(BEGIN_NS + 4 * NSEC_PER_SEC));
	process->stamp = (struct proc_stamp){};
	assert_true(reads_at(BEGIN_NS + 5 * NSEC_PER_SEC));
	assert_false(reads_at(BEGIN_NS + 6 * NSEC_PER_SEC));
}

/*
 * A process that was chosen by its name is looked at each time, because a change of the name
 * doesn't change the stamp, by which krait notices other changes.
 */
static void test_chosen(void **state)
{
	collect->config.match = &match;
	assert_true(reads_at(BEGIN_NS + 1 * NSEC_PER_SEC));
	assert_true(reads_at(BEGIN_NS + 2 * NSEC_PER_SEC));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same_stamp, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stamp_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_stamp, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chosen, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
