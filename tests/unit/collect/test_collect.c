/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The collector gets records and makes a profile of them. The records come in any order, some are
 * missing, some are broken. Needs no kernel programs.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/clock.h"
#include "base/text/str.h"
#include "collect/budget/asked.h"
#include "collect/budget/crowd.h"
#include "collect/budget/upkeep.h"
#include "collect/internal.h"
#include "elf_writer.h"
#include "proc/files/files.h"
#include "proc/read/stat.h"
#include "profile/remake/condense.h"

static const struct proc_key key = {.start_ns = 1000, .tgid = 0x7ffffff0, .exec_id = 1};

static struct py_layout layout = {.version = 0x30c};

static int add_layout(void *ctx, const struct py_layout *l, uint16_t *index)
{
	*index = 0;
	return 0;
}

static const struct py_layout *get_layout(void *ctx, uint16_t index)
{
	return index ? NULL : &layout;
}

/* the process state that the collector last reported to the kernel programs */
static enum proc_state last_state;
static uint32_t crowd_uid;
static uint64_t crowd_until_ns, all_until_ns;

static int set_proc(void *ctx, const struct proc_key *k, enum proc_state state,
		    const struct py_where *where, const struct image_place *place, uint32_t space)
{
	last_state = state;
	return 0;
}

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
	if (uid == ALL_USERS) {
		all_until_ns = until_ns;
		return;
	}
	crowd_uid = uid;
	crowd_until_ns = until_ns;
}

static const struct collect_ops ops = {add_layout, get_layout, set_proc, set_several,
				       add_exe,	   ask_again,  crowd};

/*
 * Replaces the C library's reallocarray(), with which all vectors grow: if fail_size isn't 0, the
 * next call for that many bytes fails.
 */
static size_t fail_size;

void *reallocarray(void *p, size_t n, size_t size)
{
	if (size != fail_size)
		return realloc(p, n * size);
	fail_size = 0;
	return NULL;
}

struct fixture {
	struct profile *profile;
	struct collect *collect;
};

static int set_up(void **state, struct collect_config config)
{
	struct fixture *f = calloc(1, sizeof(*f));

	config.ops = &ops;
	config.kallsyms = -1;
	config.start_ns = 500;
	config.n_sources = 1;
	f->profile = profile_new();
	profile_meta(f->profile)->n_values = 2;
	config.profile = f->profile;
	f->collect = collect_new(&config);
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return set_up(state, (struct collect_config){});
}

static int setup_machine(void **state)
{
	return set_up(state, (struct collect_config){.whole_machine = true});
}

static int setup_waits(void **state)
{
	return set_up(state, (struct collect_config){.waits = true});
}

/* Sets the collector up with a limit on memory, as krait top does. */
static int setup_long(void **state)
{
	return set_up(state, (struct collect_config){.max_bytes = 4 << 20});
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	collect_free(f->collect);
	profile_free(f->profile);
	free(f);
	return 0;
}

static void send_proc(struct fixture *f)
{
	struct rec_proc rec = {.type = REC_PROC, .state = PROC_PYTHON, .proc = key, .comm = "prog"};

	collect_record(f->collect, &rec, sizeof(rec));
}

/*
 * Sends a code object with ASCII texts and an empty line table, so that every line is the
 * function's first line.
 */
static void send_code_of(struct fixture *f, uint64_t addr, const char *file, const char *name,
			 uint64_t globals)
{
	struct rec_code rec = {.type = REC_CODE,
			       .firstlineno = 7,
			       .code = addr,
			       .check = addr + 1,
			       .proc = key,
			       .version = 1,
			       .globals = globals};
	const char *texts[] = {file, NULL, name, NULL};
	_cleanup_str_ struct str out = {};

	for (int i = 0; i < CODE_TEXT_MAX; i++)
		if (texts[i])
			rec.text[i] = (struct wire_text){.addr = 1,
							 .len = strlen(texts[i]),
							 .bytes = strlen(texts[i]),
							 .kind = 1,
							 .ascii = 1};
	str_add_n(&out, &rec, sizeof(rec));
	for (int i = 0; i < CODE_TEXT_MAX; i++) {
		if (texts[i])
			str_add(&out, texts[i]);
		while (out.n % 8)
			str_add_c(&out, '\0');
	}
	collect_record(f->collect, out.s, out.n);
}

static void send_code(struct fixture *f, uint64_t addr, const char *name)
{
	send_code_of(f, addr, "/app/prog.py", name, 0);
}

static void send_stack(struct fixture *f, uint64_t id, const uint64_t *codes, uint16_t n,
		       uint8_t outcome)
{
	struct rec_stack rec = {
		.type = REC_STACK, .outcome = outcome, .n = n, .stack = id, .proc = key};
	_cleanup_str_ struct str out = {};

	str_add_n(&out, &rec, sizeof(rec));
	for (int i = 0; i < n; i++)
		str_add_n(
			&out,
			&(struct wire_frame){.code = codes[i], .check = codes[i] + 1, .lasti = -1},
			sizeof(struct wire_frame));
	collect_record(f->collect, out.s, out.n);
}

/* Sends the record with a stack's native part, which is one kernel frame. */
static void send_native(struct fixture *f, uint64_t id)
{
	struct {
		struct rec_native head;
		uint64_t pc;
	} rec = {{.type = REC_NATIVE, .n_kernel = 1, .stack = id, .proc = key},
		 0xffffffff81000000 + 16 * id};

	collect_record(f->collect, &rec, sizeof(rec));
}

static void send_sample(struct fixture *f, uint64_t stack, uint8_t outcome)
{
	struct rec_sample rec = {.type = REC_SAMPLE,
				 .outcome = outcome,
				 .tid = key.tgid,
				 .time_ns = 2500,
				 .stack = stack,
				 .proc = key,
				 .weight = 1000};

	collect_record(f->collect, &rec, sizeof(rec));
}

static void send_runtime(struct fixture *f, uint32_t tid, uint64_t runtime_ns)
{
	struct rec_sample rec = {.type = REC_SAMPLE,
				 .outcome = WALK_NO_PYTHON,
				 .tid = tid,
				 .time_ns = 2500,
				 .runtime_ns = runtime_ns,
				 .proc = key,
				 .weight = 1000000};

	collect_record(f->collect, &rec, sizeof(rec));
}

struct seen {
	unsigned n;
	struct profile_sample last;
};

static int remember(void *arg, const struct profile_sample *s)
{
	struct seen *seen = arg;

	seen->n++;
	seen->last = *s;
	return 0;
}

static struct seen samples(struct fixture *f)
{
	struct seen seen = {};

	assert_int_equal(profile_each(f->profile, remember, &seen), 0);
	return seen;
}

static struct collect_stats flushed(struct fixture *f, bool last)
{
	struct collect_stats st;

	assert_int_equal(collect_flush(f->collect, last), 0);
	collect_stats(f->collect, &st);
	return st;
}

static const char *frame_name(struct fixture *f, uint32_t stack, size_t i, size_t want)
{
	size_t n;
	const uint32_t *loc = profile_get_stack(f->profile, stack, &n);

	assert_int_equal(n, want);
	return profile_get_string(
		f->profile,
		profile_get_function(f->profile, profile_get_location(f->profile, loc[i])->function)
			->name);
}

/* Makes a record of thread @tid that says for how long in all the thread was ready to run. */
static struct rec_sample ready_record(uint32_t tid, uint64_t time_ns, uint64_t ready_ns)
{
	return (struct rec_sample){.type = REC_SAMPLE,
				   .outcome = WALK_NO_PYTHON,
				   .tid = tid,
				   .time_ns = time_ns,
				   .proc = key,
				   .weight = 1000,
				   .ready_ns = ready_ns};
}

static void send_ready(struct fixture *f, uint64_t time_ns, uint64_t ready_ns)
{
	struct rec_sample rec = ready_record(key.tgid, time_ns, ready_ns);

	collect_record(f->collect, &rec, sizeof(rec));
}

