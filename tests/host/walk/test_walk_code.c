/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The records of a stack. A code object is sent once, with its texts, when it is first seen; the
 * stack is sent once. Records count as sent only if the ring accepted them.
 */
/* Include this before cmocka.h, which defines fail as a macro. */
#include "walk_chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "python/code/code.h"
#include "walk_tests.h"

static struct plan plan;
static struct expected expected;

static const struct rec_code *code_record(size_t i)
{
	const struct rec_code *rec = (const void *)host.sent.v[i].bytes;

	assert_true(i < host.sent.n && rec->type == REC_CODE);
	return rec;
}

/* Returns the bytes of text @which in the record @rec. */
static const uint8_t *text_bytes(const struct rec_code *rec, enum code_text which)
{
	const uint8_t *p = (const uint8_t *)(rec + 1);

	for (unsigned i = 0; i < which; i++)
		p += (rec->text[i].bytes + 7) & ~7u;
	return p;
}

static void walk_and_send(void)
{
	assert_int_equal(image_walk(), WALK_OK);
	send_stack(host.w);
}

static void build(size_t n, uint64_t code)
{
	plan.n = 0;
	for (size_t i = 0; i < n; i++)
		plan_add(&plan, i ? CALL : FROM_C, code, 4);
	chain_build(&plan, &expected);
}

/* Sends a stack whose only frame runs @code. Returns the code object's record. */
static const struct rec_code *send_one(uint64_t code)
{
	build(1, code);
	host_forget_sent();
	walk_and_send();
	assert_int_equal(host.sent.n, 2);
	return code_record(0);
}

static void assert_stack_record(size_t i, size_t n)
{
	const struct rec_stack *rec = (const void *)host.sent.v[i].bytes;

	assert_int_equal(rec->type, REC_STACK);
	assert_int_equal(rec->outcome, WALK_OK);
	assert_int_equal(rec->n, n);
	assert_int_equal(rec->stack, host.w->hash);
	assert_memory_equal(&rec->proc, &host.w->proc, sizeof(rec->proc));
	assert_int_equal(host.sent.v[i].n, sizeof(*rec) + n * sizeof(struct wire_frame));
	assert_memory_equal(rec + 1, host.out->frame, n * sizeof(struct wire_frame));
}

/*
 * Each code object is sent once, and so is the stack. For another stack of the same functions, only
 * the stack is sent.
 */
static void sent_once(void)
{
	uint64_t a = image_code("a"), b = image_code("b");

	build(6, a);
	plan.frame[3].code = b;
	chain_build(&plan, &expected);
	walk_and_send();
	assert_int_equal(host.sent.n, 3);
	assert_int_equal(code_record(0)->code, a);
	assert_int_equal(code_record(1)->code, b);
	assert_int_equal(code_record(0)->check, host.out->frame[0].check);
	assert_stack_record(2, 6);
	walk_and_send();
	assert_int_equal(host.sent.n, 3);
	plan.frame[5].lasti = 8;
	chain_build(&plan, &expected);
	walk_and_send();
	assert_int_equal(host.sent.n, 4);
	assert_stack_record(3, 6);
}

static void ring_refuses(void)
{
	uint64_t a = image_code("a");

	build(1, a);
	/* the code object's record is refused; the stack is sent, but doesn't count as complete */
	host.refuse = 1;
	walk_and_send();
	assert_int_equal(host.sent.n, 1);
	assert_stack_record(0, 1);
	walk_and_send();
	assert_int_equal(host.sent.n, 3);
	assert_int_equal(code_record(1)->code, a);
	host_forget_sent();
	host.refuse = 2;
	walk_and_send();
	assert_int_equal(host.sent.n, 0);
	walk_and_send();
	assert_int_equal(host.sent.n, 2);
	walk_and_send();
	assert_int_equal(host.sent.n, 2);
}

/*
 * A stack has more code objects than one sample may send. The rest are sent with the next samples,
 * and with each of these the stack is sent again.
 */
static void many_codes(void)
{
	char name[16];

	plan.n = 0;
	for (int i = 0; i < SEND_CODES + 10; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		plan_add(&plan, i ? CALL : FROM_C, image_code(name), 4);
	}
	chain_build(&plan, &expected);
	walk_and_send();
	assert_int_equal(host.sent.n, SEND_CODES + 1);
	walk_and_send();
	assert_int_equal(host.sent.n, SEND_CODES + 10 + 2);
	walk_and_send();
	assert_int_equal(host.sent.n, SEND_CODES + 10 + 2);
}

