/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes ELF files that krait takes for interpreters: they contain PyCode_Type with its members.
 */
#ifndef TESTS_UNIT_FAKE_PYTHON_H
#define TESTS_UNIT_FAKE_PYTHON_H

#include "elf_writer.h"

struct fake {
	struct elf_writer w;
	uint64_t type; /* address of PyCode_Type */
	uint64_t members;
};

static inline uint64_t add_string(struct fake *f, const char *s)
{
	return ew_data(&f->w, s, strlen(s) + 1);
}

static inline void add_pointer(struct fake *f, uint64_t at, uint64_t to)
{
	ew_rela(&f->w, at, R_X86_64_RELATIVE, 0, (int64_t)to);
}

/*
 * Adds PyCode_Type as in 3.8 (@shift 0), or as in a build that puts @shift bytes before every
 * object.
 */
static inline void add_code_type(struct fake *f, uint64_t shift, uint64_t co_name)
{
	static const char *const names[] = {"co_argcount", "co_flags", "co_firstlineno",
					    "co_filename", "co_name",  "co_lnotab"};
	const uint64_t offsets[] = {16, 36, 40, 104, co_name, 120};
	uint64_t name = add_string(f, "code"), at[ARRAY_SIZE(names)];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		at[i] = add_string(f, names[i]);
	f->members = EW_DATA + f->w.data_n;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		add_pointer(f, ew_u64(&f->w, 0), at[i]);
		ew_u64(&f->w, 0);
		ew_u64(&f->w, offsets[i] + shift);
		ew_u64(&f->w, 0);
		ew_u64(&f->w, 0);
	}
	for (int i = 0; i < 5; i++)
		ew_u64(&f->w, 0);
	f->type = EW_DATA + f->w.data_n;
	for (int i = 0; i < 40; i++)
		ew_u64(&f->w, 0);
	add_pointer(f, f->type + 24 + shift, name);
	add_pointer(f, f->type + 240 + shift, f->members);
	ew_symbol(&f->w, "PyCode_Type", f->type, 408, 1);
}

#endif
