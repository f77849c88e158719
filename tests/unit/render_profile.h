/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Helpers with which the tests of src/view, src/format and src/picture make profiles: a line of
 * code for each sample.
 */
#ifndef TESTS_UNIT_RENDER_PROFILE_H
#define TESTS_UNIT_RENDER_PROFILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>
#include "profile/profile.h"

struct test_frame {
	const char *name,
		/*
		 * the function's file; NULL: the frame isn't Python's, but of kind .kind (native,
		 * kernel, ...)
		 */
		*file;
	int line;
	enum frame_kind kind;
	const char *symbol; /* the function's symbol as the ELF file has it */
	/* the frame's address; a name of "" means that no symbol covers the address */
	uint64_t address;
};

static const char *const test_mapping[KIND_MAX] = {
	[KIND_PYTHON] = "[python 3.12]",
	[KIND_NATIVE] = "/usr/lib/x86_64-linux-gnu/libz.so.1",
	[KIND_KERNEL] = "[kernel]",
	[KIND_JIT] = "[jit]",
	[KIND_GC] = "[gc]",
	[KIND_MARK] = "[krait]",
};

static inline struct profile *test_profile(void)
{
	struct profile *p = profile_new();
	struct profile_meta *meta;

	assert_non_null(p);
	meta = profile_meta(p);
	meta->values[0] = (struct profile_value_type){"samples", "count"};
	meta->values[1] = (struct profile_value_type){"cpu", "nanoseconds"};
	meta->n_values = 2;
	meta->default_value = 1;
	meta->period_type = (struct profile_value_type){"cpu", "nanoseconds"};
	meta->period = 1001001;
	meta->time_ns = 1700000000ll * 1000000000;
	meta->duration_ns = 10ll * 1000000000;
	return p;
}

static inline uint32_t test_location(struct profile *p, const struct test_frame *f)
{
	struct profile_mapping m = {
		.name = profile_string(p, test_mapping[f->kind]), .kind = f->kind, .limit = 4096};
	struct profile_function fn = {.name = profile_string(p, f->name),
				      .file = f->file ? profile_string(p, f->file) : 0};
	struct profile_location l = {
		.mapping = profile_mapping(p, &m), .line = f->line, .address = f->address};

	if (f->symbol)
		fn.system_name = profile_string(p, f->symbol);
	if (*f->name || !f->address)
		l.function = profile_function(p, &fn);
	return profile_location(p, &l);
}

/*
 * Adds a sample. @frames begins with the outermost frame and ends with a frame without a name.
 * @labels: "key", "value", ..., NULL; or NULL for no labels.
 */
static inline void test_sample_at(struct profile *p, const struct test_frame *frames,
				  const char *const *labels, int64_t count, int64_t time_ns)
{
	struct profile_sample s = {.time_ns = time_ns, .values = {count, count * 1001001}};
	struct profile_label set[8];
	uint32_t stack[64];
	size_t n = 0, k = 0, n_labels = 0;

	while (frames[n].name)
		n++;
	for (; k < n; k++)
		stack[k] = test_location(p, &frames[n - 1 - k]);
	for (; labels && labels[2 * n_labels]; n_labels++) {
		set[n_labels].key = profile_string(p, labels[2 * n_labels]);
		set[n_labels].value = profile_string(p, labels[2 * n_labels + 1]);
	}
	s.stack = profile_stack(p, stack, n);
	s.labels = profile_labels(p, set, n_labels);
	assert_int_equal(profile_add(p, &s), 0);
}

static inline void test_sample(struct profile *p, const struct test_frame *frames,
			       const char *const *labels, int64_t count)
{
	test_sample_at(p, frames, labels, count, -1);
}

#define FRAMES(...) ((const struct test_frame[]){__VA_ARGS__, {0}})
#define NO_FRAMES   ((const struct test_frame[]){{0}})
#define LABELS(...) ((const char *const[]){__VA_ARGS__, NULL, NULL})

#endif
