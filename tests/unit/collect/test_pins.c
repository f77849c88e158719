/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each reference to a process or to its mappings is counted, and every count must go back to 0;
 * otherwise the memory of ended processes would never be freed. While a stack waits for its names,
 * the mappings with which it was sampled stay. These may be the mappings of a fork's parent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text/str.h"
#include "collect/internal.h"
#include "collect/space/space.h"
#include "one_layout.h"

#define STACK 0x1234567ull
#define CODE  0x10ull

static int set_several(void *ctx, const struct proc_several *several)
{
	return 0;
}

static int add_exe(void *ctx, const struct exe_key *k, const struct exe_entry *e)
{
	return 0;
}

static void ask_again(void *ctx, uint32_t tgid)
{
}

static void crowd(void *ctx, uint32_t uid, uint64_t until_ns)
{
}

static const struct collect_ops ops = {add_layout, get_layout, set_no_proc, set_several,
				       add_exe,	   ask_again,  crowd};

static int new_one(void *ctx, uint32_t *number)
{
	static uint32_t last;

	*number = ++last;
	return 0;
}

static void free_one(void *ctx, uint32_t number)
{
}

static int fill(void *ctx, uint32_t table, const struct unwind_rows *rows,
		const struct unwind_fde *eval, size_t n_eval)
{
	return 0;
}

static uint32_t given_up(void *ctx)
{
	return 0;
}

static void read_space(void *ctx, uint32_t slot, bool begins)
{
}

static uint64_t unmaps(void *ctx, uint32_t slot)
{
	return 0;
}

static int set_space(void *ctx, uint32_t slot, const struct unwind_space *head,
		     const struct unwind_mapping *m, size_t n)
{
	return 0;
}

static void allow_space(void *ctx, uint32_t slot, uint64_t at_unmaps)
{
}

static const struct collect_unwind_ops unwind = {.new_table = new_one,
						 .free_table = free_one,
						 .fill = fill,
						 .given_up = given_up,
						 .new_space = new_one,
						 .free_space = free_one,
						 .read_space = read_space,
						 .unmaps = unmaps,
						 .set_space = set_space,
						 .allow_space = allow_space};

struct fixture {
	struct profile *profile;
	struct collect *c;
	struct proc_key own;  /* key of a child process, which has this program's mappings */
	struct proc_key fork; /* key of a fork of the child; /proc has no such process */
	uint32_t version;     /* version of the child's mappings */
	pid_t child;
};

static void send_proc(struct fixture *f, const struct proc_key *key, uint16_t slot)
{
	struct rec_proc rec = {.type = REC_PROC,
			       .state = PROC_PYTHON,
			       .proc = *key,
			       .space = slot,
			       .comm = "prog"};

	collect_record(f->c, &rec, sizeof(rec));
}

/* Returns process @key, or NULL. */
static struct process *process(struct fixture *f, const struct proc_key *key)
{
	for (size_t i = 0; i < f->c->processes->all.n; i++)
		if (process_at(f->c, (uint32_t)i)->key.tgid == key->tgid)
			return process_at(f->c, (uint32_t)i);
	return NULL;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct collect_config config = {.ops = &ops,
					.unwind = &unwind,
					.sees_unmaps = true,
					.kallsyms = -1,
					.start_ns = 500,
					.n_sources = 1};

	f->profile = config.profile = profile_new();
	profile_meta(f->profile)->n_values = 2;
	f->c = collect_new(&config);
	f->child = fork();
	if (!f->child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the child ends even if a test crashes */
		for (;;)
			pause();
	}
	f->own = (struct proc_key){.start_ns = 1000, .tgid = (uint32_t)f->child};
	f->fork = (struct proc_key){.start_ns = 2000, .tgid = 0x7ffffff0};
	send_proc(f, &f->own, 0);
	space_read(f->c, process(f, &f->own));
	f->version = space_latest(f->c, process(f, &f->own))->version;
	*state = f;
	return 0;
}

static void kill_child(struct fixture *f)
{
	if (f->child)
		kill(f->child, SIGKILL);
	if (f->child)
		waitpid(f->child, NULL, 0);
	f->child = 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kill_child(f);
	collect_free(f->c);
	profile_free(f->profile);
	free(f);
	return 0;
}

static void send_code(struct fixture *f, const struct proc_key *key)
{
	struct rec_code rec = {
		.type = REC_CODE, .code = CODE, .check = CODE + 1, .proc = *key, .version = 1};

	collect_record(f->c, &rec, sizeof(rec));
}

/*
 * Sends a sample of @key with two frames: a Python function, whose code object hasn't come, and a
 * native one.
 */
static void send_stack(struct fixture *f, const struct proc_key *key)
{
	struct {
		struct rec_native head;
		uint64_t pc;
	} native = {{.type = REC_NATIVE,
		     .outcome = NATIVE_WHOLE,
		     .n = 1,
		     .stack = STACK,
		     .proc = *key,
		     .version = f->version},
		    (uintptr_t)send_code};
	struct {
		struct rec_stack head;
		struct wire_frame frame;
	} stack = {{.type = REC_STACK, .n = 1, .stack = STACK, .proc = *key},
		   {.code = CODE, .check = CODE + 1, .lasti = -1}};
	struct rec_sample sample = {.type = REC_SAMPLE,
				    .native = NATIVE_WHOLE,
				    .tid = key->tgid,
				    .time_ns = 2500,
				    .stack = STACK,
				    .proc = *key,
				    .weight = 1000};

	collect_record(f->c, &native, sizeof(native));
	collect_record(f->c, &stack, sizeof(stack));
	collect_record(f->c, &sample, sizeof(sample));
}