/* On a slow or busy machine, each sample still sends a few code objects. */
static void slow(void)
{
	char name[16];

	plan.n = 0;
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		plan_add(&plan, i ? CALL : FROM_C, image_code(name), 4);
	}
	chain_build(&plan, &expected);
	host.tick_ns = 10 * SEND_NS;
	walk_and_send();
	assert_int_equal(host.w->n, 40);
	assert_int_equal(host.sent.n, SEND_LEAST + 1);
	walk_and_send();
	assert_int_equal(host.sent.n, 2 * (SEND_LEAST + 1));
	host.tick_ns = 0;
	walk_and_send();
	assert_int_equal(host.sent.n, 40 + 3);
}

/*
 * A deep stack of new functions is cut off, because it would take too long to prove which code
 * objects they run.
 */
static void late(void)
{
	char name[16];

	plan.n = 0;
	for (int i = 0; i < 2 * PROVE_LEAST; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		plan_add(&plan, i ? CALL : FROM_C, image_code(name), 8);
	}
	chain_build(&plan, &expected);
	host.tick_ns = 2 * PROVE_NS;
	assert_int_equal(image_walk(), WALK_CODE_HUGE);
	assert_int_equal(host.w->n, PROVE_LEAST + 1 + PROVE_LATE);
	assert_int_equal(chain_compare(&expected), PROVE_LEAST + 1 + PROVE_LATE);
	host.tick_ns = 0;
	assert_int_equal(image_walk(), WALK_OK);
}

/*
 * On a slow machine, after PROVE_LEAST frames a sample may prove the identity of only a few more
 * code objects. Each code object is proved once. So the stack of a deep recursion is whole: the
 * frames after PROVE_LEAST belong to few functions.
 */
static void late_recursion(void)
{
	uint64_t recursive;
	char name[16];

	plan.n = 0;
	for (int i = 0; i < PROVE_LATE / 2; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		plan_add(&plan, i ? CALL : FROM_C, image_code(name), 8);
	}
	recursive = image_code("recursive");
	for (int i = 0; i < 2 * PROVE_LEAST; i++)
		plan_add(&plan, CALL, recursive, 8);
	chain_build(&plan, &expected);
	host.tick_ns = 2 * PROVE_NS;
	assert_int_equal(image_walk(), WALK_OK);
	host.tick_ns = 0;
}

/*
 * In a recursion of several functions, a sample proves only once which code object each of them
 * runs, even if two of them share a set of walk.seen.
 */
static void late_circle(void)
{
	uint64_t codes[SEEN_SETS / 8];
	char name[16];

	plan.n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		snprintf(name, sizeof(name), "f%zu", i);
		codes[i] = image_code(name);
	}
	for (size_t i = 0; i < 4 * PROVE_LEAST; i++)
		plan_add(&plan, i ? CALL : FROM_C, codes[i % ARRAY_SIZE(codes)], 8);
	chain_build(&plan, &expected);
	host.tick_ns = 2 * PROVE_NS;
	assert_int_equal(image_walk(), WALK_OK);
	host.tick_ns = 0;
}

/*
 * If line tables are long, a sample copies as many as fit in SEND_BUDGET. Of the others, user space
 * gets the addresses.
 */
static void many_bytes(void)
{
	static uint8_t data[60000];
	size_t copied = 0, n = 0;

	plan.n = 0;
	for (int i = 0; i < 8; i++)
		plan_add(&plan, i ? CALL : FROM_C,
			 image_code_of(image_text("f.py"), image_text("f"),
				       image_bytes(data, sizeof(data), i + 1), i),
			 4);
	chain_build(&plan, &expected);
	walk_and_send();
	assert_int_equal(host.sent.n, 9);
	for (size_t i = 0; i < 8; i++) {
		const struct wire_text *w = &code_record(i)->text[CODE_LINETABLE];

		assert_int_equal(w->len, sizeof(data));
		assert_true(w->addr);
		assert_true(!w->bytes || w->bytes == sizeof(data));
		copied += w->bytes;
		n += w->bytes > 0;
	}
	assert_int_equal(n, SEND_BUDGET / sizeof(data));
	assert_true(copied <= SEND_BUDGET);
	walk_and_send();
	assert_int_equal(host.sent.n, 9);
}

/*
 * When src/python reads the record, it finds the values that were put into the image (the simulated
 * interpreter's memory).
 */
