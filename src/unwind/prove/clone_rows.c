/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the code where a new thread begins, and makes rows for it; see clone_rows.h. */
#include "unwind/prove/clone_rows.h"

#include "unwind/x86/x86_insn.h"

/* the most bytes of the code where a thread begins; in glibc this code has 10 or 14 bytes */
#define MOST_BYTES 32

static const uint8_t system_call[] = {0x0f, 0x05, /* syscall */ 0x48, 0x85,
				      0xc0 /* test %rax,%rax */};

#define ON_STACK                                                                                   \
	{                                                                                          \
		.cfa = UNWIND_REG, .reg = 7, .off = 8, .ra = -1, .fp = UNWIND_SAME,                \
		.bx = UNWIND_SAME                                                                  \
	}
#define CLONE                                                                                      \
	{                                                                                          \
		.cfa = UNWIND_CLONE, .reg = 7, .off = 8, .ra = -1, .fp = UNWIND_SAME,              \
		.bx = UNWIND_SAME                                                                  \
	}
#define IN_RDX                                                                                     \
	{                                                                                          \
		.cfa = UNWIND_REG, .reg = 7, .slots = UNWIND_RA_IN_INDEX, .index = 1,              \
		.ra = UNWIND_SAME, .fp = UNWIND_SAME, .bx = UNWIND_SAME                            \
	}
#define OUTERMOST                                                                                  \
	{                                                                                          \
		.cfa = UNWIND_END                                                                  \
	}

/*
 * Code of musl 1.1.0 to 1.2.5: src/thread/x86_64/clone.s from the system call on, and
 * src/process/x86_64/vfork.s.
 */
static const uint8_t musl_clone[] = {
	0x0f, 0x05,	  /* syscall */
	0x85, 0xc0,	  /* test %eax,%eax */
	0x75, 0x0f,	  /* jne, which jumps to the return */
	0x31, 0xed,	  /* xor %ebp,%ebp */
	0x5f,		  /* pop %rdi */
	0x41, 0xff, 0xd1, /* call *%r9 */
	0x89, 0xc7,	  /* mov %eax,%edi */
	0x31, 0xc0,	  /* xor %eax,%eax */
	0xb0, 0x3c,	  /* mov $60,%al: exit */
	0x0f, 0x05, 0xf4, /* syscall; hlt */
	0xc3,		  /* ret */
};
static const struct unwind_range musl_clone_rows[] = {
	{0, 6, CLONE}, {6, 21, OUTERMOST}, {21, 22, ON_STACK}};

static const uint8_t musl_vfork[] = {
	0x5a,			   /* pop %rdx */
	0xb8, 0x3a, 0,	  0,	0, /* mov $58,%eax */
	0x0f, 0x05,		   /* syscall */
	0x52,			   /* push %rdx */
	0x48, 0x89, 0xc7, 0xe9,	   /* mov %rax,%rdi; jmp */
};
static const struct unwind_range musl_vfork_rows[] = {
	{0, 1, ON_STACK}, {1, 9, IN_RDX}, {9, 13, ON_STACK}};

struct gap {
	const struct unwind_rows *rows;
	uint32_t start, end; /* offsets (address - rows' base) of the code; end exclusive */
	uint8_t bytes[MOST_BYTES];
};

/* Is the branch at @at taken if the result was zero, as je is? */
static bool is_if_zero(const uint8_t *at)
{
	return at[0] == 0x74 || (at[0] == 0x0f && at[1] == 0x84);
}

/*
 * May the branch at @at be part of clone()? @next: offset of the instruction after the branch. Sets
 * *begins to true if the branch leads to where the new thread begins.
 */
static bool is_branch_on(const struct gap *g, const uint8_t *at, uint32_t next, int64_t imm,
			 bool *begins)
{
	const struct unwind_rule *to =
		unwind_rows_find(g->rows, g->rows->base + (uint32_t)(next + imm));

	if (!is_if_zero(at))
		/* this branch is taken if the system call has failed */
		return unwind_rule_is_start(to);
	*begins = true;
	return to && to->cfa == UNWIND_END;
}

/*
 * Does the code of @g consist of the system call, branches on its result, and a return? If it does,
 * nothing else moves the stack pointer or writes rax.
 */
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

/* May the code between the functions @before and @after be the code where a thread begins? */
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
	static const struct unwind_rule rule = CLONE;
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

static int add_ranges(const struct unwind_range *ranges, size_t n, uint32_t at,
		      unwind_range_vec *ret)
{
	int r = 0;

	for (size_t i = 0; !r && i < n; i++)
		r = vec_push(ret, (struct unwind_range){at + ranges[i].start, at + ranges[i].end,
							ranges[i].rule});
	return r;
}

int clone_rows_musl(const uint8_t *bytes, uint32_t n, uint32_t start, unwind_range_vec *ret,
		    uint32_t *at, uint32_t *len)
{
	const uint8_t *clone = memmem(bytes, n, musl_clone, sizeof(musl_clone)),
		      *vfork = memmem(bytes, n, musl_vfork, sizeof(musl_vfork));

	*len = 0;
	if (clone && (!vfork || clone < vfork)) {
		*at = start + (uint32_t)(clone - bytes);
		*len = sizeof(musl_clone);
		return add_ranges(musl_clone_rows, ARRAY_SIZE(musl_clone_rows), *at, ret);
	}
	if (!vfork)
		return 0;
	*at = start + (uint32_t)(vfork - bytes);
	*len = sizeof(musl_vfork);
	return add_ranges(musl_vfork_rows, ARRAY_SIZE(musl_vfork_rows), *at, ret);
}
