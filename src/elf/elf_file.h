/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads what the profiler needs of an ELF file: identity, segments, symbols, relocations, initial
 * data. Only src/elf and src/unwind include libelf. Files come from target processes and may change
 * while they are read: they are never mapped, because access to a mapping of a truncated file
 * raises SIGBUS, and every offset is checked. Only 64-bit little-endian files of x86-64 and AArch64
 * are accepted. If the thread has a slice (base/work/slice.h), tables are read only as far as the
 * slice allows.
 */
#ifndef ELF_ELF_FILE_H
#define ELF_ELF_FILE_H

#include <sys/types.h>
#include "base/util.h"
#include "base/cleanup.h"

struct elf_file;

/* the most bytes of a build id; GNU ld writes 20, other linkers 8 to 32 */
#define ELF_BUILD_ID_MAX 64

/* Values of e_machine: the CPU that an ELF file is for. */
enum elf_machine { ELF_X86_64 = 62, ELF_AARCH64 = 183 };

/* One loadable segment (PT_LOAD), as the file describes it. */
struct elf_load {
	uint64_t vaddr, offset, filesz, memsz;
	bool exec, write;
};

struct elf_section {
	uint64_t vaddr, size, offset;
	bool nobits; /* whether the section is SHT_NOBITS, which has no bytes in the file */
};

/*
 * A symbol that the file defines. Symbols of section index 0 (SHN_UNDEF) are left out; symbols of
 * SHN_ABS are kept (BOLT makes _PyRuntime absolute).
 */
struct elf_symbol {
	uint64_t value, size;
	/* the symbol's type, STT_*: 0 NOTYPE, 1 OBJECT, 2 FUNC, 6 TLS, 10 GNU_IFUNC */
	uint8_t type;
	uint8_t bind; /* the symbol's binding, STB_*: 0 LOCAL, 1 GLOBAL, 2 WEAK */
};

/*
 * A relocation record. .symbol is the name of the symbol that it refers to (valid until
 * elf_file_free()), or NULL.
 */
struct elf_reloc {
	uint64_t vaddr;
	int64_t addend;
	uint32_t type; /* type of the relocation: R_X86_64_*, R_AARCH64_* */
	const char *symbol;
	uint64_t symbol_value; /* st_value of the symbol; 0: this file doesn't define the symbol */
};

/*
 * Opens the ELF file @fd, which is borrowed: it must stay open until elf_file_free(), and is read
 * with pread(). @name is for messages, and is copied. -ENOEXEC with a message: the file isn't an
 * ELF file that krait can read.
 */
_must_use_ int elf_file_open(int fd, const char *name, struct elf_file **ret);
void elf_file_free(struct elf_file *f); /* @f may be NULL */

static inline void elf_file_freep(struct elf_file **f)
{
	elf_file_free(*f);
}
#define _cleanup_elf_ _cleanup_(elf_file_freep)

const char *elf_file_name(const struct elf_file *f);
enum elf_machine elf_file_machine(const struct elf_file *f);
/*
 * Tells whether the file is ET_EXEC, and so is loaded at the addresses that its program headers
 * name.
 */
bool elf_file_is_exec(const struct elf_file *f);

/* Gets the PT_LOADs of the file in *@ret (valid until elf_file_free()). Returns their number. */
size_t elf_file_loads(const struct elf_file *f, const struct elf_load **ret);

/*
 * Is the file a program, not a library? A program asks for a dynamic loader (PT_INTERP) or is
 * ET_EXEC.
 */
bool elf_file_is_program(const struct elf_file *f);

/* Returns the executable PT_LOAD with the lowest p_vaddr, or NULL. */
const struct elf_load *elf_file_text(const struct elf_file *f);

/* Gets the p_vaddr of elf_file_text(). False: the file has no executable PT_LOAD. */
bool elf_file_text_start(const struct elf_file *f, uint64_t *ret);

/*
 * Gets the GNU build id, from PT_NOTE segments or, if these have no build id, from the note
 * sections. Returns its number of bytes, 0 = none.
 */
size_t elf_file_build_id(struct elf_file *f, uint8_t id[static ELF_BUILD_ID_MAX]);