static void fields(void)
{
	static const uint8_t table[] = {6, 1, 8, 2, 10, 0};
	const struct py_layout *l = image.l;
	_cleanup_(cleanup_py_code) struct py_code *code = NULL;
	uint64_t file = image_text("/srv/\x7f app.py"), name = image_text("Class.method");
	uint64_t lines = image_bytes(table, sizeof(table), NO_HASH);
	const struct rec_code *rec;

	rec = send_one(image_code_of(file, name, lines, 4711));
	assert_int_equal(rec->firstlineno, 4711);
	assert_int_equal(rec->has_module, 0);
	assert_int_equal(rec->layout, 0);
	assert_memory_equal(&rec->proc, &host.w->proc, sizeof(rec->proc));
	assert_int_equal(rec->text[CODE_FILENAME].addr, file);
	assert_int_equal(rec->text[CODE_NAME].addr, name);
	assert_int_equal(rec->text[CODE_QUALNAME].addr, l->code_qualname ? name : 0);
	assert_int_equal(rec->text[CODE_LINETABLE].addr, lines);
	if (l->code_version)
		assert_int_equal(rec->version, image.next_version - 1);
	assert_int_equal(py_code_from_record(rec, host.sent.v[0].n, l->version, &code), 0);
	assert_int_equal(code->missing, 0);
	assert_string_equal(code->name, "Class.method");
	assert_int_equal(code->firstlineno, 4711);
	assert_int_equal(code->linetable_bytes, sizeof(table));
	assert_memory_equal(code->linetable, table, sizeof(table));
}

/*
 * For a string of any kind and length, the record has its true length and all its bytes, up to the
 * limit.
 */
static void text(unsigned kind, bool ascii, uint32_t len)
{
	size_t most = ABI_NAME_BYTES, bytes = (size_t)len * kind;
	const struct wire_text *w;
	const struct rec_code *rec;
	uint8_t *data = malloc(bytes + 1);
	enum code_text which = image.l->code_qualname ? CODE_QUALNAME : CODE_NAME;

	for (size_t i = 0; i < bytes; i++)
		data[i] = (uint8_t)(i * 31 + len);
	rec = send_one(image_code_of(image_text("f.py"), image_str(data, len, kind, ascii, 99),
				     image_bytes("", 0, NO_HASH), 1));
	w = &rec->text[which];
	assert_int_equal(w->len, len);
	assert_int_equal(w->kind, image.l->str_state ? kind : 0);
	assert_int_equal(w->ascii, image.l->str_state ? ascii : 0);
	assert_int_equal(w->bytes, MIN(bytes, most));
	assert_memory_equal(text_bytes(rec, which), data, w->bytes);
	free(data);
}

static void texts(void)
{
	static const uint32_t lengths[] = {0, 1, 7, 8, 100, 4096, 16383, 16384, 16385, 70000};

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		text(1, true, lengths[i]);
		if (!image.l->str_state)
			continue;
		text(1, false, lengths[i]);
		text(2, false, lengths[i]);
		text(4, false, lengths[i]);
	}
}

static void line_tables(void)
{
	static const uint32_t lengths[] = {0,	 1,	95,    96,    97,    255,
					   4096, 65535, 65536, 65537, 200000};
	static uint8_t data[200000];
	const struct wire_text *w;
	const struct rec_code *rec;
	uint32_t len;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 256);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		len = lengths[i];
		rec = send_one(image_code_of(image_text("f.py"), image_text("name"),
					     image_bytes(data, len, i % 2 ? NO_HASH : 77), 1));
		w = &rec->text[CODE_LINETABLE];
		assert_int_equal(w->len, len);
		assert_int_equal(w->kind, 0);
		assert_int_equal(w->bytes, MIN(len, 65536u));
		assert_memory_equal(text_bytes(rec, CODE_LINETABLE), data, w->bytes);
	}
}

/* The longest texts of all kinds fit into one record. */
static void all_long(void)
{
	static uint8_t data[100000];
	const struct rec_code *rec;

	rec = send_one(image_code_of(image_str(data, 20000, 1, true, 1),
				     image_str(data, 20000, 1, true, 2),
				     image_bytes(data, sizeof(data), 3), 1));
	assert_int_equal(rec->text[CODE_FILENAME].bytes, ABI_NAME_BYTES);
	assert_int_equal(rec->text[CODE_LINETABLE].bytes, ABI_LINETABLE_BYTES);
	assert_int_equal(host.sent.v[0].n, sizeof(*rec) + 2 * ABI_NAME_BYTES + ABI_LINETABLE_BYTES);
}

/*
 * A text isn't resident when its code object is sent. The record has everything else, and the
 * text's address.
 */