static void send_account(struct fixture *f, uint32_t tid, uint64_t ready_ns, uint64_t stolen_ns)
{
	struct rec_account rec = {ready_record(tid, 90500, ready_ns), 70, 60};

	rec.sample.type = REC_ACCOUNT;
	rec.sample.weight = 0;
	rec.sample.stolen_ns = stolen_ns;
	collect_record(f->collect, &rec, sizeof(rec));
}

struct apart {
	const struct profile *p;
	int64_t runnable, stolen;
	int64_t last; /* time of the last sample with the label state=runnable */
	unsigned n;
};

static int add_up_apart(void *arg, const struct profile_sample *s)
{
	struct apart *a = arg;
	const char *state = profile_label_text(a->p, s->labels, "state");

	a->n++;
	a->runnable += streq(state, "runnable") ? s->values[1] : 0;
	a->stolen += streq(state, "stolen") ? s->values[1] : 0;
	a->last = streq(state, "runnable") ? s->time_ns : a->last;
	return 0;
}

static struct apart apart_of(struct fixture *f)
{
	struct apart a = {.p = f->profile};

	assert_int_equal(profile_each(f->profile, add_up_apart, &a), 0);
	return a;
}

/*
 * A thread is ready to run again and again. Each record has the sum of its ready times so far. The
 * profile must have each time once, whatever the order of the records. The thread's account (a
 * record of its final sums) may have time that no record before it had: that time is added to the
 * stack of the last sample. A sample of ready time ends where the record that reports it begins.
 * The recording begins at time 500.
 */
static void test_ready(void **state)
{
	struct fixture *f = *state;
	struct collect_stats st;

	send_proc(f);
	send_ready(f, 1500, 100);
	flushed(f, false);
	assert_int_equal(apart_of(f).last, 1500 - 100 - 500);
	send_ready(f, 3500, 700);
	/* this record comes late, because it was in the ring of another CPU */
	send_ready(f, 2500, 400);
	flushed(f, false);
	assert_int_equal(apart_of(f).runnable, 700);
	assert_int_equal(apart_of(f).n, 5);
	assert_int_equal(apart_of(f).last, 3500 - 600 - 500);
	send_account(f, key.tgid, 1000, 50);
	flushed(f, false);
	flushed(f, false);
	assert_int_equal(apart_of(f).runnable, 1000);
	assert_int_equal(apart_of(f).stolen, 50);
	st = flushed(f, true);
	assert_int_equal(st.accounts.switches_ns, 70);
	assert_int_equal(st.accounts.kernel_ns, 60);
	assert_int_equal(st.samples, 3);
}

static struct {
	unsigned n;
	int status;
} told;

static void tell(void *ctx, uint32_t tgid, const char *name, int status)
{
	assert_int_equal(tgid, key.tgid);
	assert_string_equal(name, "prog");
	told.n++;
	told.status = status;
}

static int setup_failures(void **state)
{
	told.n = 0;
	return set_up(state, (struct collect_config){.waits = true, .failed = tell});
}

/*
 * When a process fails, the account record of each of its threads has the exit status. The
 * collector reports the failure once.
 */
static void test_failed(void **state)
{
	struct fixture *f = *state;
	struct rec_account rec = {ready_record(key.tgid, 90500, 0), 70, 60};

	send_proc(f);
	send_ready(f, 2500, 0);
	flushed(f, false);
	rec.sample.type = REC_ACCOUNT;
	rec.sample.weight = 0;
	collect_record(f->collect, &rec, sizeof(rec));
	flushed(f, false);
	flushed(f, false);
	assert_int_equal(told.n, 0);
	rec.exit_status = 3 << 8;
	collect_record(f->collect, &rec, sizeof(rec));
	rec.sample.tid++;
	collect_record(f->collect, &rec, sizeof(rec));
	flushed(f, true);
	assert_int_equal(told.n, 1);
	assert_int_equal(told.status, 3 << 8);
}

/*
 * If a record reports a longer ready time than the recording has lasted, the time is cut to that
 * length.
 */
static void test_ready_too_long(void **state)
{
	struct fixture *f = *state;

	send_proc(f);
	send_ready(f, 2500, UINT64_MAX);
	send_ready(f, 2600, UINT64_MAX - 5);
	flushed(f, false);
	assert_int_equal(apart_of(f).runnable, 2100);
}

/*
 * The account of a thread (a record of its final sums) comes some time after the exec that perf's
 * side band reported. By then krait may have forgotten the program that ran before the exec: no
 * time is counted twice.
 */
static void test_account_after_exec(void **state)
{
	struct fixture *f = *state;

	send_proc(f);
	send_ready(f, 2500, 700);
	flushed(f, false);
	collect_exec(f->collect, key.tgid, 2600);
	for (int i = 0; i < 8; i++)
		flushed(f, false);
	send_account(f, key.tgid, 1000, 0);
	flushed(f, false);
	flushed(f, false);
	assert_int_equal(apart_of(f).runnable, 1000);
	for (int i = 0; i < 40; i++)
		flushed(f, false);
	send_account(f, key.tgid, 1500, 0);
	flushed(f, true);
	assert_int_equal(apart_of(f).runnable, 1000);
	assert_int_equal(f->collect->n_waiting, 0);
}

/*
 * A thread has an account (a record of its final sums) but no sample. Its time is in the profile,
 * without a stack.
 */
static void test_account_alone(void **state)
{
	struct fixture *f = *state;

	send_proc(f);
	send_ready(f, 2500, 0);
	send_account(f, 77, 300, 0);
	for (int i = 0; i < 20; i++)
		flushed(f, false);
	assert_int_equal(apart_of(f).runnable, 300);
	assert_int_equal(f->collect->n_waiting, 0);
}

#define PEERS 500

/* Sends many waits, each of them for data from another port. */
static void send_waits(struct fixture *f)
{
	for (uint16_t i = 0; i < PEERS; i++) {
		struct rec_wait rec = {.sample = ready_record(key.tgid, 2000 + i, 0),
				       .since_ns = 1000,
				       .call = SYS_recvfrom,
				       .fd = WAIT_FD_SOCKET,
				       .on = {.kind = WAIT_ON_IPV4, .port = i}};

		rec.sample.type = REC_WAIT;
		collect_record(f->collect, &rec, sizeof(rec));
	}
}

/*
 * However often a thread waits, it has one label set for each thing that it waits for. The tables
 * of these sets count in collect_kept_bytes(), and are freed if its result exceeds the limit.
 */
static void test_sets_of_waits(void **state)
{
	struct fixture *f = *state;

	send_proc(f);
	send_waits(f);
	flushed(f, false);
	assert_int_equal(profile_n_labels(f->profile), PEERS);
	send_waits(f);
	flushed(f, false);
	assert_int_equal(profile_n_labels(f->profile), PEERS);
	assert_string_equal(profile_label_text(f->profile, samples(f).last.labels, "on"),
			    "0.0.0.0:499");
	assert_true(collect_kept_bytes(f->collect) >= PEERS * 16);
	f->collect->config.max_bytes = 1;
	flushed(f, false);
	assert_int_equal(f->collect->kept.sets, 0);
	f->collect->config.max_bytes = 0;
	send_waits(f);
	flushed(f, true);
	assert_int_equal(profile_n_labels(f->profile), PEERS);
	assert_int_equal(samples(f).n, 3 * PEERS);
}

static void test_in_order(void **state)
{
	struct fixture *f = *state;
	struct seen seen;

	send_proc(f);
	send_code(f, 0x10, "leaf");
	send_code(f, 0x20, "root");
	send_stack(f, 99, (uint64_t[]){0x10, 0x20}, 2, WALK_OK);
	send_sample(f, 99, WALK_OK);
	assert_int_equal(collect_flush(f->collect, false), 0);
	seen = samples(f);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.last.values[0], 1);
	assert_int_equal(seen.last.values[1], 1000);
	assert_int_equal(seen.last.time_ns, 2000);
	assert_string_equal(frame_name(f, seen.last.stack, 0, 2), "leaf");
	assert_string_equal(frame_name(f, seen.last.stack, 1, 2), "root");
}

