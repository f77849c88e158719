/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of addresses in one ELF file: .symtab and .dynsym, mini debug information (.gnu_debugdata),
 * a separate debug file. Read once per file; hostile input. Only a symbol that really covers the
 * address names it, never the nearest one across a gap.
 */
#ifndef SYMBOL_ELF_NAMES_H
#define SYMBOL_ELF_NAMES_H

#include "elf/elf_file.h"
#include "symbol/elf/demangle.h"

struct elf_names;

struct elf_name {
	const char *name;     /* as in the file (mangled); valid as long as the elf_names */
	uint64_t start, size; /* of the symbol, vaddr; size 0 = not known */
};

/* Addresses in the file that are known to be one function, from its unwind information. */
struct elf_range {
	uint64_t start, end; /* vaddr, end exclusive */
};

/*
 * @fd is the ELF file (borrowed during the call), which has @path below @root, a descriptor of the
 * target's own root (-1: not known). If it has no .symtab a separate debug file is looked for there,
 * then in krait's own /usr/lib/debug; without one its mini debug information is used. 0; -errno with a message. A file without symbols has none: that is no error.
 */
_must_use_ int elf_names_open(int fd, const char *path, int root, struct elf_names **ret);
void elf_names_free(struct elf_names *n); /* NULL is fine */

/*
 * The symbol that covers @vaddr: false if none does. Of several the innermost: the one that starts
 * last. At one start: with a size before without, FUNC before NOTYPE, global before weak before
 * local, then the fewest leading underscores, the shortest, the first in the alphabet.
 * A symbol without a size covers its own address and, if nothing else is in between, the rest of
 * the @function (may be NULL: not known) in which both lie.
 */
bool elf_names_find(const struct elf_names *n, uint64_t vaddr, const struct elf_range *function,
		    struct elf_name *ret);

/* Why debug files that were there weren't used, or NULL. Was also logged, with -v. */
const char *elf_names_refused(const struct elf_names *n);

size_t elf_names_bytes(const struct elf_names *n); /* memory held */
size_t elf_names_count(const struct elf_names *n); /* symbols */

#endif
