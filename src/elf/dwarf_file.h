/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines and inlined functions by DWARF (2 to 5, what libdw reads). The only file that includes
 * libdw. Everything is read into memory, nothing is mapped (a truncated mapping raises SIGBUS), and
 * indexed when first asked for: by unit, and in a unit by function. Hostile: bounded in depth and
 * number; libdw itself is fuzzed upstream, which is why this runs only where somebody asks for it.
 */
#ifndef ELF_DWARF_FILE_H
#define ELF_DWARF_FILE_H

#include "elf/elf_file.h"

#define DWARF_BYTES_MAX (1ull << 30) /* of all debug sections, unpacked */
#define DWARF_LINES_MAX                                                                            \
	(2ull << 20) /* of one unit's line program; SQLite's, in one unit, has 400 KB */
#define DWARF_LINES_ALL (8ull << 20) /* of all that are run of a file */
#define DWARF_DEPTH_MAX 128	     /* of inlining, and of scopes in scopes */

struct dwarf_file;

/* One function at an address: the innermost has the line that runs, the others that of the call. */
struct dwarf_call {
	const char *function; /* linkage name, else plain; NULL: not known. As long as the file */
	const char *file;     /* as the compiler was told, mostly absolute; NULL: not known */
	uint32_t line;	      /* 0: not known */
	bool inlined;	      /* into the next one */
};

/*
 * @fd is borrowed during the call. 0; -ENODATA: the file has no DWARF; -EFBIG: more than
 * DWARF_BYTES_MAX, or than the thread's slice has memory (base/slice.h); -errno; each with a message with @name.
 */
_must_use_ int dwarf_file_open(int fd, const char *name, struct dwarf_file **ret);
void dwarf_file_free(struct dwarf_file *d); /* NULL is fine */

/* Memory that it holds. */
size_t dwarf_file_bytes(const struct dwarf_file *d);

/* Build id of the file that dwz moved common parts to; 0: none. libdw would open any path itself. */
size_t dwarf_file_alt_id(const struct dwarf_file *d, uint8_t id[static ELF_BUILD_ID_MAX]);

/* That file, @fd borrowed. 0 or -errno with a message. */
_must_use_ int dwarf_file_set_alt(struct dwarf_file *d, int fd);

/* The functions at @vaddr, innermost first; their number, at most @max. 0: no unit covers it. */
size_t dwarf_file_find(struct dwarf_file *d, uint64_t vaddr, struct dwarf_call *ret, size_t max);

#endif