/*
 * The ring of one CPU may be read before that of another CPU. So a record may come before records
 * that it refers to.
 */
static void test_out_of_order(void **state)
{
	struct fixture *f = *state;

	send_proc(f);
	send_sample(f, 99, WALK_OK);
	assert_int_equal(collect_flush(f->collect, false), 0);
	assert_int_equal(samples(f).n, 0);
	send_stack(f, 99, (uint64_t[]){0x10}, 1, WALK_OK);
	assert_int_equal(collect_flush(f->collect, false), 0);
	assert_int_equal(samples(f).n, 0);
	send_code(f, 0x10, "leaf");
	assert_int_equal(collect_flush(f->collect, false), 0);
	assert_string_equal(frame_name(f, samples(f).last.stack, 0, 1), "leaf");
}

static void send_all_but_process(struct fixture *f)
{
	send_code(f, 0x10, "leaf");
	send_stack(f, 99, (uint64_t[]){0x10}, 1, WALK_OK);
	send_sample(f, 99, WALK_OK);
	assert_int_equal(collect_flush(f->collect, false), 0);
	assert_int_equal(samples(f).n, 0);
}

static const char *mapping_name(struct fixture *f, uint32_t stack)
{
	size_t n;
	const uint32_t *loc = profile_get_stack(f->profile, stack, &n);
	uint32_t mapping = profile_get_location(f->profile, loc[0])->mapping;

	assert_int_not_equal(mapping, 0);
	return profile_get_string(f->profile, profile_get_mapping(f->profile, mapping)->name);
}

static void test_process_later(void **state)
{
	struct fixture *f = *state;
	struct profile_sample s;

	send_all_but_process(f);
	send_proc(f);
	assert_int_equal(collect_flush(f->collect, false), 0);
	assert_int_equal(samples(f).n, 1);
	s = samples(f).last;
	assert_string_equal(mapping_name(f, s.stack), "[python 3.12]");
	assert_string_equal(profile_label_text(f->profile, s.labels, "process"), "prog");
}

/* The record that says what a process is never comes. Samples don't wait for it for ever. */
static void test_process_never(void **state)
{
	struct fixture *f = *state;

	send_all_but_process(f);
	for (int i = 0; i < 100; i++)
		assert_int_equal(collect_flush(f->collect, false), 0);
	assert_int_equal(samples(f).n, 1);
	assert_string_equal(mapping_name(f, samples(f).last.stack), "[python 3.12]");
}

/*
 * A stack's record is sent again while its code objects are still missing. The stack counts once.
 */
static void test_sent_again(void **state)
{
	struct fixture *f = *state;
	struct collect_stats st;

	send_proc(f);
	for (int i = 0; i < 3; i++)
		send_stack(f, 99, (uint64_t[]){0x10}, 1, WALK_OK);
	send_sample(f, 99, WALK_OK);
	assert_int_equal(collect_flush(f->collect, false), 0);
	send_stack(f, 99, (uint64_t[]){0x10}, 1, WALK_OK);
	send_code(f, 0x10, "leaf");
	assert_int_equal(collect_flush(f->collect, false), 0);
	assert_string_equal(frame_name(f, samples(f).last.stack, 0, 1), "leaf");
	collect_stats(f->collect, &st);
	assert_int_equal(st.stacks, 1);
}

/*
 * Memory runs out in the middle of collect_flush(). The next call finishes the work, and nothing is
 * lost or freed twice.
 */
static void test_flush_fails(void **state)
{
	struct fixture *f = *state;
	struct collect_stats st;

	/* lets the profile's own vectors grow now, so that only other allocations fail below */
	test_in_order(state);
	for (uint64_t id = 1; id <= 9; id++) {
		send_stack(f, id, (uint64_t[]){0x10, 0x20}, 1 + id % 2, WALK_OK);
		send_sample(f, id, WALK_OK);
	}
	/* fails the allocation for the frames of a stack that is being named, so the stack waits */
	fail_size = sizeof(uint32_t);
	assert_int_equal(collect_flush(f->collect, false), 0);
	assert_int_equal(fail_size, 0);
	assert_int_equal(samples(f).n, 9);
	assert_int_equal(collect_flush(f->collect, true), 0);
	assert_int_equal(samples(f).n, 10);
	collect_stats(f->collect, &st);
	assert_int_equal(st.samples, 10);
	assert_int_equal(st.stacks, 10);
	assert_int_equal(st.lost_stacks, 0);
}

static void test_lost(void **state)
{
	struct fixture *f = *state;
	struct collect_stats st;

	send_proc(f);
	/* the code object of this stack never comes */
	send_stack(f, 98, (uint64_t[]){0x10}, 1, WALK_OK);
	send_sample(f, 98, WALK_OK);
	send_sample(f, 99, WALK_OK); /* the stack of this sample never comes */
	assert_int_equal(collect_flush(f->collect, true), 0);
	assert_int_equal(samples(f).n, 2);
	collect_stats(f->collect, &st);
	assert_int_equal(st.lost_names, 1);
	assert_int_equal(st.lost_stacks, 1);
	assert_int_equal(st.samples, 2);
}

static void test_marks(void **state)
{
	struct fixture *f = *state;

	send_proc(f);
	send_code(f, 0x10, "leaf");
	send_stack(f, 99, (uint64_t[]){0x10}, 1, WALK_TRUNCATED);
	send_sample(f, 99, WALK_TRUNCATED);
	assert_int_equal(collect_flush(f->collect, false), 0);
	assert_string_equal(frame_name(f, samples(f).last.stack, 1, 2), "[truncated]");
	send_sample(f, 0, WALK_NO_PYTHON);
	assert_int_equal(collect_flush(f->collect, false), 0);
	assert_string_equal(frame_name(f, samples(f).last.stack, 0, 1), "[no Python]");
}

/* A process that ended before krait looked at it isn't counted as a Python process. */
static void test_pending(void **state)
{
	struct fixture *f = *state;
	struct collect_stats st;

	send_sample(f, 0, WALK_PENDING);
	assert_int_equal(collect_flush(f->collect, false), 0);
	assert_int_equal(samples(f).n, 0);
	st = flushed(f, true);
	assert_int_equal(st.unknown, 1);
	assert_int_equal(st.samples, 0);
}

/* krait looks at this test's own process, which isn't Python. */
static void test_not_python(void **state)
{
	struct fixture *f = *state;
	struct proc_key own = {.start_ns = 1000, .tgid = getpid()};
	struct rec_proc proc = {.type = REC_PROC, .state = PROC_PENDING, .proc = own};
	struct rec_sample sample = {.type = REC_SAMPLE, .outcome = WALK_PENDING, .proc = own};
	struct collect_stats st;
	struct stat exe;

	assert_int_equal(stat("/proc/self/exe", &exe), 0);
	proc.exe = (struct exe_key){.dev = file_dev(exe.st_dev), .ino = exe.st_ino};
	collect_record(f->collect, &sample, sizeof(sample));
	collect_record(f->collect, &proc, sizeof(proc));
	st = flushed(f, false);
	assert_int_equal(st.not_python, 1);
	assert_int_equal(st.unknown, 0);
	assert_int_equal(samples(f).n, 0);
}

