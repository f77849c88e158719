/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the names of addresses in one ELF file. They come from the file's .symtab and .dynsym, from
 * its mini debug information (.gnu_debugdata), or from a separate debug file. Each file is read
 * once, and may be hostile. An address gets the name of a symbol only if the symbol covers that
 * address. If no symbol covers the address, the nearest symbol before it doesn't count.
 */
#ifndef SYMBOL_ELF_ELF_NAMES_H
#define SYMBOL_ELF_ELF_NAMES_H

#include "elf/elf_file.h"
#include "symbol/demangle/demangle.h"

struct elf_names;

struct elf_name {
	/*
	 * the symbol's name as the file has it (mangled); valid as long as the struct elf_names is
	 */
	const char *name;
	uint64_t start, size; /* vaddr and size of the symbol; size 0: not known */
};

/* The addresses of a function (vaddr), from the file's unwind information. */
struct elf_range {
	uint64_t start, end; /* addresses of the function (vaddr); end exclusive */
};

/*
 * Reads the names in an ELF file. @fd: the file, borrowed during the call. @path: its path below
 * @root, which is a descriptor of the target's own root directory (-1: not known). If the file has
 * no .symtab, krait looks for a separate debug file below @root, then in krait's own
 * /usr/lib/debug. If there is no such debug file, the mini debug information is used. 0; -errno
 * with a message. A file without symbols isn't an error: *@ret then has no names.
 */
_must_use_ int elf_names_open(int fd, const char *path, int root, struct elf_names **ret);
void elf_names_free(struct elf_names *n); /* @n may be NULL */

/*
 * Finds the symbol that covers @vaddr; false: no symbol covers @vaddr. If several symbols cover
 * @vaddr, finds the innermost symbol, which starts last. Of symbols with the same start, it finds
 * the first in this order: symbols with a size before symbols without, FUNC before NOTYPE, global
 * before weak before local, fewest leading underscores, shortest name, first in the alphabet. A
 * symbol without a size covers its own address. If
 * @function (may be NULL: not known) holds both the symbol and @vaddr, and no other symbol is
 * between the two, the symbol also covers @vaddr.
 */
bool elf_names_find(const struct elf_names *n, uint64_t vaddr, const struct elf_range *function,
		    struct elf_name *ret);

/*
 * Returns why debug files that were found weren't used; NULL: no debug file was refused. With -v
 * the reasons are also logged.
 */
const char *elf_names_refused(const struct elf_names *n);

size_t elf_names_bytes(const struct elf_names *n); /* Returns the memory that @n holds, in bytes. */
size_t elf_names_count(const struct elf_names *n); /* Returns the number of symbols. */

#endif
