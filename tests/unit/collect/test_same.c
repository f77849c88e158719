/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code objects of several processes with the same content share one copy of their names and lines.
 * A code object with another content, even at the same address, must not get this copy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/system/clock.h"
#include "base/text/str.h"
#include "collect/code/codes.h"
#include "collect/internal.h"
#include "one_layout.h"

#define CODE 64 /* address of the code object, the same in all processes */

static const struct collect_ops ops = {
	.add_layout = add_layout, .layout = get_layout, .set_proc = set_no_proc};

struct fixture {
	struct profile *profile;
	struct collect *collect;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct collect_config config = {.ops = &ops, .kallsyms = -1, .n_sources = 1};

	f->profile = config.profile = profile_new();
	profile_meta(f->profile)->n_values = 2;
	f->collect = collect_new(&config);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	collect_free(f->collect);
	profile_free(f->profile);
	free(f);
	return 0;
}

/* What the record of a code object contains. */
struct said {
	const char *text[CODE_TEXT_MAX];
	int32_t line, traceable;
	uint8_t kind; /* size of a character of CODE_QUALNAME, in bytes */
	uint64_t self_obj;
};

static const struct said usual = {
	.text = {"/app/prog.py", "f", "C.f", "\xf8\x01"}, .line = 7, .kind = 1};

static struct proc_key key_of(uint32_t tgid)
{
	return (struct proc_key){.start_ns = tgid, .tgid = 0x7ffff000 + tgid, .exec_id = 1};
}

static struct process *newest(struct fixture *f, uint32_t tgid)
{
	return process_newest(f->collect, key_of(tgid).tgid);
}

static void send_code(struct fixture *f, uint32_t tgid, uint64_t code, const struct said *said)
{
	struct rec_code rec = {.type = REC_CODE,
			       .firstlineno = said->line,
			       .firsttraceable = said->traceable,
			       .code = code,
			       .check = code + 1,
			       .proc = key_of(tgid),
			       .self_obj = said->self_obj};
	_cleanup_str_ struct str out = {};

	for (int i = 0; i < CODE_TEXT_MAX; i++)
		rec.text[i] = (struct wire_text){.addr = said->text[i] ? 0x1000 + 16 * tgid + i : 0,
						 .len = strlen(said->text[i] ?: ""),
						 .bytes = strlen(said->text[i] ?: ""),
						 .kind = i != CODE_LINETABLE,
						 .ascii = 1};
	rec.text[CODE_QUALNAME].kind = said->kind;
	rec.text[CODE_QUALNAME].len /= said->kind;
	str_add_n(&out, &rec, sizeof(rec));
	for (int i = 0; i < CODE_TEXT_MAX; i++) {
		str_add(&out, said->text[i] ?: "");
		while (out.n % 8)
			/*
			 * the padding between two texts of the record, which must not count as
			 * content
			 */
			str_add_c(&out, (char)tgid);
	}
	collect_record(f->collect, out.s, out.n);
}

/* Begins process @tgid, @ago_ns before sampling began, and sends one code object of it. */
static const struct py_code *begin(struct fixture *f, uint32_t tgid, int64_t ago_ns,
				   const struct said *said)
{
	struct rec_proc rec = {.type = REC_PROC,
			       .state = PROC_PYTHON,
			       .proc = key_of(tgid),
			       .comm = "prog",
			       .start_boot_ns =
				       (uint64_t)((int64_t)f->collect->start_boot_ns - ago_ns)};

	collect_record(f->collect, &rec, sizeof(rec));
	send_code(f, tgid, CODE, said);
	return code_of(newest(f, tgid), code_key(CODE, CODE + 1));
}

#define AGO (-(int64_t)NSEC_PER_SEC) /* the process begins after sampling began */

static int remember(void *arg, const struct profile_sample *s)
{
	*(uint32_t *)arg = s->stack;
	return 0;
}

/* Names a stack whose only frame is the code object of @tgid. Returns that frame's location. */
static const struct profile_location *location(struct fixture *f, uint32_t tgid)
{
	struct {
		struct rec_stack head;
		struct wire_frame frame;
	} stack = {{.type = REC_STACK,
		    .outcome = WALK_OK,
		    .n = 1,
		    .stack = 1000 + tgid,
		    .proc = key_of(tgid)},
		   {.code = CODE, .check = CODE + 1, .lasti = -1}};
	const struct rec_sample sample = {.type = REC_SAMPLE,
					  .outcome = WALK_OK,
					  .tid = key_of(tgid).tgid,
					  .time_ns = 2500,
					  .stack = 1000 + tgid,
					  .proc = key_of(tgid),
					  .weight = 1000};
	uint32_t id = 0;
	size_t n;

	collect_record(f->collect, &stack, sizeof(stack));
	collect_record(f->collect, &sample, sizeof(sample));
	assert_int_equal(collect_flush(f->collect, false), 0);
	assert_int_equal(profile_each(f->profile, remember, &id), 0);
	return profile_get_location(f->profile, profile_get_stack(f->profile, id, &n)[0]);
}

