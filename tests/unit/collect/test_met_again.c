/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel programs have lost a process from their map, and report it again as new. krait tells
 * them what it knew before. Another test: a file turns out to hold an interpreter only when krait
 * looks into it a second time.
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

#include "cfi_writer.h"
#include "collect/internal.h"
#include "collect/native/native.h"
#include "collect/space/space.h"
#include "fake_python.h"

static struct py_layout layout = {.version = 0x308};

/* What krait last told the kernel programs of a process, and how often it told them. */
static struct {
	unsigned n;
	enum proc_state state;
	uint32_t space;
} told;

static unsigned spaces; /* how often krait gave mappings to the kernel programs */
/*
 * number of functions of the evaluation loop that were marked in the unwind rows of the last file
 */
static size_t n_marked;

static int add_layout(void *ctx, const struct py_layout *l, uint16_t *index)
{
	*index = 0;
	return 0;
}

static const struct py_layout *get_layout(void *ctx, uint16_t index)
{
	return index ? NULL : &layout;
}

static int set_proc(void *ctx, const struct proc_key *k, enum proc_state state,
		    const struct py_where *where, const struct image_place *place, uint32_t space)
{
	told.n++;
	told.state = state;
	told.space = space;
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

static const struct collect_ops ops = {.add_layout = add_layout,
				       .layout = get_layout,
				       .set_proc = set_proc,
				       .set_several = set_several,
				       .add_exe = add_exe};

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
	n_marked = n_eval;
	return 0;
}

static uint64_t unmaps(void *ctx, uint32_t slot)
{
	return 0;
}

static int set_space(void *ctx, uint32_t slot, const struct unwind_space *head,
		     const struct unwind_mapping *m, size_t n)
{
	spaces++;
	return 0;
}

static void read_space(void *ctx, uint32_t slot, bool begins)
{
}

static const struct collect_unwind_ops unwind = {.new_table = new_one,
						 .free_table = free_one,
						 .fill = fill,
						 .new_space = new_one,
						 .free_space = free_one,
						 .read_space = read_space,
						 .unmaps = unmaps,
						 .set_space = set_space};

struct fixture {
	struct profile *profile;
	struct collect *c;
	pid_t child; /* a process that maps an interpreter */
};

/* Makes an interpreter file whose evaluation loop has unwind information. */
static int make_python(void)
{
	struct cfi_writer cfi = {};
	struct fake f = {0};

	cw_usual(&cfi);
	cw_fde(&cfi, EW_TEXT, 64, "", 0);
	ew_init(&f.w, ET_DYN);
	(void)ew_data(&f.w, cfi.bytes, cfi.n);
	cw_place(&cfi, &f.w);
	add_code_type(&f, 0, 112);
	ew_symbol(&f.w, "_PyRuntime", 0x4000, 1464, 1);
	ew_symbol(&f.w, "PyEval_EvalCode", EW_TEXT + 128, 16, 1);
	ew_symbol(&f.w, "_PyEval_EvalFrameDefault", EW_TEXT, 64, 1);
	return ew_write(&f.w);
}

/* Starts a process that maps the file's code, but not its data. */
static pid_t start_child(void)
{
	int fd = make_python();
	char *at = mmap(NULL, EW_END, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	assert_true(at != MAP_FAILED);
	assert_true(mmap(at + EW_TEXT, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			 EW_TEXT) != MAP_FAILED);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the child ends even if a test crashes */
		for (;;)
			pause();
	}
	munmap(at, EW_END);
	close(fd);
	return child;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct collect_config config = {.ops = &ops,
					.unwind = &unwind,
					.sees_unmaps = true,
					.all_processes = true,
					.kallsyms = -1,
					.n_sources = 1};

	f->profile = config.profile = profile_new();
	f->c = collect_new(&config);
	f->child = start_child();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	kill(f->child, SIGKILL);
	waitpid(f->child, NULL, 0);
	collect_free(f->c);
	profile_free(f->profile);
	free(f);
	return 0;
}

/*
 * The kernel programs report the child as new. In their map it has the state @state, and no
 * mappings.
 */
static struct process *meet(struct fixture *f, enum proc_state state)
{
	struct rec_proc rec = {.type = REC_PROC,
			       .state = state,
			       .proc = {.start_ns = 1000, .tgid = (uint32_t)f->child}};

	collect_record(f->c, &rec, sizeof(rec));
	return process_newest(f->c, (uint32_t)f->child);
}

/*
 * The kernel programs don't know the child's executable, so they ask krait again what the child
 * runs.
 */
static void test_python(void **state)
{
	struct fixture *f = *state;
	struct process *p = meet(f, PROC_PENDING);

	assert_int_equal(p->state, PROC_PYTHON);
	space_read(f->c, p);
	assert_int_not_equal(p->slot, 0);
	told.n = 0;
	meet(f, PROC_PENDING);
	assert_int_equal(told.n, 1);
	assert_int_equal(told.state, PROC_PYTHON);
	assert_int_equal(told.space, p->slot);
	/* the kernel programs didn't ask this time, so krait tells them nothing */
	assert_int_equal(process_examine(f->c, process_index(f->c, p), NULL), 1);
	assert_int_equal(told.n, 1);
}

/*
 * The kernel programs know from the child's executable that the child isn't Python, and don't ask.
 */
static void test_native(void **state)
{
	struct fixture *f = *state;
	struct process *p = meet(f, PROC_NATIVE);

	assert_int_not_equal(p->slot, 0);
	told.n = spaces = 0;
	meet(f, PROC_NATIVE);
	assert_int_equal(told.n, 1);
	assert_int_equal(told.state, PROC_NATIVE);
	assert_int_equal(told.space, p->slot);
	assert_int_equal(spaces, 0);
}

/*
 * krait first saw a file in a process whose user's budget was used up, so it didn't look whether
 * the file is an interpreter. It looks when another process maps the file. By then the file's
 * unwind rows are in use (@in_use), or are still being made.
 */
static void check_late(struct fixture *f, bool in_use)
{
	struct process *p = meet(f, PROC_PYTHON);
	struct native_file *python = NULL;

	vec_foreach(file, &f->c->natives->files)
		python = strstr((*file)->path, "memfd:elf") ? *file : python;
	assert_true(python && python->interpreter);
	python->interpreter = python->looked = false;
	native_rows_want(f->c, python);
	if (in_use)
		native_work_take(f->c, true);
	assert_int_equal(python->rows, in_use ? ROWS_THERE : ROWS_ASKED);
	space_read(f->c, p);
	assert_true(python->interpreter);
	n_marked = 0;
	for (int i = 0; i < 2; i++)
		native_work_take(f->c, true);
	assert_int_equal(python->rows, ROWS_THERE);
	assert_int_equal(n_marked, 1);
}

static void test_late_in_use(void **state)
{
	check_late(*state, true);
}

static void test_late_asked(void **state)
{
	check_late(*state, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_python, setup, teardown),
		cmocka_unit_test_setup_teardown(test_native, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late_in_use, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late_asked, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
