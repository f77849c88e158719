/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call frame information as DWARF 5 (section 6.4) and the LSB (.eh_frame) define it, read from a
 * section in memory. The section has entries, entries have programs, and a program describes a
 * state of the registers. krait follows only the registers that unwinding needs. Any byte may be
 * hostile.
 */
#ifndef UNWIND_CFI_CFI_H
#define UNWIND_CFI_CFI_H

#include "base/map.h"
#include "base/vec.h"
#include "elf/elf_file.h"
#include "unwind.h" /* this is abi/unwind.h */

/* Reads bytes one after another. Once .bad is set, every value that is read is 0. */
struct cfi_reader {
	const uint8_t *p, *end;
	bool bad;
};

/* Reads a number of 1, 2, 4 or 8 bytes, little-endian. */
uint64_t cfi_fixed(struct cfi_reader *r, size_t bytes);
uint64_t cfi_uleb_slow(struct cfi_reader *r);
int64_t cfi_sleb(struct cfi_reader *r);
/* Skips @n bytes, and returns a reader of these bytes. */
struct cfi_reader cfi_block(struct cfi_reader *r, uint64_t n);

static inline uint64_t cfi_uleb(struct cfi_reader *r)
{
	if (r->p < r->end && *r->p < 0x80)
		return *r->p++;
	return cfi_uleb_slow(r);
}

/* The registers that krait follows. Their DWARF numbers differ between machines. */
enum cfi_column { CFI_RA, CFI_FP, CFI_BX, CFI_SP, CFI_COLUMNS };
struct cfi_arch {
	/* DWARF number of each followed register; CFI_NONE: this machine has no such register */
	uint8_t reg[CFI_COLUMNS];
	/* whether the return address is in a register on entry to a function (aarch64) */
	bool ra_in_register;
	bool ra_signing; /* whether opcode 0x2d means DW_CFA_AARCH64_negate_ra_state */
	/*
	 * whether the tables may have x86-64 expressions, as binutils writes them for PLTs and
	 * glibc for signal frames
	 */
	bool plt, ucontext;
};
#define CFI_NONE 255
const struct cfi_arch *cfi_arch(enum elf_machine machine);

/* How the caller's value of a register is found. */
enum cfi_how {
	CFI_UNSET,     /* the call frame information doesn't mention the register */
	CFI_SAME,      /* DW_CFA_same_value: the register still has the caller's value */
	CFI_UNDEFINED, /* DW_CFA_undefined: the caller's value is lost */
	CFI_AT_CFA,    /* the value lies in memory at CFA + .off */
	CFI_AT_REG,    /* the value lies in memory at register .reg + .off */
	CFI_IS_CFA,    /* the value is CFA + .off itself */
	CFI_IN_REG,    /* the value is in register .reg */
	CFI_OTHER,     /* the value is found in a way that a struct unwind_rule can't express */
};

struct cfi_place {
	uint8_t how, reg;
	int32_t off;
};

struct cfi_state {
	struct {
		/*
		 * enum unwind_cfa: in which way the CFA is found; only UNKNOWN, REG, DEREF, INDEXED
		 * and PLT occur
		 */
		uint8_t kind;
		/*
		 * number of the base register of UNWIND_REG; a CFA given by an expression leaves
		 * .reg and .off as they were, as in libgcc
		 */
		uint64_t reg;
		int64_t off;
		uint8_t index; /* DWARF number of the index register of UNWIND_INDEXED */
		/*
		 * A CFA that an expression gives is *(.ereg + .eoff) + .off2. For a PLT, .eoff is
		 * the number with which the expression compares the address in the entry.
		 */
		uint8_t ereg;
		int32_t eoff;
		int16_t off2;
	} cfa;
	struct cfi_place col[CFI_COLUMNS];
};

/*
 * Both read an expression (DWARF 5, section 2.5), into @st or @place, as far as a struct
 * unwind_rule can express its result.
 */
void cfi_cfa_expression(const struct cfi_arch *arch, struct cfi_reader e, struct cfi_state *st);
void cfi_place_expression(struct cfi_reader e, struct cfi_place *place);