static void test_broken(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[512];
	struct collect_stats st;
	unsigned sent = 0;

	srand(1);
	for (int round = 0; round < 20000; round++) {
		size_t n = rand() % sizeof(bytes);

		for (size_t i = 0; i < n; i++)
			bytes[i] = rand();
		if (n)
			bytes[0] = rand() % 6;
		if (bytes[0] == REC_PROC && n)
			/* skips the states that would make krait look at real processes */
			continue;
		collect_record(f->collect, bytes, n);
		sent++;
	}
	st = flushed(f, true);
	assert_true(st.broken_records > 0 && st.broken_records <= sent);
}

static void test_end_forgets(void **state)
{
	struct fixture *f = *state;

	test_in_order(state);
	collect_exit(f->collect, key.tgid, key.tgid, 3000);
	for (int i = 0; i < 8; i++)
		assert_int_equal(collect_flush(f->collect, false), 0);
	/*
	 * The code objects were freed, as ASan's leak check shows. Their samples stay in the
	 * profile.
	 */
	assert_int_equal(samples(f).n, 1);
}

/*
 * Sends a record of this test's own process, a code object of it, and a sample of it at @time_ns.
 * The sample's record has the type @type.
 */
static void send_own(struct fixture *f, uint8_t type, uint64_t time_ns)
{
	const struct proc_key own = {.start_ns = 1000, .tgid = (uint32_t)getpid(), .exec_id = 1};
	struct rec_proc proc = {
		.type = REC_PROC, .state = PROC_PYTHON, .proc = own, .time_ns = 2500};
	struct rec_code code = {.type = REC_CODE, .code = 0x10, .check = 0x11, .proc = own};
	struct rec_sample sample = {.type = type,
				    .outcome = WALK_NO_PYTHON,
				    .tid = own.tgid,
				    .time_ns = time_ns,
				    .proc = own,
				    .weight = 1000};

	collect_record(f->collect, &proc, sizeof(proc));
	collect_record(f->collect, &code, sizeof(code));
	collect_record(f->collect, &sample, sizeof(sample));
}

static size_t codes_after_end(struct fixture *f)
{
	struct collect_stats st = {};

	for (int i = 0; i < 8; i++)
		st = flushed(f, false);
	return st.kept.codes;
}

/*
 * A module's name may come after its code object's bytes were counted. Then the name's bytes aren't
 * counted, and aren't subtracted when the code object is freed.
 */
static void test_count_of_codes(void **state)
{
	struct fixture *f = *state;
	struct py_code *code;

	send_proc(f);
	send_code(f, 64, "f");
	code = process_at(f->collect, 0)->codes.v[0];
	assert_true(f->collect->kept.codes > 0);
	free(code->module);
	code->module = strdup("a.module");
	collect_exit(f->collect, key.tgid, key.tgid, 1 << 30);
	assert_int_equal(codes_after_end(f), 0);
	assert_int_equal(f->collect->kept.codes, 0);
}

/*
 * A record of perf's side band says that a process ended. krait knows that the process has ended in
 * two cases: the record is read after all samples of the process (test_end_told_early()), or a
 * sample is later than the record (test_sampled_after_end()).
 */
static void test_end_told_early(void **state)
{
	struct fixture *f = *state;

	collect_exit(f->collect, (uint32_t)getpid(), (uint32_t)getpid(), 3000);
	send_own(f, REC_SAMPLE, 2600);
	assert_int_equal(codes_after_end(f), 0);
}

static void test_sampled_after_end(void **state)
{
	struct fixture *f = *state;

	send_own(f, REC_SAMPLE_END, 3100);
	assert_int_equal(codes_after_end(f), 1);
	collect_exit(f->collect, (uint32_t)getpid(), (uint32_t)getpid(), 3000);
	assert_int_equal(codes_after_end(f), 0);
}

/*
 * Sends a sample of this test's own process after its exec number @exec_id. krait doesn't know yet
 * what the process runs.
 */
static struct collect_stats sampled_pending(struct fixture *f, uint32_t exec_id)
{
	struct rec_sample rec = {.type = REC_SAMPLE,
				 .outcome = WALK_PENDING,
				 .time_ns = 3500,
				 .proc = {1000, (uint32_t)getpid(), exec_id}};

	collect_record(f->collect, &rec, sizeof(rec));
	return flushed(f, false);
}

static void *wait_for_end(void *fd)
{
	char byte;

	(void)!read(*(int *)fd, &byte, 1);
	return NULL;
}

/*
 * A process whose first thread has ended is kept as long as other threads of it run, and forgotten
 * when these have ended too.
 */
static void test_first_thread_ends(void **state)
{
	struct fixture *f = *state;
	pthread_t thread;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_end, &fds[0]), 0);
	collect_exit(f->collect, (uint32_t)getpid(), (uint32_t)getpid(), 3000);
	send_own(f, REC_SAMPLE, 2600);
	assert_int_equal(codes_after_end(f), 1);
	assert_int_equal(sampled_pending(f, 1).unknown, 0);
	close(fds[1]);
	assert_int_equal(pthread_join(thread, NULL), 0);
	close(fds[0]);
	assert_int_equal(codes_after_end(f), 0);
}

/*
 * Sends a process of user @uid that krait has to look at. Returns how many processes krait has only
 * counted so far, without looking at them.
 */
static unsigned crowded_after(struct fixture *f, uint32_t exec_id, uint32_t uid, bool new)
{
	struct rec_proc rec = {.type = REC_PROC,
			       .state = PROC_PENDING,
			       .proc = {1000, (uint32_t)getpid(), exec_id},
			       .uid = uid,
			       .new = new,
			       .time_ns = clock_ns(CLOCK_MONOTONIC)};

	collect_record(f->collect, &rec, sizeof(rec));
	return flushed(f, false).crowded.processes;
}

/*
 * Once a user's new processes have cost too much, further ones are counted but not looked at.
 * Other users' processes are still looked at, and so are processes that aren't new.
 */
static void test_crowd(void **state)
{
	struct fixture *f = *state;
	struct collect_stats st;
	uint32_t exec_id = 1;
	unsigned n;

	while (!(n = crowded_after(f, exec_id++, 1000, true)) && exec_id < 1000000)
		;
	assert_int_equal(n, 1);
	assert_int_equal(last_state, PROC_UNASKED);
	assert_int_equal(crowd_uid, 1000);
	assert_true(crowd_until_ns > 0);
	st = sampled_pending(f, exec_id - 1);
	assert_int_equal(st.crowded.samples, 1);
	assert_int_equal(st.unknown, 0);
	assert_int_equal(crowded_after(f, exec_id++, 2000, true), 1);
	assert_int_equal(crowded_after(f, exec_id, 1000, false), 1);
}

/*
 * A user's process has cost krait 10 s of CPU time. For some seconds after that, but not for
 * minutes, krait only counts new processes of all users.
 */
static void test_crowd_debt(void **state)
{
	struct fixture *f = *state;
	struct crowds *w = f->collect->crowds;

	assert_int_equal(crowded_after(f, 1, 1000, true), 0);
	w->turn = 1;
	w->since_ns = upkeep_begin() - 10 * NSEC_PER_SEC;
	(void)flushed(f, false);
	assert_true(crowd_until_ns > clock_ns(CLOCK_MONOTONIC) + NSEC_PER_SEC);
	assert_true(crowd_until_ns < clock_ns(CLOCK_MONOTONIC) + 10 * NSEC_PER_SEC);
	assert_true(all_until_ns < clock_ns(CLOCK_MONOTONIC) + 10 * NSEC_PER_SEC);
}

/*
 * Lets a new process of user @uid cost @ms of CPU time, and the time that the test itself takes.
 * @turn is the user's index + 1.
 */
static void pays(struct fixture *f, uint32_t uid, uint32_t turn, uint64_t ms)
{
	static uint32_t exec_id = 100;

	(void)crowded_after(f, exec_id++, uid, true);
	f->collect->crowds->turn = turn;
	f->collect->crowds->since_ns = upkeep_begin() - ms * NSEC_PER_MSEC;
	(void)flushed(f, false);
}

