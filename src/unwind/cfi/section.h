/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the section of an ELF file with call frame information. */
#ifndef UNWIND_CFI_SECTION_H
#define UNWIND_CFI_SECTION_H

#include "unwind/cfi/cfi.h"

/* The most bytes of a section of call frame information; polars (178 MB) has 8 MiB of .eh_frame. */
#define CFI_MAX_BYTES (64u << 20)

/*
 * Reads .eh_frame, found by its section header or, without one, by PT_GNU_EH_FRAME. If .eh_frame is
 * missing or empty (Go), reads .debug_frame. Returns 0 (with ret->n = 0 if the file has neither),
 * or -errno with a message. Call cfi_section_fini() also after a failure.
 */
_must_use_ int cfi_section_read(struct elf_file *f, struct cfi_section *ret);
void cfi_section_fini(struct cfi_section *s);

#endif
