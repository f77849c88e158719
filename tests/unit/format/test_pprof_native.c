/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Native frames are written to a pprof file and read back. Each file with code is one mapping with
 * a build id. Tests addresses, symbols, locations without a name, inlined calls. (tests/golden
 * tests how other tools read them.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "format/pprof/pprof.h"

static size_t write_profile(struct profile *p, char **bytes)
{
	size_t n;
	FILE *f = open_memstream(bytes, &n);

	assert_int_equal(pprof_write(p, f, PROFILE_TIMES_10MS), 0);
	fclose(f);
	return n;
}

static uint32_t function(struct profile *p, const char *name, const char *symbol, const char *file)
{
	struct profile_function f = {.name = profile_string(p, name),
				     .system_name = profile_string(p, symbol),
				     .file = profile_string(p, file)};

	return profile_function(p, &f);
}

static uint32_t file_mapping(struct profile *p)
{
	struct profile_mapping m = {.name = profile_string(p, "/usr/lib/libx.so.1"),
				    .build_id = profile_string(p, "0123456789abcdef"),
				    .kind = KIND_NATIVE,
				    .start = 0x3000,
				    .limit = 0x9000,
				    .offset = 0x2000};

	return profile_mapping(p, &m);
}

static void add(struct profile *p, const uint32_t *stack, size_t n, int64_t value)
{
	struct profile_sample s = {.time_ns = -1, .values = {value}};

	s.stack = profile_stack(p, stack, n);
	assert_int_equal(profile_add(p, &s), 0);
}

/*
 * Makes stacks in which "leaf" is inlined into "middle", and "middle" into "outer". "unnamed" is an
 * address without a name.
 */
static struct profile *make(void)
{
	struct profile *p = profile_new();
	struct profile_meta *m = profile_meta(p);
	struct profile_location l = {.mapping = file_mapping(p), .address = 0x3210};
	uint32_t outer, middle, leaf, unnamed;

	m->values[0] = (struct profile_value_type){"samples", "count"};
	m->n_values = 1;
	unnamed = profile_location(
		p, &(struct profile_location){.mapping = l.mapping, .address = 0x4567});
	l.function = function(p, "x::outer", "_ZN1x5outerEv", "/src/x.cc");
	l.line = 30;
	outer = profile_location(p, &l);
	l.function = function(p, "middle", "middle", "/src/x.h");
	l.line = 20;
	l.outer = outer;
	middle = profile_location(p, &l);
	l.function = function(p, "leaf", "leaf", "/src/x.h");
	l.line = 10;
	l.outer = middle;
	leaf = profile_location(p, &l);
	add(p, (const uint32_t[]){leaf, middle, outer, unnamed}, 4, 3);
	add(p, (const uint32_t[]){unnamed, middle, outer}, 3, 2);
	add(p, (const uint32_t[]){outer}, 1, 1);
	assert_false(profile_failed(p));
	return p;
}

static struct profile *read_back(const char *bytes, size_t n)
{
	struct profile *p;

	assert_int_equal(pprof_read((const uint8_t *)bytes, n, &p), 0);
	return p;
}

static void check_location(const struct profile *p, uint32_t id, const char *name,
			   const char *symbol, int line, uint64_t address)
{
	const struct profile_location *l = profile_get_location(p, id);
	const struct profile_function *f;

	assert_int_equal(l->address, address);
	assert_int_equal(l->line, line);
	if (!name) {
		assert_int_equal(l->function, 0);
		return;
	}
	f = profile_get_function(p, l->function);
	assert_string_equal(profile_get_string(p, f->name), name);
	assert_string_equal(profile_get_string(p, f->system_name), symbol);
}

static int check_sample(void *arg, const struct profile_sample *s)
{
	struct profile *p = arg;
	size_t n;
	const uint32_t *stack = profile_get_stack(p, s->stack, &n);

	if (s->values[0] != 3)
		return 0;
	assert_int_equal(n, 4);
	check_location(p, stack[0], "leaf", "leaf", 10, 0x3210);
	check_location(p, stack[1], "middle", "middle", 20, 0x3210);
	check_location(p, stack[2], "x::outer", "_ZN1x5outerEv", 30, 0x3210);
	check_location(p, stack[3], NULL, NULL, 0, 0x4567);
	assert_int_equal(profile_get_location(p, stack[0])->outer, stack[1]);
	assert_int_equal(profile_get_location(p, stack[1])->outer, stack[2]);
	assert_int_equal(profile_get_location(p, stack[2])->outer, 0);
	return 0;
}

static void native_frames_come_back(void **state)
{
	struct profile *p = make(), *back;
	const struct profile_mapping *m;
	_cleanup_free_ char *first = NULL, *second = NULL;
	size_t n = write_profile(p, &first);

	back = read_back(first, n);
	assert_int_equal(profile_n_mappings(back), 1);
	m = profile_get_mapping(back, 1);
	assert_string_equal(profile_get_string(back, m->name), "/usr/lib/libx.so.1");
	assert_string_equal(profile_get_string(back, m->build_id), "0123456789abcdef");
	assert_int_equal(m->kind, KIND_NATIVE);
	assert_int_equal(m->start, 0x3000);
	assert_int_equal(m->limit, 0x9000);
	assert_int_equal(m->offset, 0x2000);
	assert_int_equal(profile_n_locations(back), 4);
	assert_int_equal(profile_n_samples(back), 3);
	assert_int_equal(profile_each(back, check_sample, back), 0);
	assert_int_equal(write_profile(back, &second), n);
	assert_memory_equal(first, second, n);
	profile_free(back);
	profile_free(p);
}

/* krait tells the kind of a mapping from its name alone. */
static void kinds_are_told_by_name(void **state)
{
	static const struct {
		const char *name;
		enum frame_kind kind;
	} cases[] = {
		{"[python]", KIND_PYTHON},
		{"[python 3.15]", KIND_PYTHON},
		{"[kernel]", KIND_KERNEL},
		{"[kernel.kallsyms]", KIND_KERNEL},
		{"[kernel ext4]", KIND_KERNEL},
		{"[jit]", KIND_JIT},
		{"[gc]", KIND_GC},
		{"[krait]", KIND_MARK},
		{"[vdso]", KIND_NATIVE},
		{"/usr/lib/libz.so.1", KIND_NATIVE},
		{"/usr/bin/python", KIND_NATIVE},
		{"", KIND_NATIVE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(profile_kind(cases[i].name), cases[i].kind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(native_frames_come_back),
		cmocka_unit_test(kinds_are_told_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