/*
 * Checks that budget @b was charged @ms and at most the CPU time that the test itself took since
 * @cpu_ns, and that the budget is used up until @until_ns. The budget allows @burst_ms at once, and
 * 1/@share of a CPU after that.
 */
static void assert_spent(const struct budget *b, uint64_t until_ns, uint64_t ms, uint64_t cpu_ns,
			 uint64_t burst_ms, uint64_t share)
{
	uint64_t over_ns = b->took_ns - burst_ms * NSEC_PER_MSEC;

	assert_true(b->took_ns >= ms * NSEC_PER_MSEC);
	assert_true(b->took_ns <= ms * NSEC_PER_MSEC + upkeep_begin() - cpu_ns);
	assert_int_equal(until_ns, b->first_ns + over_ns * share);
}

/*
 * Checks the budgets: processes of one user may cost 200 ms at once and then 2 % of a CPU, those of
 * all users together 400 ms and 2.5 %.
 */
static void test_crowd_sums(void **state)
{
	struct fixture *f = *state;
	struct crowds *w = f->collect->crowds;
	uint64_t cpu_ns = upkeep_begin();

	crowd_uid = 0;
	all_until_ns = 0;
	pays(f, 1000, 1, 150);
	pays(f, 2000, 2, 120);
	assert_int_equal(crowd_uid, 0);
	pays(f, 1000, 1, 75);
	assert_int_equal(crowd_uid, 1000);
	assert_spent(&w->users.v[0].budget, crowd_until_ns, 225, cpu_ns, 200, 50);
	assert_int_equal(all_until_ns, 0);
	pays(f, 3000, 3, 75);
	assert_int_equal(crowd_uid, 1000);
	assert_spent(&w->all, all_until_ns, 420, cpu_ns, 400, 40);
}

/*
 * krait looks at a process that it had only counted. The process counts as new, so its user is
 * charged for the look.
 */
static void test_crowd_left(void **state)
{
	struct fixture *f = *state;
	struct crowds *w = f->collect->crowds;
	struct process *p;

	assert_int_equal(crowded_after(f, 1, 1000, true), 0);
	p = process_newest(f->collect, (uint32_t)getpid());
	p->state = PROC_CROWDED;
	p->new_until_ns = 1;
	assert_int_equal(crowded_after(f, 1, 1000, false), 0);
	assert_int_not_equal(p->state, PROC_CROWDED);
	assert_true(p->new_until_ns > w->now_ns);
}

/*
 * Two processes that krait had only counted are sampled again before one collect_flush(). Looking
 * at the first one costs so much that the second one is still only counted.
 */
static void test_crowd_together(void **state)
{
	struct fixture *f = *state;
	struct rec_proc rec = {.type = REC_PROC,
			       .state = PROC_PENDING,
			       .uid = 1000,
			       .new = true,
			       .time_ns = clock_ns(CLOCK_MONOTONIC)};
	struct process *p[2];

	for (uint32_t i = 0; i < 2; i++) {
		rec.proc = (struct proc_key){.start_ns = 1000, .tgid = key.tgid + i};
		collect_record(f->collect, &rec, sizeof(rec));
	}
	for (uint32_t i = 0; i < 2; i++) {
		p[i] = process_newest(f->collect, key.tgid + i);
		p[i]->state = PROC_CROWDED;
	}
	for (uint32_t i = 0; i < 2; i++) {
		rec.proc.tgid = key.tgid + i;
		collect_record(f->collect, &rec, sizeof(rec));
		f->collect->crowds->since_ns -= 10 * NSEC_PER_SEC;
	}
	assert_int_not_equal(p[0]->state, PROC_CROWDED);
	assert_int_equal(p[1]->state, PROC_CROWDED);
	assert_int_equal(last_state, PROC_UNASKED);
}

/*
 * A record of a process says when the process began. What krait knew before of that pid may be
 * about an earlier process.
 */
static void test_start_of_number_again(void **state)
{
	struct process p = {.start_boot_ns = 70 * NSEC_PER_SEC};
	const struct rec_proc rec = {.start_boot_ns = 90 * NSEC_PER_SEC};
	uint64_t known_ns = proc_stat_start_of(rec.start_boot_ns);

	(void)state;
	facts_from_record(&p, &rec);
	assert_int_equal(p.start_boot_ns, known_ns ?: 70 * NSEC_PER_SEC);
	free(p.name);
}

/*
 * krait may spend 250 ms of CPU time on reading facts of processes between two calls of
 * collect_flush(). Time in which krait doesn't run (here: sleeps) isn't charged.
 */
static void test_asked(void **state)
{
	struct fixture *f = *state;
	uint64_t began_ns = asked_begin(), until_ns;

	usleep(400000);
	asked_end(f->collect, began_ns);
	assert_true(asked_may(f->collect));
	began_ns = asked_begin();
	until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 251 * NSEC_PER_MSEC;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		;
	asked_end(f->collect, began_ns);
	assert_false(asked_may(f->collect));
	(void)flushed(f, false);
	assert_true(asked_may(f->collect));
}

#define MANY 200000

/*
 * New code objects and stacks come without end. krait frees those that the kernel programs have
 * forgotten, because the kernel programs send them again if they are sampled again.
 */
static void test_long(void **state)
{
	struct fixture *f = *state;
	struct collect_stats st = {};
	struct process *p;
	size_t early = 0;

	send_proc(f);
	/*
	 * There is no such process. If krait found that out, it would forget the process, and after
	 * 20 s take it for a new one.
	 */
	p = process_known(f->collect, &key);
	p->facts_due_ns = UINT64_MAX;
	p->ended = 0;
	for (uint64_t i = 1; i <= MANY; i++) {
		uint64_t id = i * 0x9e3779b97f4a7c15u, code = i * 64;

		send_code(f, code, "f");
		send_stack(f, id, &code, 1, WALK_OK);
		send_sample(f, id, WALK_OK);
		if (i % 1000 == 0)
			st = flushed(f, false);
		if (i == MANY / 2)
			early = st.kept.codes + st.kept.stacks;
	}
	st = flushed(f,
		     /*
		      * false: this isn't the last flush. If the test runs slowly, the last flush
		      * would forget the process, which would then count as new.
		      */
		     false);
	assert_int_equal(st.samples, MANY);
	assert_int_equal(st.codes, MANY);
	assert_int_equal(st.lost_stacks + st.lost_names, 0);
	assert_true(st.kept.codes <= 65536 && st.kept.stacks <= 65536);
	assert_true(st.kept.codes + st.kept.stacks < early + early / 10);
	/* the first code object is sent a second time */
	send_code(f, 64, "f");
	send_stack(f, 0x9e3779b97f4a7c15u, (uint64_t[]){64}, 1, WALK_OK);
	send_sample(f, 0x9e3779b97f4a7c15u, WALK_OK);
	st = flushed(f, true);
	assert_int_equal(st.samples, MANY + 1);
	assert_int_equal(st.lost_stacks + st.lost_names, 0);
}

/*
 * Code objects and stacks come without end, as in test_long(). One thread waits all that time: the
 * stack of its wait comes first, the sample last.
 */
static void test_long_wait(void **state)
{
	struct fixture *f = *state;
	struct collect_stats st;

	send_proc(f);
	for (uint64_t i = 1; i <= MANY; i++) {
		uint64_t id = i * 0x9e3779b97f4a7c15u, code = i * 64;

		send_code(f, code, "f");
		send_stack(f, id, &code, 1, WALK_OK);
		if (i % 1000)
			continue;
		(void)flushed(f, false);
		if (collect_keeps_due(f->collect))
			collect_keep_stack(f->collect, 0x9e3779b97f4a7c15u);
	}
	send_sample(f, 0x9e3779b97f4a7c15u, WALK_OK);
	st = flushed(f, true);
	assert_int_equal(st.samples, 1);
	assert_int_equal(st.lost_stacks, 0);
}

