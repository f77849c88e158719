/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds lines and inlined functions in DWARF (versions 2 to 5, those that libdw reads). Files are
 * read into memory and never mapped, because access to a mapping of a truncated file raises SIGBUS.
 * The DWARF is indexed when a line is first asked for: by unit, and in a unit by function. The
 * input may be hostile, so the depth and number of functions are bounded. libdw itself is fuzzed
 * upstream; it runs only if the user asks for DWARF.
 */
#ifndef ELF_DWARF_FILE_H
#define ELF_DWARF_FILE_H

#include "elf/elf_file.h"

/* the most bytes of all debug sections of a file together, unpacked */
#define DWARF_BYTES_MAX (1ull << 30)
/* the most bytes of one unit's line program (SQLite is one unit, whose line program has 400 KB) */
#define DWARF_LINES_MAX (2ull << 20)
/* the most bytes of all line programs of a file that libdw may run */
#define DWARF_LINES_ALL (8ull << 20)
/* how deeply nested inlined functions and scopes are followed at most */
#define DWARF_DEPTH_MAX 128

struct dwarf_file;

/*
 * One of the functions at an address. The innermost function has the line that runs; the functions
 * around it have the lines of the calls.
 */
struct dwarf_call {
	/*
	 * the function's linkage name, else its plain name; NULL: not known. The name lives as long
	 * as the struct dwarf_file.
	 */
	const char *function;
	/* the source file's path as the compiler was given it, mostly absolute; NULL: not known */
	const char *file;
	uint32_t line; /* line number in .file; 0: not known */
	/* this function's code was inlined into the function that follows in the list */
	bool inlined;
};

/*
 * Opens the DWARF of the file @fd, which is borrowed during the call. 0; -ENODATA: the file has no
 * DWARF; -EFBIG: the file has more DWARF than DWARF_BYTES_MAX, or than the thread's slice
 * (base/work/slice.h) has memory for; -errno. Each error has a message with @name.
 */
_must_use_ int dwarf_file_open(int fd, const char *name, struct dwarf_file **ret);
void dwarf_file_free(struct dwarf_file *d); /* @d may be NULL */

/* Returns how many bytes of memory @d holds. */
size_t dwarf_file_bytes(const struct dwarf_file *d);

/*
 * Gets the build id of the file to which dwz moved parts that several files have. Returns the
 * length of the id; 0: dwz moved nothing. The caller has to open the file that dwz made and give it
 * to dwarf_file_set_alt(). libdw would open whatever path is named.
 */
size_t dwarf_file_alt_id(const struct dwarf_file *d, uint8_t id[static ELF_BUILD_ID_MAX]);

/*
 * Sets @fd (borrowed) as the file to which dwz moved parts that several files have. 0 or -errno
 * with a message.
 */
_must_use_ int dwarf_file_set_alt(struct dwarf_file *d, int fd);

/*
 * Finds the functions whose code is at @vaddr, innermost first. Returns their number, at most @max;
 * 0: no unit covers @vaddr.
 */
size_t dwarf_file_find(struct dwarf_file *d, uint64_t vaddr, struct dwarf_call *ret, size_t max);

#endif
