/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of a stripped interpreter that was built with tail calls, for a file of elf_writer.h:
 * functions of 16 bytes from EW_TEXT on, a section .eh_frame_hdr that says where they begin, and a
 * table of functions by opcode.
 */
#ifndef TESTS_UNIT_DISPATCH_TABLE_H
#define TESTS_UNIT_DISPATCH_TABLE_H

#include "elf_writer.h"

enum { DT_HANDLERS = 160, DT_OPCODES = 256 };

/* Returns the address of handler @i. Handler 0 is that of unused opcodes. */
static inline uint64_t dt_handler(size_t i)
{
	return EW_TEXT + 16 * i;
}

struct dt_header {
	uint8_t encodings[4];
	int32_t frame;
	uint32_t count;
	int32_t table[2 * DT_HANDLERS];
};

/* Makes a .eh_frame_hdr for address @at. */
static inline struct dt_header dt_header(uint64_t at)
{
	struct dt_header h = {.encodings = {1, 0x1b, 3, 0x3b}, .count = DT_HANDLERS};

	for (size_t i = 0; i < DT_HANDLERS; i++)
		h.table[2 * i] = (int32_t)(dt_handler(i) - at);
	return h;
}

static inline void dt_place(struct elf_writer *w, const struct dt_header *h)
{
	w->eh_frame_hdr = ew_const(w, h, sizeof(*h));
	w->eh_frame_hdr_n = sizeof(*h);
}

/* Makes a dispatch table in which each opcode from 1 to @used has a handler of its own. */
static inline void dt_table(uint64_t table[static DT_OPCODES], size_t used)
{
	for (size_t i = 0; i < DT_OPCODES; i++)
		table[i] = dt_handler(i <= used ? i : 0);
}

#endif