/*
 * New code objects come without end, and the profile is condensed (what is rare is summed up) from
 * time to time. Code that is sampled after that still has its name.
 */
static void test_condensed(void **state)
{
	struct fixture *f = *state;
	struct sums none;
	const struct sums *const sums[] = {&none};
	struct collect_stats st = {};
	struct condense c;
	size_t bytes = 0;

	sums_init(&none, 2);
	send_proc(f);
	/*
	 * The process doesn't exist, so krait would forget it after some more calls of
	 * collect_flush().
	 */
	for (uint64_t i = 1; i <= 15000; i++) {
		uint64_t epoch = i / 5000 << 32, id = (i * 0x9e3779b97f4a7c15u) ^ epoch;
		uint64_t code = i * 64;

		send_code(f, code, "f");
		send_stack(f, id, &code, 1, WALK_OK);
		send_sample(f, id, WALK_OK);
		if (i % 5000)
			continue;
		st = flushed(f, false);
		if (bytes)
			assert_true(collect_bytes(f->collect) < 3 * bytes);
		bytes = MAX(bytes, collect_bytes(f->collect));
		assert_int_equal(condense_begin(&c, f->profile, &none, sums, ARRAY_SIZE(sums), 100),
				 0);
		assert_int_equal(collect_rebase(f->collect, &c.rebase), 0);
		collect_next_round(f->collect);
		assert_int_equal(condense_end(&c, 0), 0);
		collect_stats(f->collect, &st);
		/*
		 * These code objects came since the last call of collect_next_round(). They stay,
		 * because later records may still refer to them.
		 */
		assert_int_equal(st.kept.codes, 5000);
		/* This sample comes after the profile was condensed. Its stack isn't sent again. */
		send_sample(f, id, WALK_OK);
	}
	st = flushed(f, true);
	assert_int_equal(st.samples, 15003);
	assert_int_equal(st.lost_stacks + st.lost_names, 0);
	assert_int_equal(st.threads, 1);
	sums_fini(&none);
}

/*
 * Condensing the profile changes the ids of mappings. Processes that are first sampled after that
 * get the new ids.
 */
static void test_condensed_mapping(void **state)
{
	struct fixture *f = *state;
	const struct profile_mapping unused = {.name = profile_string(f->profile, "unused"),
					       .kind = KIND_NATIVE};
	struct sums none;
	const struct sums *const sums[] = {&none};
	struct condense c;
	uint32_t now;

	sums_init(&none, 2);
	assert_int_not_equal(profile_mapping(f->profile, &unused), 0);
	assert_int_not_equal(process_mapping_of(f->collect, 0x30c), 0);
	assert_int_equal(condense_begin(&c, f->profile, &none, sums, ARRAY_SIZE(sums), 100), 0);
	assert_int_equal(collect_rebase(f->collect, &c.rebase), 0);
	assert_int_equal(condense_end(&c, 0), 0);
	now = process_mapping_of(f->collect, 0x30c);
	assert_string_equal(
		profile_get_string(f->profile, profile_get_mapping(f->profile, now)->name),
		"[python 3.12]");
	assert_int_equal(process_mapping_of(f->collect, 0x30c), now);
	sums_fini(&none);
}

/*
 * In krait's table, the entries of threads that have ended are used again for new threads. Samples
 * of the ended threads still count.
 */
static void test_short_threads(void **state)
{
	struct fixture *f = *state;
	struct collect_stats st = {};

	send_proc(f);
	for (uint32_t i = 1; i <= 20000; i++) {
		send_runtime(f, i, 1000000);
		send_runtime(f, i, 2000000);
		st = flushed(f, false);
		collect_exit(f->collect, key.tgid, i, 100 * NSEC_PER_SEC + i * 10 * NSEC_PER_MSEC);
	}
	assert_int_equal(st.threads, 20000);
	assert_int_equal(st.samples, 40000);
	assert_true(st.kept.threads < 2500);
}

static void send_thread_as(struct fixture *f, uint8_t type, uint32_t tid, uint64_t time_ns)
{
	struct rec_sample rec = {.type = type,
				 .outcome = WALK_NO_PYTHON,
				 .tid = tid,
				 .time_ns = time_ns,
				 .proc = key,
				 .weight = 1000};

	collect_record(f->collect, &rec, sizeof(rec));
}

static void send_thread(struct fixture *f, uint32_t tid, uint64_t time_ns)
{
	send_thread_as(f, REC_SAMPLE, tid, time_ns);
}

/* Ends a window of the recording and returns its profile, as session_window() does. */
static struct profile *cut(struct fixture *f)
{
	struct profile *window = NULL;
	struct rebase r;

	collect_name_threads(f->collect);
	assert_int_equal(rebase_begin(&r, f->profile), 0);
	assert_int_equal(rebase_end(&r, collect_rebase(f->collect, &r), &window), 0);
	return window;
}

/*
 * Checks that the window has one sample, of thread "prog", with the frame @leaf and its caller
 * @root.
 */
static void expect_window(struct profile *window, const char *leaf, const char *root)
{
	struct fixture f = {.profile = window};
	struct seen seen = samples(&f);

	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.last.values[1], 1000);
	assert_string_equal(frame_name(&f, seen.last.stack, 0, 2), leaf);
	assert_string_equal(frame_name(&f, seen.last.stack, 1, 2), root);
	assert_string_equal(profile_label_text(window, seen.last.labels, "thread"), "prog");
	assert_int_equal(profile_meta(window)->n_values, 2);
	profile_free(window);
}

/*
 * After a window (a part of the recording with a profile of its own) is cut, the next window has
 * samples whose stacks couldn't be named before the cut, and new samples of stacks that were sent
 * before it.
 */
static void test_windows(void **state)
{
	struct fixture *f = *state;
	struct profile *first, *second, *third;

	send_proc(f);
	send_code(f, 0x10, "leaf");
	send_code(f, 0x20, "root");
	send_stack(f, 99, (uint64_t[]){0x10, 0x20}, 2, WALK_OK);
	send_sample(f, 99, WALK_OK);
	send_stack(f, 98, (uint64_t[]){0x30, 0x20}, 2, WALK_OK);
	send_sample(f, 98, WALK_OK);
	assert_int_equal(flushed(f, false).samples, 1);
	first = cut(f);
	send_code(f, 0x30, "late");
	assert_int_equal(flushed(f, false).samples, 2);
	second = cut(f);
	assert_int_equal(samples(f).n, 0);
	send_sample(f, 99, WALK_OK);
	assert_int_equal(flushed(f, true).samples, 3);
	third = cut(f);
	expect_window(second, "late", "root");
	expect_window(first, "leaf", "root");
	expect_window(third, "leaf", "root");
}

/*
 * When a window is cut (what was recorded so far is taken as a profile), a label set that no later
 * sample has isn't carried over into the next window's profile.
 */
static void test_windows_carry(void **state)
{
	struct fixture *f = *state;
	struct profile *window;

	send_proc(f);
	for (uint64_t i = 1; i <= 1000; i++)
		send_thread(f, (uint32_t)i, 2500);
	assert_int_equal(flushed(f, false).samples, 1000);
	assert_true(profile_n_labels(f->profile) >= 1000);
	window = cut(f);
	assert_int_equal(profile_n_labels(f->profile), 0);
	assert_int_equal(profile_n_labels(window), 1000);
	profile_free(window);
}

/*
 * If there is no memory for a new id while a window is cut (what was recorded so far is taken as a
 * profile), the profile stays as it was.
 */
static void test_window_undone(void **state)
{
	struct fixture *f = *state;
	struct profile *window = NULL;
	struct rebase r;

	send_proc(f);
	send_code(f, 0x10, "leaf");
	send_stack(f, 99, (uint64_t[]){0x10}, 1, WALK_OK);
	send_sample(f, 99, WALK_OK);
	assert_int_equal(flushed(f, false).samples, 1);
	assert_int_equal(rebase_begin(&r, f->profile), 0);
	assert_int_equal(samples(f).n, 0);
	assert_int_equal(rebase_end(&r, -ENOMEM, &window), -ENOMEM);
	assert_null(window);
	assert_string_equal(frame_name(f, samples(f).last.stack, 0, 1), "leaf");
}