static void test_same_content(void **state)
{
	struct fixture *f = *state;
	const struct py_code *code[5];
	size_t kept[5];

	for (uint32_t i = 0; i < 5; i++) {
		code[i] = begin(f, i, AGO, &usual);
		kept[i] = f->collect->kept.codes;
		assert_string_equal(code[i]->name, "C.f");
	}
	/*
	 * the content came for the first time with these two code objects, so they don't share it
	 * yet
	 */
	assert_ptr_not_equal(code[0]->name, code[1]->name);
	assert_ptr_equal(code[1]->name, code[4]->name);
	assert_int_equal(code[1]->serial, code[4]->serial);
	assert_true(kept[4] - kept[3] < kept[0]);
	assert_int_equal(code[4]->text[CODE_NAME].addr, 0x1000 + 16 * 4 + CODE_NAME);
	for (uint32_t i = 0; i < 5; i++)
		assert_ptr_equal(location(f, i), location(f, 0));
}

/* If the contents of code objects differ, however little, each one has what its own record says. */
static void test_other_content(void **state)
{
	struct fixture *f = *state;
	struct said other[] = {usual, usual, usual, usual, usual,
			       usual, usual, usual, usual, usual};
	uint32_t n = ARRAY_SIZE(other);

	other[1].text[CODE_FILENAME] = "/app/porg.py";
	other[2].text[CODE_QUALNAME] = "C.g";
	other[3].text[CODE_LINETABLE] = "\xf8\x03";
	other[4].line = 8;
	other[5].traceable = 1;
	other[6].text[CODE_QUALNAME] = NULL;
	other[7].text[CODE_NAME] = "fC.";
	/* the bytes of all texts together are the same, but the second text begins elsewhere */
	other[7].text[CODE_QUALNAME] = "f";
	other[8].text[CODE_QUALNAME] = other[9].text[CODE_QUALNAME] = "C.ff";
	/* the bytes are the same, but with another size of characters they mean another text */
	other[9].kind = 2;
	for (uint32_t i = 0; i < 3 * n; i++) {
		const struct said *said = &other[i % n];
		const struct py_code *code = begin(f, i, AGO, said);

		assert_non_null(code);
		assert_string_equal(code->file, said->text[CODE_FILENAME]);
		assert_string_equal(code->name,
				    said->kind == 2 ? "\u2e43\u6666"
						    : said->text[CODE_QUALNAME] ?:
							      said->text[CODE_NAME]);
		assert_int_equal(code->firstlineno, said->line);
		assert_int_equal(code->firsttraceable, said->traceable);
		assert_memory_equal(code->linetable, said->text[CODE_LINETABLE],
				    code->linetable_bytes);
		assert_int_equal(location(f, i)->line, said->line);
	}
}

/*
 * Processes don't share what krait reads from the process itself: up to Python 3.10, the class of a
 * method.
 */
static void test_own_content(void **state)
{
	struct fixture *f = *state;
	struct said made = usual, method = usual;
	const struct py_code *code[4];

	made.text[CODE_FILENAME] = "<string>";
	method.self_obj = 0x5000;
	for (uint32_t i = 0; i < 4; i++) {
		code[i] = begin(f, i, AGO, i % 2 ? &made : &method);
		assert_null(code[i]->like);
	}
	assert_int_not_equal(code[1]->serial, code[3]->serial);
}

/* The profile says of a function whether it ran before the recording began. */
static void test_older_processes(void **state)
{
	struct fixture *f = *state;
	uint32_t i;

	for (i = 0; i < 4; i++)
		assert_non_null(location(f, (begin(f, i, AGO, &usual), i)));
	assert_null(begin(f, i, 10ll * NSEC_PER_SEC, &usual)->like);
	assert_true(profile_get_ran_before(f->profile, location(f, i)->function));
}

/*
 * A process sends new contents without end. krait keeps a limited number of them, and all that are
 * in use.
 */
static void test_bound(void **state)
{
	struct fixture *f = *state;
	char name[32], table[3001] = {};
	const struct py_code *first;
	struct said said = usual;

	begin(f, 0, AGO, &usual);
	first = begin(f, 1, AGO, &usual);
	begin(f, 2, AGO, &said);
	memset(table, 'x', sizeof(table) - 1);
	said.text[CODE_LINETABLE] = table;
	said.text[CODE_QUALNAME] = name;
	for (uint32_t i = 0; i < 4000; i++) {
		snprintf(name, sizeof(name), "g%u", i / 2);
		send_code(f, 2, 1000 + i, &said);
	}
	assert_string_equal(first->name, "C.f");
	/* krait looks for these processes, which don't exist, and forgets them */
	for (int i = 0; i < 20; i++)
		assert_int_equal(collect_flush(f->collect, false), 0);
	assert_in_range(f->collect->kept.codes, 512 * 6000, 512 * 8000);
	codes_next_round(f->collect);
	assert_int_equal(f->collect->kept.codes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same_content, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_content, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_content, setup, teardown),
		cmocka_unit_test_setup_teardown(test_older_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bound, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
