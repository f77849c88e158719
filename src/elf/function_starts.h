/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where functions begin, by the search table of .eh_frame_hdr: that is in stripped files too, and it
 * is read without the call frame information that it leads to.
 */
#ifndef ELF_FUNCTION_STARTS_H
#define ELF_FUNCTION_STARTS_H

#include "base/vec.h"
#include "elf/elf_file.h"

struct function_starts {
	VEC(uint64_t) vaddrs; /* ascending */
};

/*
 * Reads the table, at most 8 MiB of it for a time. 0, with nothing in *@ret where there is no table in
 * the form that linkers write; -ENOMEM. function_starts_fini() in every case.
 */
_must_use_ int function_starts_read(struct elf_file *f, struct function_starts *ret);
void function_starts_fini(struct function_starts *s);
#define _cleanup_function_starts_ _cleanup_(function_starts_fini)

/* Does a function, or a part of one with rows of its own, begin at @vaddr? */
bool function_starts_has(const struct function_starts *s, uint64_t vaddr);

#endif