/* Makes the rule for state @st; @signal: the CIE has 'S', which marks a signal frame. */
void cfi_rule(const struct cfi_arch *arch, const struct cfi_state *st, bool signal,
	      struct unwind_rule *ret);

struct cfi_section {
	const uint8_t *bytes;
	size_t n; /* number of bytes in the section, below 4 GiB */
	/* address of .eh_frame, because pointers in it may be relative to their own addresses */
	uint64_t vaddr;
	bool debug;  /* the section is .debug_frame, whose entries have another form */
	bool to_end; /* the section ends at a terminator, within its first .n bytes */
	/* memory with .bytes that has to be freed; NULL: .bytes belongs to the elf_file */
	uint8_t *owned;
	const struct cfi_arch *arch;
};

struct cfi_cie {
	const char *broken; /* why this CIE can't be used, or NULL */
	/* DW_EH_PE_* encoding of addresses in the FDEs that refer to this CIE */
	uint8_t encoding;
	/*
	 * whether the CIE's augmentation has 'z', so that FDEs have augmentation data, preceded by
	 * their size
	 */
	bool sized;
	bool signal;
	uint8_t code_align;
	int8_t data_align;
	struct cfi_state initial;
};

struct cfi_fde {
	/* addresses of the function's code; .end is exclusive, and above .start */
	uint64_t start, end;
	uint32_t cie;
	/* offset and size of the FDE's instructions in the section */
	uint32_t program, program_n;
};

/* A walk over all entries of a section, CIEs and FDEs, in the order of their offsets. */
struct cfi_entries {
	const struct cfi_section *section;
	size_t at;	/* offset of the next entry in the section */
	size_t last_at; /* offset in the section of the CIE that was looked up last */
	uint32_t last;
	struct map by_at; /* offset of a CIE in the section -> index of the CIE in .cies */
	VEC(struct cfi_cie) cies;
};

void cfi_entries_init(struct cfi_entries *e, const struct cfi_section *section);
void cfi_entries_fini(struct cfi_entries *e);

/*
 * Gets the next FDE. Returns 1 with *@ret, 0 at the end, or -ENOMEM. Also returns 1 for an FDE that
 * can't be used. In that case *@broken says why, and ret->start is 0 if not even that address could
 * be read. Else *@broken is NULL.
 */
_must_use_ int cfi_next_fde(struct cfi_entries *e, struct cfi_fde *ret, const char **broken);

/* How many DW_CFA_remember_state may be nested. Compilers nest one or two. */
#define CFI_NESTED_MAX 16

/* Runs an FDE's instructions and stops at each row. */
struct cfi_run {
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	struct cfi_reader in;
	/* addresses: start and end of the present row, and end of the function */
	uint64_t from, to, end;
	/* why no rows are known for the rest of the function; NULL: rows are known */
	const char *broken;
	bool changed; /* whether the rules have changed since the caller set this to false */
	unsigned nested;
	struct cfi_state st;
	struct cfi_state saved[CFI_NESTED_MAX];
};

void cfi_run_init(struct cfi_run *r, const struct cfi_section *section, const struct cfi_cie *cie,
		  const struct cfi_fde *fde);

/*
 * Goes on to the next row. .st is then the state at the addresses [.from, .to), a range that isn't
 * empty and lies in the function. False: the function has no more rows.
 */
bool cfi_next_row(struct cfi_run *r);

/*
 * Runs a CIE's program, which gives the state at the start of the functions that refer to the CIE.
 * Returns NULL, or why the program can't be run.
 */
const char *cfi_initial(const struct cfi_section *section, struct cfi_cie *cie,
			struct cfi_reader program);

/*
 * cfi_pointer() reads an address in DW_EH_PE_* encoding @enc at r->p. cfi_value() reads only the
 * number that is stored there, and doesn't add the address that it may be relative to. Both return
 * false for an encoding that they don't know. cfi_skip_pointer() returns false if it doesn't know
 * how many bytes the address has.
 */
_must_use_ bool cfi_pointer(const struct cfi_section *section, struct cfi_reader *r, uint8_t enc,
			    uint64_t *ret);
_must_use_ bool cfi_value(struct cfi_reader *r, uint8_t enc, uint64_t *ret);
_must_use_ bool cfi_skip_pointer(struct cfi_reader *r, uint8_t enc);

#endif
