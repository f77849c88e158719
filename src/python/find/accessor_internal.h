/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the decoders of accessor functions share: symbolic values, and what a load, a call and a
 * return mean. A decoder per machine adds the instructions.
 *
 * Conditional branches guard against a key or interpreter that isn't set up yet: first the way
 * straight on is tried, then, if that returns nothing of interest, the last branch seen.
 */
#ifndef PYTHON_ACCESSOR_INTERNAL_H
#define PYTHON_ACCESSOR_INTERNAL_H

#include "python/find/accessor.h"

/* What a register or memory operand is known to be. */
enum value_kind {
	V_UNKNOWN = 0,
	V_ADDR,	  /* constant, or address in the file: x */
	V_LOADED, /* 64 bits from address x */
	V_INT,	  /* 32 bits from address x */
	V_TP,	  /* thread pointer + off */
	V_BLOCK,  /* TLS block of the GOT pair at x, + off */
	V_DESC,	  /* offset from the thread pointer that the word at x leads to, + off */
	V_DESC_TP /* the same with the thread pointer added */
};

struct value {
	enum value_kind kind;
	uint64_t x;
	int64_t off;
};

/* Relocation types of one machine. */
struct tls_relocs {
	uint32_t module; /* of a GOT pair: DTPMOD64 */
	uint32_t offset; /* initial-exec: TPOFF64, TPREL */
	uint32_t desc;	 /* of a TLS descriptor */
};

struct decoder {
	struct elf_file *elf;
	const struct tls_relocs *relocs;
	const uint8_t *code;
	size_t n, at; /* bytes of code, next one */
	uint64_t vaddr;
	struct value reg[32];
	unsigned arg, result; /* registers of the first argument and of the result */
	size_t branch;	      /* where the last conditional branch goes; 0 = none */
	struct accessor ret;
	bool done, bad;
};

void decoder_finish(struct decoder *d, enum access kind, uint64_t addr, int64_t offset);

/* @v + @disp */
struct value value_plus(struct value v, int64_t disp);

/* The sum of two registers: a thread pointer and an offset, or two constants. */
struct value value_add(struct value a, struct value b);

/* What a load of 8 (@wide) or 4 bytes from @mem gives; may finish the decoder. */
struct value decoder_load(struct decoder *d, struct value mem, bool wide);

/* A conditional branch over @disp bytes from here. */
void decoder_branch(struct decoder *d, int64_t disp);

/*
 * A call or a jump out of the function; @through is the memory operand that it is taken from
 * (a call through a TLS descriptor), else V_UNKNOWN.
 */
void decoder_leave(struct decoder *d, bool is_call, struct value through);

void decoder_return(struct decoder *d);

#endif
