/* SPDX-License-Identifier: BSD-2-Clause */
/* Recognizes executors (machine code of CPython's JIT) by their first function; see executor.h. */
#include "python/code/executor.h"

#include "base/util.h"
#include "unwind/x86/x86_insn.h"

/*
 * The most bytes of an executor's first function. In Debian's CPython this function has 33 bytes;
 * in python-build-standalone's, which uses a frame pointer, 43.
 */
#define SHIM_MAX 64

/*
 * The instructions mov %rdi,%r12; mov %rsi,%r13; mov %rdx,%r14. They move frame, stack pointer and
 * thread state to the registers of the calling convention preserve_none.
 */
static const uint8_t arguments[] = {0x49, 0x89, 0xfc, 0x49, 0x89, 0xf5, 0x49, 0x89, 0xd6};

/* Returns the offset of the first instruction that is neither of kind @a nor of kind @b. */
static size_t skip(const uint8_t *bytes, size_t n, enum x86_kind a, enum x86_kind b)
{
	struct x86_insn insn;
	size_t at = 0;

	while (at < n && x86_decode(bytes + at, n - at, &insn) &&
	       (insn.kind == a || insn.kind == b))
		at += insn.len;
	return at;
}

/*
 * If an executor begins at @bytes, returns the offset of its second function, which is its chain of
 * machine code; else 0.
 */
static size_t find_chain(const uint8_t *bytes, size_t n)
{
	size_t at, chain;
	struct x86_insn insn;

	n = MIN(n, (size_t)SHIM_MAX);
	at = skip(bytes, n, X86_PUSH, X86_MOVE);
	/* the last instructions that skip() skipped must be the moves of the arguments */
	if (at < sizeof(arguments) ||
	    memcmp(bytes + at - sizeof(arguments), arguments, sizeof(arguments)) ||
	    !x86_decode(bytes + at, n - at, &insn) || insn.kind != X86_CALL)
		return 0;
	at += insn.len;
	chain = at + (size_t)insn.imm;
	at += skip(bytes + at, n - at, X86_POP, X86_ADD);
	return x86_decode(bytes + at, n - at, &insn) && insn.kind == X86_RET &&
			       chain == at + insn.len
		       ? chain
		       : 0;
}

size_t executor_next(const uint8_t *bytes, size_t n, size_t from)
{
	while (from < n && !find_chain(bytes + from, n - from))
		from += EXECUTOR_PAGE;
	return MIN(from, n);
}

int executor_rows(const struct code_memory *code, struct unwind_rows *ret)
{
	size_t chain = find_chain(code->bytes, code->n);
	const uint64_t starts[] = {code->vaddr, code->vaddr + chain};

	*ret = (struct unwind_rows){.base = code->vaddr};
	return chain ? code_rows_add_memory(code, 1, starts, ARRAY_SIZE(starts), true, ret) : 0;
}