/*
 * Cutting a window (taking what was recorded so far as a profile) gives names to the threads of a
 * new process. The CPU time that krait uses after the cut isn't charged to that process's user.
 */
static void test_window_cost(void **state)
{
	struct fixture *f = *state;
	struct process *p;

	assert_int_equal(crowded_after(f, 1, 1000, true), 0);
	send_own(f, REC_SAMPLE, 2600);
	assert_int_equal(flushed(f, false).samples, 1);
	p = process_newest(f->collect, (uint32_t)getpid());
	p->walked = true;
	p->new_until_ns = UINT64_MAX;
	profile_free(cut(f));
	assert_true(p->names_looked_ns > 0);
	f->collect->crowds->since_ns = upkeep_begin() - 10 * NSEC_PER_SEC;
	crowd_until_ns = 0;
	(void)flushed(f, false);
	assert_int_equal(crowd_until_ns, 0);
}

/*
 * krait learns a thread's name while the thread runs. The thread's stack may be named later, after
 * the thread has ended.
 */
static void test_thread_of_a_waiting_stack(void **state)
{
	struct fixture *f = *state;
	struct rec_sample rec = {.type = REC_SAMPLE,
				 .tid = 7,
				 .time_ns = 2500,
				 .stack = 99,
				 .proc = key,
				 .weight = 1000};
	struct profile_sample s;

	send_proc(f);
	collect_record(f->collect, &rec, sizeof(rec));
	assert_int_equal(flushed(f, false).samples, 0);
	collect_comm(f->collect, key.tgid, 7, "worker");
	collect_exit(f->collect, key.tgid, 7, 2600);
	send_code(f, 0x10, "leaf");
	send_stack(f, 99, (uint64_t[]){0x10}, 1, WALK_OK);
	assert_int_equal(flushed(f, false).samples, 1);
	s = samples(f).last;
	assert_string_equal(profile_label_text(f->profile, s.labels, "thread"), "worker");
}

static void *run_briefly(void *go)
{
	pthread_setname_np(pthread_self(), "brief");
	*(_Atomic pid_t *)go = gettid();
	while (*(_Atomic pid_t *)go)
		usleep(1000);
	return NULL;
}

/*
 * collect_ask() reads the name of a thread of a Python process. When the thread's sample joins the
 * profile, the thread has ended.
 */
static void test_name_of_brief_thread(void **state)
{
	struct fixture *f = *state;
	const struct proc_key own = {.start_ns = 1000, .tgid = (uint32_t)getpid(), .exec_id = 1};
	struct rec_proc proc = {.type = REC_PROC, .state = PROC_PYTHON, .proc = own};
	struct rec_sample sample = {.type = REC_SAMPLE,
				    .outcome = WALK_OK,
				    .time_ns = 2500,
				    .stack = 99,
				    .proc = own,
				    .weight = 1000};
	_Atomic pid_t tid = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run_briefly, &tid), 0);
	while (!tid)
		usleep(1000);
	sample.tid = (uint32_t)tid;
	collect_record(f->collect, &proc, sizeof(proc));
	collect_record(f->collect, &sample, sizeof(sample));
	collect_ask(f->collect);
	collect_ask(f->collect);
	tid = 0;
	pthread_join(thread, NULL);
	assert_int_equal(flushed(f, true).samples, 1);
	assert_string_equal(profile_label_text(f->profile, samples(f).last.labels, "thread"),
			    "brief");
	assert_int_equal(process_at(f->collect, 0)->names_samples, 1);
}

/* When a thread has ended, its id may be used again. Then it stands for another thread. */
static void test_tid_again(void **state)
{
	struct fixture *f = *state;

	send_proc(f);
	send_thread(f, 7, 2500);
	assert_int_equal(flushed(f, false).threads, 1);
	/* the end of the thread is reported before its last sample is read */
	collect_exit(f->collect, key.tgid, 7, 2600);
	send_thread(f, 7, 2550);
	assert_int_equal(flushed(f, false).threads, 1);
	/* a sample may still come after the thread's end was reported by perf's side band */
	send_thread_as(f, REC_SAMPLE_END, 7, 2640);
	assert_int_equal(flushed(f, false).threads, 1);
	send_thread(f, 7, 2650);
	assert_int_equal(flushed(f, false).threads, 2);
}

static void send_ready_of(struct fixture *f, uint8_t type, uint64_t time_ns, uint64_t ready_ns)
{
	struct rec_sample rec = ready_record(7, time_ns, ready_ns);

	rec.type = type;
	collect_record(f->collect, &rec, sizeof(rec));
}

/*
 * A new thread has the id of an ended thread whose records still come. Each time for which either
 * thread was ready to run is counted once.
 */
static void test_tid_again_late(void **state)
{
	struct fixture *f = *state;

	send_proc(f);
	send_ready_of(f, REC_SAMPLE, 2500, 300);
	flushed(f, false);
	collect_exit(f->collect, key.tgid, 7, 2600);
	send_ready_of(f, REC_SAMPLE, 2650, 10);
	flushed(f, false);
	send_ready_of(f, REC_SAMPLE, 2550, 400);
	send_ready_of(f, REC_SAMPLE_END, 2640, 450);
	send_ready_of(f, REC_SAMPLE, 2645, 15);
	send_ready_of(f, REC_SAMPLE_END, 2700, 20);
	assert_int_equal(flushed(f, false).threads, 2);
	assert_int_equal(apart_of(f).runnable, 450 + 20);
}

/*
 * The only sample of a thread is taken in do_exit(), and read after perf's side band has reported
 * the thread's end. krait knows that the thread has ended, and forgets it.
 */
static void test_end_alone(void **state)
{
	struct fixture *f = *state;

	send_proc(f);
	collect_exit(f->collect, key.tgid, 7, 2600);
	send_thread_as(f, REC_SAMPLE_END, 7, 2640);
	assert_int_equal(flushed(f, false).kept.threads, 1);
	collect_exit(f->collect, key.tgid, 8, 20 * NSEC_PER_SEC);
	assert_int_equal(flushed(f, false).threads, 1);
	send_thread(f, 9, 20 * NSEC_PER_SEC);
	/* the new thread gets the old thread's entry in krait's table */
	assert_int_equal(flushed(f, false).kept.threads, 1);
}

/*
 * Three threads with the same id begin and end between two readings of perf's side band. Each of
 * them counts as a thread.
 */
static void test_tid_again_soon(void **state)
{
	struct fixture *f = *state;
	struct collect_stats st;

	send_proc(f);
	for (uint64_t i = 1; i <= 3; i++)
		collect_exit(f->collect, key.tgid, 7, i * 1000);
	for (uint64_t i = 1; i <= 4; i++)
		send_thread(f, 7, i * 1000 - 1);
	assert_int_equal(flushed(f, false).threads, 4);
	/*
	 * krait knows that these threads have ended, so later threads may get their entries in
	 * krait's table.
	 */
	collect_exit(f->collect, key.tgid, 8, 20 * NSEC_PER_SEC);
	st = flushed(f, false);
	assert_int_equal(st.threads, 4);
	send_thread(f, 9, 20 * NSEC_PER_SEC);
	assert_int_equal(flushed(f, false).kept.threads, 4);
}

/*
 * When perf's side band reports an exec, the program that the process ran before is over. Samples
 * of the new program may be read before that report, and stay valid.
 */