/*
 * Reads @n bytes of memory at @vaddr as they are at the program's start: bytes of the file, and
 * zeros between p_filesz and p_memsz. Relocations aren't applied. Returns how many bytes were read:
 * fewer than @n if the segment or the file ends before @vaddr + @n, 0 if no segment has @vaddr.
 */
size_t elf_file_read(const struct elf_file *f, uint64_t vaddr, void *buf, size_t n);

/* Does what elf_file_read() does, but returns 0 for memory that the process may write. */
size_t elf_file_read_constant(const struct elf_file *f, uint64_t vaddr, void *buf, size_t n);

/* Reads the u64 at @vaddr. False: not all its 8 bytes can be read. */
bool elf_file_read_u64(const struct elf_file *f, uint64_t vaddr, uint64_t *ret);

/*
 * Gets the offset in the file of the byte that is loaded at @vaddr; false if no byte of the file is
 * loaded there.
 */
bool elf_file_offset(const struct elf_file *f, uint64_t vaddr, uint64_t *ret);

/* Finds the section called @name. False: the file has no such section, or no section headers. */
bool elf_file_section(struct elf_file *f, const char *name, struct elf_section *ret);

/*
 * Calls @fn for all symbols that are defined in the file, .dynsym first, then .symtab. @fn's @name
 * is never NULL, but may be "". If @fn returns something else than 0, stops and returns that.
 */
typedef int elf_symbol_fn(const char *name, const struct elf_symbol *sym, void *arg);
int elf_file_symbols(struct elf_file *f, elf_symbol_fn *fn, void *arg);

/* Does what elf_file_symbols() does, but only for .dynsym (@dynamic) or only for .symtab. */
int elf_file_symbol_table(struct elf_file *f, bool dynamic, elf_symbol_fn *fn, void *arg);

/*
 * Finds the symbol whose name is exactly @name, first in .dynsym, then in .symtab. False: there is
 * no such symbol.
 */
bool elf_file_symbol(struct elf_file *f, const char *name, struct elf_symbol *ret);

/*
 * Finds many symbols at once: ret[i] is the symbol @names[i], all zero if there is none. .dynsym is
 * searched first; .symtab is read only if a name isn't in .dynsym. Returns how many were found.
 */
size_t elf_file_find(struct elf_file *f, const char *const *names, struct elf_symbol *ret,
		     size_t n);

/*
 * Does what elf_file_find() does, but only in .dynsym (@dynamic) or only in .symtab. Fills only
 * those entries of ret[] that are all zero. A .symtab can have hundreds of megabytes, so it
 * shouldn't be searched without need.
 */
size_t elf_file_find_in(struct elf_file *f, bool dynamic, const char *const *names,
			struct elf_symbol *ret, size_t n);

/*
 * Gets the relocation that writes to @vaddr, from SHT_RELA tables that are loaded. False: no
 * relocation writes to @vaddr. The first call sorts all relocations.
 */
bool elf_file_reloc(struct elf_file *f, uint64_t vaddr, struct elf_reloc *ret);

/*
 * Gets the pointer that is in memory at @vaddr after the file was loaded at bias 0. The pointer is
 * a relative relocation's addend, or a symbol's value. Without such a relocation, or with a packed
 * relative relocation, it is what the file has at that place. False: the pointer can't be read, or
 * the symbol is in another file.
 */
bool elf_file_pointer(struct elf_file *f, uint64_t vaddr, uint64_t *ret);

/*
 * elf_file_needed() returns the string of DT_NEEDED number @i, elf_file_soname() that of DT_SONAME,
 * both cut off at 255 bytes. NULL: there is no such entry. The string is valid until the next call
 * of elf_file_needed(), elf_file_soname() or elf_file_runpath().
 */
const char *elf_file_needed(struct elf_file *f, size_t i);
const char *elf_file_soname(struct elf_file *f);

/*
 * Returns the string of DT_RUNPATH or DT_RPATH, as it is in the file; NULL: the file has neither
 * entry. The string is valid until the next call of this function, elf_file_needed() or
 * elf_file_soname().
 */
const char *elf_file_runpath(struct elf_file *f);

#endif