static void flush(struct fixture *f)
{
	assert_int_equal(collect_flush(f->c, false), 0);
}

/* Calls collect_flush() until no sample waits any more for names that a worker thread reads. */
static void flush_until_named(struct fixture *f)
{
	for (int i = 0; f->c->n_waiting && i < 1000; i++) {
		flush(f);
		usleep(10000);
	}
	assert_int_equal(f->c->n_waiting, 0);
}

static void assert_counts(const struct process *p, uint32_t users, uint32_t pins)
{
	assert_int_equal(p->users, users);
	assert_int_equal(p->pins, pins);
}

static int note_stack(void *arg, const struct profile_sample *s)
{
	*(uint32_t *)arg = s->stack;
	return 0;
}

/* Checks that the native frame of the only sample is in this program. */
static void assert_native_named(struct fixture *f)
{
	uint32_t stack = 0;
	const uint32_t *at;
	bool found = false;
	size_t n;

	assert_int_equal(profile_each(f->profile, note_stack, &stack), 0);
	at = profile_get_stack(f->profile, stack, &n);
	for (size_t i = 0; i < n; i++) {
		const struct profile_location *l = profile_get_location(f->profile, at[i]);
		const struct profile_mapping *m = profile_get_mapping(f->profile, l->mapping);

		found |= strstr(profile_get_string(f->profile, m->name), "test_pins") != NULL;
	}
	assert_true(found);
}

/* Ends the child process. krait forgets it as soon as nothing refers to it. */
static void end(struct fixture *f)
{
	kill_child(f);
	collect_exit(f->c, f->own.tgid, f->own.tgid, 3000);
	for (int i = 0; i < 8; i++)
		flush(f);
}

/*
 * A stack and a sample, both waiting for names, refer to the process. When they are done, nothing
 * refers to it.
 */
static void test_back_to_zero(void **state)
{
	struct fixture *f = *state;
	struct process *p = process(f, &f->own);

	assert_counts(p, 0, 0);
	send_stack(f, &f->own);
	assert_counts(p, 2, 0);
	assert_int_equal(space_at(f->c, f->version)->users, 1);
	flush(f);
	assert_counts(p, 2, 0);
	send_code(f, &f->own);
	flush(f); /* only the names that the worker thread reads are missing now */
	assert_counts(p, 2, 1);
	assert_int_equal(space_at(f->c, f->version)->users, 1);
	flush_until_named(f);
	assert_counts(p, 0, 0);
	assert_int_equal(space_at(f->c, f->version)->users, 0);
	assert_native_named(f);
	end(f);
	assert_null(space_at(f->c, f->version));
}

/*
 * In the last collect_flush(), no stack waits for missing names any more, and nothing refers to the
 * process.
 */
static void test_last_flush(void **state)
{
	struct fixture *f = *state;
	struct process *p = process(f, &f->own);

	send_stack(f, &f->own);
	flush(f);
	send_code(f, &f->own);
	flush(f);
	assert_counts(p, 2, 1);
	assert_int_equal(collect_flush(f->c, true), 0);
	assert_counts(p, 0, 0);
	assert_int_equal(space_at(f->c, f->version)->users, 0);
}

/*
 * A fork's stack was unwound with its parent's mappings. The parent ends before the stack has its
 * names.
 */
static void test_fork(void **state)
{
	struct fixture *f = *state;
	struct process *fork;

	send_proc(f, &f->fork, (uint16_t)process(f, &f->own)->slot);
	fork = process(f, &f->fork);
	send_stack(f, &f->fork);
	assert_counts(fork, 2, 0);
	assert_counts(process(f, &f->own), 0, 0);
	end(f);
	assert_true(process(f, &f->own)->forgotten);
	assert_non_null(space_at(f->c, f->version));
	assert_int_equal(space_at(f->c, f->version)->users, 1);
	send_code(f, &f->fork);
	flush_until_named(f);
	assert_native_named(f);
	assert_counts(fork, 0, 0);
	assert_null(space_at(f->c, f->version));
}

/*
 * krait looked at a process before the process's first sample. At that sample the process runs
 * another program. Stacks that were sampled before keep the old mappings.
 */
static void test_confirm(void **state)
{
	struct fixture *f = *state;
	struct process *p = process(f, &f->own);

	p->expected = true;
	send_stack(f, &f->own);
	send_proc(f, &f->own, (uint16_t)(p->slot + 1));
	assert_int_equal(p->spaces.n, 0);
	assert_non_null(space_at(f->c, f->version));
	send_code(f, &f->own);
	flush_until_named(f);
	assert_native_named(f);
	assert_counts(p, 0, 0);
	assert_null(space_at(f->c, f->version));
}

/* Stacks and samples that still wait at the end are freed, as ASan's leak check shows. */
static void test_left_over(void **state)
{
	struct fixture *f = *state;

	send_proc(f, &f->fork, (uint16_t)process(f, &f->own)->slot);
	send_stack(f, &f->fork);
	end(f);
	assert_int_equal(space_at(f->c, f->version)->users, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_back_to_zero, setup, teardown),
		cmocka_unit_test_setup_teardown(test_last_flush, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
		cmocka_unit_test_setup_teardown(test_confirm, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left_over, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
