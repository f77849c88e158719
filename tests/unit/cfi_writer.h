/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Assembles call frame information for tests. CIEs and FDEs are written byte by byte, in the layout
 * that the LSB and DWARF give, into an ELF file made by elf_writer.h. They describe the code of
 * that file (0x1000 to 0x2000).
 */
#ifndef TESTS_UNIT_CFI_WRITER_H
#define TESTS_UNIT_CFI_WRITER_H

#include "elf_writer.h"
#include "unwind/compile.h"
#include "unwind/rows/rows.h"

#define CW_AT EW_DATA /* address of .eh_frame, which is also its offset in the file */

struct cfi_writer {
	uint8_t bytes[3072];
	size_t n, cie; /* n: number of bytes written; cie: offset of the last CIE */
	bool debug;    /* makes the section .debug_frame instead of .eh_frame */
	uint8_t enc;   /* pointer encoding (DW_EH_PE_...) of the addresses in FDEs */
};

static inline void cw_put(struct cfi_writer *w, uint64_t v, size_t bytes)
{
	assert(w->n + bytes <= sizeof(w->bytes));
	memcpy(w->bytes + w->n, &v, bytes);
	w->n += bytes;
}

static inline void cw_bytes(struct cfi_writer *w, const void *p, size_t n)
{
	assert(w->n + n <= sizeof(w->bytes));
	memcpy(w->bytes + w->n, p, n);
	w->n += n;
}

/* Writes the length (0 for now) and the id of a CIE or FDE. Returns the offset of the length. */
static inline size_t cw_begin(struct cfi_writer *w, uint32_t id)
{
	size_t at = w->n;

	cw_put(w, 0, 4);
	cw_put(w, id, 4);
	return at;
}

/* Pads the CIE or FDE that begins at @at with DW_CFA_nop, and fills in its length. */
static inline void cw_end(struct cfi_writer *w, size_t at)
{
	uint32_t length;

	while (w->n % 8 != 4)
		cw_put(w, 0, 1);
	length = (uint32_t)(w->n - at - 4);
	memcpy(w->bytes + at, &length, 4);
}

/*
 * Writes a CIE of version @version: 1, 3 or 4. The code alignment factor is 1, the data alignment
 * factor -8; @ra is the column of the return address, @data the augmentation data, @program the
 * instructions.
 */
static inline void cw_cie(struct cfi_writer *w, int version, const char *augmentation, uint8_t ra,
			  const void *data, size_t data_n, const void *program, size_t program_n)
{
	w->cie = cw_begin(w, w->debug ? 0xffffffff : 0);
	cw_put(w, (uint64_t)version, 1);
	cw_bytes(w, augmentation, strlen(augmentation) + 1);
	if (version == 4)
		cw_put(w, 8, 2);
	cw_put(w, ra == 30 ? 4 : 1, 1);
	cw_put(w, 0x78, 1); /* data alignment -8 */
	cw_put(w, ra, 1);
	if (augmentation[0] == 'z')
		cw_put(w, data_n, 1);
	cw_bytes(w, data, data_n);
	cw_bytes(w, program, program_n);
	cw_end(w, w->cie);
}

/* Writes the CIE that GCC writes: "zR", pc-relative sdata4, def_cfa rsp+8, rip at cfa-8. */
static inline void cw_usual(struct cfi_writer *w)
{
	w->enc = 0x1b;
	cw_cie(w, 1, "zR", 16, &w->enc, 1, "\x0c\x07\x08\x90\x01", 5);
}

static inline void cw_address(struct cfi_writer *w, uint64_t vaddr)
{
	static const size_t sizes[16] = {8, 0, 2, 4, 8, 0, 0, 0, 0, 0, 2, 4, 8};
	uint64_t here = w->enc & 0x10 ? CW_AT + w->n : 0;

	cw_put(w, vaddr - here, sizes[w->enc & 15]);
}

/* Writes an FDE that belongs to the last CIE. */
static inline size_t cw_fde(struct cfi_writer *w, uint64_t start, uint64_t n, const void *program,
			    size_t program_n)
{
	size_t at = cw_begin(w, (uint32_t)(w->debug ? w->cie : w->n + 4 - w->cie));
	uint8_t enc = w->enc;

	cw_address(w, start);
	w->enc &= 0x0f;
	cw_address(w, n);
	w->enc = enc;
	if (!w->debug)
		cw_put(w, 0, 1); /* the FDE has no augmentation data */
	cw_bytes(w, program, program_n);
	cw_end(w, at);
	return at;
}

/* Puts the section of @w into the ELF file of @ew. */
static inline void cw_place(const struct cfi_writer *w, struct elf_writer *ew)
{
	ew->named = w->debug ? ".debug_frame" : ".eh_frame";
	ew->named_sh = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
				    .sh_flags = SHF_ALLOC,
				    .sh_addr = CW_AT,
				    .sh_offset = CW_AT,
				    .sh_size = w->n};
	memcpy(ew->data, w->bytes, w->n);
}

/*
 * Writes the file and compiles the section into unwind rows. Returns the result of
 * unwind_rows_read().
 */
static inline int cw_read(int fd, struct unwind_rows *ret)
{
	_cleanup_elf_ struct elf_file *f = NULL;

	if (elf_file_open(fd, "test", &f))
		return -1;
	return unwind_rows_read(f, ret);
}

static inline int cw_compile(struct cfi_writer *w, struct unwind_rows *ret)
{
	struct elf_writer ew;
	_cleanup_close_ int fd = -1;

	ew_init(&ew, ET_DYN);
	cw_place(w, &ew);
	fd = ew_write(&ew);
	return cw_read(fd, ret);
}

#endif
