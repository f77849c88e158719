/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds where functions begin, in the search table of .eh_frame_hdr. Stripped files also have this
 * table. The table is read without the call frame information to which it points.
 */
#ifndef ELF_FUNCTION_STARTS_H
#define ELF_FUNCTION_STARTS_H

#include "base/vec.h"
#include "elf/elf_file.h"

struct function_starts {
	VEC(uint64_t) vaddrs; /* addresses (p_vaddr) where functions begin, ascending */
};

/*
 * Reads the table, which takes at most 8 MiB of memory while it is in use. Returns 0 or -ENOMEM.
 * *@ret is empty if the file has no table in the form that linkers write. Call
 * function_starts_fini() also after a failure.
 */
_must_use_ int function_starts_read(struct elf_file *f, struct function_starts *ret);
void function_starts_fini(struct function_starts *s);
#define _cleanup_function_starts_ _cleanup_(function_starts_fini)

/*
 * Does a function, or a part of a function that has call frame information of its own, begin at
 * @vaddr?
 */
bool function_starts_has(const struct function_starts *s, uint64_t vaddr);

#endif