static void not_resident(void)
{
	uint64_t name = image_text("name"), code;
	const struct rec_code *rec;

	image.heap = (image.heap + HOST_PAGE) & ~(HOST_PAGE - 1);
	code = image_code_of(image_str("file.py", 7, 1, true, 5), name, image_bytes("ab", 2, 6), 3);
	build(1, code);
	for (int i = 0; i < 2; i++) {
		uint64_t file = get_u64(code + image.l->code_filename);

		host_forget_sent();
		assert_int_equal(image_walk(), WALK_OK);
		/* only the head of the text's object is readable, or not even that */
		host.fault_at = i ? file + image.l->str_length : file + image.l->str_ascii;
		send_stack(host.w);
		host.fault_at = 0;
		rec = code_record(0);
		assert_int_equal(rec->text[CODE_FILENAME].addr, file);
		assert_int_equal(rec->text[CODE_FILENAME].bytes, 0);
		assert_int_equal(rec->text[CODE_FILENAME].len,
				 i || !image.l->str_state ? 0xffffffffu : 7);
		assert_int_equal(rec->text[CODE_LINETABLE].bytes, 2);
	}
}

/* Before 3.11, the class of a method is found through the first local variable. */
static void self(void)
{
	uint64_t frame, code = image_code("method"), obj = image_alloc(64);
	bool wanted = !image.l->code_qualname;

	build(1, code);
	frame = expected.addr[0];
	put_u64(frame + image.l->frame_locals, obj);
	put_u64(obj + image.l->ob_type, 0x123456789ab0);
	host_forget_sent();
	walk_and_send();
	assert_int_equal(code_record(0)->self_obj, wanted ? obj : 0);
	assert_int_equal(code_record(0)->self_type, wanted ? 0x123456789ab0 : 0);
}

struct item {
	uint64_t key, value;
};

/*
 * Makes a dict with a combined table. @any: keys may be of any type, so that entries have hashes.
 */
static uint64_t image_dict(const struct item *items, size_t n, bool any)
{
	uint64_t dict = image_alloc(image.l->ob_type + 8 + 32);
	uint64_t keys = image_alloc(32 + 16 + (n + 1) * 24), at = keys + 32 + 16;

	put_u64(dict + image.l->ob_type + 8 + 16, keys);
	put_u64(keys + 8, 3 | 4 << 8 | (any ? 0 : 1 << 16)); /* 16 bytes of indices */
	put_u64(keys + 24, n);
	for (size_t i = 0; i < n; i++, at += any ? 24 : 16) {
		put_u64(at + (any ? 8 : 0), items[i].key);
		put_u64(at + (any ? 16 : 8), items[i].value);
	}
	return dict;
}

/* Sends a function called @name of /srv/app.py whose globals are @dict. Returns its record. */
static const struct rec_code *send_in(const char *name, uint64_t dict)
{
	build(1, image_code(name));
	put_u64(expected.addr[0] + image.l->frame_globals, dict);
	host_forget_sent();
	walk_and_send();
	assert_int_equal(host.sent.n, 2);
	return code_record(0);
}

/*
 * Returns the module name in the record; "": the code certainly isn't a module's top level; NULL:
 * the record says nothing about a module.
 */
static const char *said_of(const struct rec_code *rec)
{
	_cleanup_(cleanup_py_code) struct py_code *code = NULL;
	static char module[64];

	assert_int_equal(py_code_from_record(rec, host.sent.v[0].n, image.l->version, &code), 0);
	if (!py_code_take_module(code, rec, host.sent.v[0].n))
		return NULL;
	snprintf(module, sizeof(module), "%s", code->module ?: "");
	return module;
}

/*
 * The names __name__ and __file__ are among the first eight entries of the globals, and both values
 * are of type str.
 */
static void modules(void)
{
	bool copies = PY_HAS(image.l->can, LOG2_KEYS);
	struct item items[10];
	uint64_t dict;

	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		items[i] = (struct item){image_text(i % 2 ? "__doc__" : "__spec__"), image.none};
	items[0] = (struct item){image_text("__name__"), image_text("pkg.app")};
	items[7] = (struct item){image_text("__file__"), image_text("/srv/app.py")};
	for (int any = 0; any < 2; any++) {
		dict = image_dict(items, 10, any);
		if (!copies) {
			assert_int_equal(send_in("<module>", dict)->has_module, 0);
			continue;
		}
		/*
		 * code objects of Python 3.11 have no versions, so the module's name must match its
		 * file's name
		 */
		assert_string_equal(said_of(send_in("<module>", dict)),
				    image.l->code_version ? "pkg.app" : "");
		assert_null(said_of(send_in("<modulo>", dict)));
		/* the dict's values are in a separate array */
		put_u64(dict + image.l->ob_type + 8 + 24, dict);
		assert_null(said_of(send_in("<module>", dict)));
	}
	if (!copies)
		return;
	items[0].value = image_text("app");
	assert_string_equal(said_of(send_in("<module>", image_dict(items, 10, false))), "app");
	assert_null(said_of(send_in("<module>", 0x10)));
	items[7].value = image_text("/srv/other.py");
	assert_string_equal(said_of(send_in("<module>", image_dict(items, 10, false))), "");
	items[7].key = items[6].key;
	assert_null(said_of(send_in("<module>", image_dict(items, 9, false))));
	assert_string_equal(said_of(send_in("<module>", image_dict(items, 8, false))), "");
}

