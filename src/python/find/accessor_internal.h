/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the decoders of accessor functions: symbolic values, and the meaning of a load, a call
 * and a return. There is a decoder for the instructions of each machine.
 *
 * A conditional branch tests whether a key or interpreter is set up yet. First the code after the
 * branch is followed. If that code returns nothing useful, decoding continues at the last branch's
 * target.
 */
#ifndef PYTHON_FIND_ACCESSOR_INTERNAL_H
#define PYTHON_FIND_ACCESSOR_INTERNAL_H

#include "python/find/accessor.h"

/* What is known of a value in a register or of an operand in memory. */
enum value_kind {
	V_UNKNOWN = 0,
	V_ADDR,	  /* the value is x, a constant or an address in the file */
	V_LOADED, /* the value is the 64 bits at address x */
	V_INT,	  /* the value is the 32-bit integer at address x */
	V_TP,	  /* the value is the thread pointer plus off */
	/* the value is the result of __tls_get_addr() for the GOT pair at address x, plus off */
	V_BLOCK,
	/*
	 * the value is the offset from the thread pointer to which the word at address x leads,
	 * plus off
	 */
	V_DESC,
	/*
	 * the value is the thread pointer, plus the offset to which the word at address x leads,
	 * plus off
	 */
	V_DESC_TP
};

struct value {
	enum value_kind kind;
	uint64_t x;
	int64_t off;
};

/* Types of relocations for thread-local variables; they differ between machines. */
struct tls_relocs {
	uint32_t module; /* type of a GOT pair's relocation: DTPMOD64 */
	uint32_t offset; /* type of an initial-exec relocation: TPOFF64, TPREL */
	uint32_t desc;	 /* type of a TLS descriptor's relocation */
};

struct decoder {
	struct elf_file *elf;
	const struct tls_relocs *relocs;
	const uint8_t *code;
	size_t n, at; /* .n: number of bytes of code; .at: offset of the next byte to decode */
	uint64_t vaddr;
	struct value reg[32];
	unsigned arg, result; /* numbers of the registers of the first argument and of the result */
	/* offset of the target of the last conditional branch; 0: there was no such branch yet */
	size_t branch;
	struct accessor ret;
	bool done, bad;
};

void decoder_finish(struct decoder *d, enum access kind, uint64_t addr, int64_t offset);

/* Returns the value that is @v plus @disp. */
struct value value_plus(struct value v, int64_t disp);

/*
 * Returns the sum of two registers, which are the thread pointer and an offset, or two constants.
 */
struct value value_add(struct value a, struct value b);

/*
 * Returns the result of a load of 8 (@wide) or 4 bytes from @mem. If this load gives what the
 * accessor returns, the decoding ends.
 */
struct value decoder_load(struct decoder *d, struct value mem, bool wide);

/* Notes a conditional branch whose target is @disp bytes after .at. */
void decoder_branch(struct decoder *d, int64_t disp);

/*
 * Follows a call, or a jump out of the function. @through: if a call goes through a TLS descriptor,
 * the operand in memory that has the call's target; else V_UNKNOWN.
 */
void decoder_leave(struct decoder *d, bool is_call, struct value through);

void decoder_return(struct decoder *d);

#endif