static void test_exec(void **state)
{
	struct fixture *f = *state;
	struct collect_stats st;

	send_sample(f, 0, WALK_PENDING);
	collect_exec(f->collect, key.tgid, 2499);
	st = flushed(f, false);
	assert_int_equal(st.unknown, 0);
	collect_exec(f->collect, key.tgid, 2501);
	st = flushed(f, false);
	assert_int_equal(st.unknown, 1);
}

/*
 * A stack comes in two records, one with its native part. One reading of the rings ends between the
 * two, and the next one begins with the ring of another CPU.
 */
static void test_rings(void **state)
{
	struct fixture *f = *state;
	struct collect_stats st;
	size_t n;

	send_proc(f);
	for (uint64_t id = 1; id <= 3; id++)
		send_native(f, id);
	for (uint64_t id = 1; id <= 3; id++) {
		send_stack(f, id, NULL, 0, WALK_NO_PYTHON);
		send_sample(f, id, WALK_NO_PYTHON);
	}
	st = flushed(f, true);
	assert_int_equal(st.broken_records, 0);
	assert_int_equal(st.lost_stacks, 0);
	assert_int_equal(samples(f).n, 3);
	profile_get_stack(f->profile, samples(f).last.stack, &n);
	assert_int_equal(n, 2); /* the stack has the frame for "no Python" and the kernel's frame */
	/* stacks of which only the native part came are freed to make room for others */
	for (uint64_t id = 100; id < 500; id++)
		send_native(f, id);
	send_stack(f, 100, NULL, 0, WALK_NO_PYTHON);
	send_stack(f, 499, NULL, 0, WALK_NO_PYTHON);
	st = flushed(f, true);
	assert_int_equal(st.broken_records, 1);
}

/*
 * Sends a sample of this test's own process, which has a PyPy mapped, and lets krait look at the
 * process.
 */
static struct collect_stats met_pypy(struct fixture *f, struct proc_key own)
{
	struct rec_proc proc = {.type = REC_PROC, .state = PROC_PENDING, .proc = own};
	struct rec_sample sample = {
		.type = REC_SAMPLE, .outcome = WALK_PENDING, .time_ns = 2500, .proc = own};

	collect_record(f->collect, &sample, sizeof(sample));
	collect_record(f->collect, &proc, sizeof(proc));
	return flushed(f, false);
}

/*
 * If a process exec'ed after its sample, krait looks at the new program. What krait finds there
 * says nothing about the sample.
 */
static void test_exec_before_look(void **state)
{
	struct proc_key own = {.start_ns = 1000, .tgid = getpid(), .exec_id = 1};
	struct fixture *f = *state;
	struct elf_writer w;
	struct collect_stats st;
	void *pypy;
	int fd;

	ew_init(&w, ET_DYN);
	ew_symbol(&w, "rpython_startup_code", 0x1000, 16, 1);
	fd = ew_write(&w);
	pypy = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(pypy, MAP_FAILED);
	met_pypy(f, own);
	collect_exec(f->collect, own.tgid, 2501);
	st = flushed(f, false);
	assert_int_equal(st.unknown, 1);
	assert_int_equal(st.n_unsupported, 0);
	own.exec_id++;
	met_pypy(f, own);
	st = flushed(f, false);
	assert_int_equal(st.unknown, 1);
	assert_int_equal(st.n_unsupported, 1);
	assert_int_equal(st.unsupported[0].samples, 1);
	munmap(pypy, 4096);
	close(fd);
}

/*
 * Samples come at 1,000 Hz, but the CPU time that they report changes only every 4 ms. krait still
 * reports the right sampling rate.
 */
static void test_rate(void **state)
{
	struct fixture *f = *state;
	struct collect_stats st;

	send_proc(f);
	for (uint32_t ms = 0; ms < 1000; ms++)
		send_runtime(f, 1, (ms + 7) / 4 * 4 * NSEC_PER_MSEC);
	/* threads that run for 6 ms are too short to compute the sampling rate from */
	for (uint32_t tid = 2; tid < 100; tid++)
		for (uint32_t ms = 0; ms < 6; ms++)
			send_runtime(f, tid, ms / 4 * 4 * NSEC_PER_MSEC);
	/*
	 * A thread moves between two CPUs. The ring with the later half of each 40 ms is read
	 * first.
	 */
	for (uint32_t i = 0; i < 1000; i++)
		send_runtime(f, 100, (i / 40 * 40 + (i + 20) % 40 + 7) / 4 * 4 * NSEC_PER_MSEC);
	st = flushed(f, true);
	assert_in_range(st.cpu_ns / NSEC_PER_MSEC, 1900, 2000);
	assert_in_range(st.came * 1000 / (st.cpu_ns / NSEC_PER_MSEC), 980, 1020);
}

/*
 * A module's code may be that of a frozen module. krait looks for such modules in the stacks that
 * wait for names. For 10,000 modules and 64,000 frames that takes less than a second.
 */
static void test_many_frozen(void **state)
{
	struct fixture *f = *state;
	uint64_t codes[1000], began_ns, took_ns;

	send_proc(f);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		codes[i] = 0x100000 + 16 * i;
	for (uint64_t id = 1; id <= 64; id++)
		send_stack(f, id, codes, ARRAY_SIZE(codes), WALK_OK);
	for (uint64_t i = 0; i < 10000; i++)
		send_code_of(f, 0x1000000 + 16 * i, "<frozen x>", "<module>", 1);
	began_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	(void)flushed(f, false);
	took_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns;
	print_message("%u ms\n", (unsigned)(took_ns / NSEC_PER_MSEC));
	assert_true(took_ns < NSEC_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tid_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tid_again_late, setup_waits, teardown),
		cmocka_unit_test_setup_teardown(test_count_of_codes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exec_before_look, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_frozen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed, setup_failures, teardown),
		cmocka_unit_test_setup_teardown(test_ready, setup_waits, teardown),
		cmocka_unit_test_setup_teardown(test_ready_too_long, setup_waits, teardown),
		cmocka_unit_test_setup_teardown(test_account_after_exec, setup_waits, teardown),
		cmocka_unit_test_setup_teardown(test_account_alone, setup_waits, teardown),
		cmocka_unit_test_setup_teardown(test_sets_of_waits, setup_waits, teardown),
		cmocka_unit_test_setup_teardown(test_out_of_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_process_later, setup, teardown),
		cmocka_unit_test_setup_teardown(test_process_never, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sent_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flush_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_marks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pending, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_python, setup, teardown),
		cmocka_unit_test_setup_teardown(test_broken, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_forgets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_crowd, setup_machine, teardown),
		cmocka_unit_test_setup_teardown(test_crowd_sums, setup_machine, teardown),
		cmocka_unit_test_setup_teardown(test_crowd_debt, setup_machine, teardown),
		cmocka_unit_test_setup_teardown(test_crowd_left, setup_machine, teardown),
		cmocka_unit_test_setup_teardown(test_asked, setup, teardown),
		cmocka_unit_test(test_start_of_number_again),
		cmocka_unit_test_setup_teardown(test_name_of_brief_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_crowd_together, setup_machine, teardown),
		cmocka_unit_test_setup_teardown(test_first_thread_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_told_early, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sampled_after_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long, setup_long, teardown),
		cmocka_unit_test_setup_teardown(test_long_wait, setup_long, teardown),
		cmocka_unit_test_setup_teardown(test_condensed, setup_long, teardown),
		cmocka_unit_test_setup_teardown(test_condensed_mapping, setup_long, teardown),
		cmocka_unit_test_setup_teardown(test_windows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_windows_carry, setup, teardown),
		cmocka_unit_test_setup_teardown(test_window_undone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_window_cost, setup_machine, teardown),
		cmocka_unit_test_setup_teardown(test_short_threads, setup_long, teardown),
		cmocka_unit_test_setup_teardown(test_thread_of_a_waiting_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tid_again_soon, setup, teardown),
	};

	return cmocka_run_group_tests_name("collect", tests, NULL, NULL);
}