/* A __name__ that isn't a valid str, or that is too long, isn't copied. */
static void odd_modules(void)
{
	uint64_t name = image_text("app"), file = image_text("/srv/app.py"), key;
	char longer[MODULE_TEXT_BYTES + 2] = {};
	struct item items[2] = {{image_text("__name__"), name}, {image_text("__file__"), file}};
	const struct item swapped[2] = {items[1], items[0]};

	if (!PY_HAS(image.l->can, LOG2_KEYS))
		return;
	assert_string_equal(said_of(send_in("<module>", image_dict(items, 2, false))), "app");
	assert_null(said_of(send_in("<module>", image_dict(swapped, 2, false))));
	/* an object of another type than the file name */
	put_u64(file + image.l->ob_type, 0x1000);
	assert_null(said_of(send_in("<module>", image_dict(items, 2, false))));
	put_u64(file + image.l->ob_type, 0);
	memset(longer, 'x', sizeof(longer) - 1);
	items[0].value = image_text(longer);
	assert_null(said_of(send_in("<module>", image_dict(items, 2, false))));
	items[0].value = 0x18; /* not readable */
	assert_null(said_of(send_in("<module>", image_dict(items, 2, false))));
	items[0].value = name;
	key = image_str(u"__name__", 8, 2, false, 99); /* of 16 bits */
	items[0].key = key;
	assert_null(said_of(send_in("<module>", image_dict(items, 2, false))));
}

#define MODULE 8

static uint64_t reads_of_walk(uint64_t *bytes)
{
	assert_int_equal(image_walk(), WALK_OK);
	*bytes = host.bytes;
	return host.reads;
}

/*
 * Up to 3.10, the stack walk reads neighbouring code objects together. In the first sample it does
 * so when it comes to the second of these code objects; in later samples when it comes to the
 * first. A code object without neighbours is read alone from the second sample on.
 */
static void read_together(void)
{
	uint64_t name[MODULE], table[MODULE], code[MODULE], file = image_text("/srv/app.py"), id,
							    bytes[4], reads[4];

	if (image.l->walk != PY_WALK_OBJECT)
		return;
	image_alloc(HOST_PAGE); /* keeps the file name's text away from the code objects */
	for (size_t i = 0; i < MODULE; i++)
		/* an interned name, whose hash is known */
		name[i] = image_str("f", 1, 1, true, 77 + i);
	for (size_t i = 0; i < MODULE; i++)
		table[i] = image_bytes("\2\1\4\1", 4, NO_HASH);
	for (size_t i = 0; i < MODULE; i++)
		code[i] = image_code_of(file, name[i], table[i], 1 + (int)i);
	build(MODULE, code[0]);
	for (size_t i = 0; i < MODULE; i++)
		plan.frame[i].code = code[i];
	chain_build(&plan, &expected);
	reads[0] = reads_of_walk(&bytes[0]);
	id = host.w->hash;
	reads[1] = reads_of_walk(&bytes[1]);
	assert_true(reads[1] < reads[0] && host.w->hash == id);
	assert_true(reads_of_walk(&bytes[2]) == reads[1] && host.w->hash == id);
	build(1, code[0]);
	reads[0] = reads_of_walk(&bytes[0]);
	reads[1] = reads_of_walk(&bytes[1]);
	assert_true(reads[1] == reads[0] && bytes[1] < bytes[0]);
	*host.w = (struct walk){};
	assert_true(reads_of_walk(&bytes[2]) == reads[1] && bytes[2] == bytes[1]);
}

/* clang-format off */
#define TESTS(X) \
	X(sent_once) X(ring_refuses) X(many_codes) X(many_bytes) X(slow) X(late) \
	X(late_recursion) X(late_circle) X(fields) X(texts) X(line_tables) X(all_long) \
	X(not_resident) X(self) X(modules) X(odd_modules) X(read_together)
/* clang-format on */
TESTS(RELEASE_TEST)

WALK_MAIN("walk_code", TESTS(RELEASE_ENTRY))
