/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a thread begins; see clone_rows.h. */
#include "elf/clone_rows.h"

#include "elf/x86_insn.h"

#define MOST_BYTES 32 /* glibc's have 10 and 14 */

static const uint8_t system_call[] = {0x0f, 0x05, /* syscall */ 0x48, 0x85,
				      0xc0 /* test %rax,%rax */};

struct gap {
	const struct unwind_rows *rows;
	uint32_t start, end; /* keys */
	uint8_t bytes[MOST_BYTES];
};

/* Is the branch at @at taken if the result was zero: je? */
static bool is_if_zero(const uint8_t *at)
{
	return at[0] == 0x74 || (at[0] == 0x0f && at[1] == 0x84);
}

/* May the branch at @at, up to key @next, be one? *begins: it leads to where the new thread begins. */
static bool is_branch_on(const struct gap *g, const uint8_t *at, uint32_t next, int64_t imm,
			 bool *begins)
{
	const struct unwind_rule *to =
		unwind_rows_find(g->rows, g->rows->base + (uint32_t)(next + imm));

	if (!is_if_zero(at))
		return unwind_rule_is_start(to); /* an error */
	*begins = true;
	return to && to->cfa == UNWIND_END;
}

/* The system call, branches on its result, a return; nothing else moves the stack pointer or writes rax. */
static bool is_clone(const struct gap *g)
{
	const uint32_t n = g->end - g->start;
	struct x86_insn insn;
	bool begins = false;

	if (n < sizeof(system_call) || memcmp(g->bytes, system_call, sizeof(system_call)))
		return false;
	for (uint32_t at = sizeof(system_call); at < n; at += insn.len) {
		if (!x86_decode(g->bytes + at, n - at, &insn))
			return false;
		if (insn.kind == X86_RET)
			return begins && at + insn.len == n;
		if (insn.kind != X86_BRANCH ||
		    !is_branch_on(g, g->bytes + at, g->start + at + insn.len, insn.imm, &begins))
			return false;
	}
	return false;
}

/* Between @before and @after nothing is known, but of what surrounds it that of a thread's beginning. */
static bool is_worth_reading(const struct unwind_rows *rows, const struct unwind_fde *before,
			     const struct unwind_fde *after)
{
	const struct unwind_rule *beginning;

	if (after->start <= before->end || after->start - before->end > MOST_BYTES)
		return false;
	beginning = unwind_rows_find(rows, rows->base + after->start);
	return beginning && beginning->cfa == UNWIND_END &&
	       unwind_rule_is_start(unwind_rows_find(rows, rows->base + before->end - 1));
}

int clone_rows(struct elf_file *f, const struct unwind_rows *rows, unwind_range_vec *ret)
{
	static const struct unwind_rule rule = {.cfa = UNWIND_CLONE,
						.reg = 7, /* rsp */
						.off = 8,
						.ra = -1,
						.fp = UNWIND_SAME,
						.bx = UNWIND_SAME};
	int r = 0;

	for (size_t i = 1; !r && i < rows->fdes.n; i++) {
		struct gap g = {.rows = rows,
				.start = rows->fdes.v[i - 1].end,
				.end = rows->fdes.v[i].start};

		if (is_worth_reading(rows, &rows->fdes.v[i - 1], &rows->fdes.v[i]) &&
		    elf_file_read(f, rows->base + g.start, g.bytes, g.end - g.start) ==
			    g.end - g.start &&
		    is_clone(&g))
			r = vec_push(ret, (struct unwind_range){g.start, g.end, rule});
	}
	return r;
}
