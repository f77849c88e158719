/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The struct of an open ELF file, and functions that read its sections after checking what the
 * section headers claim. In src, only elf and unwind include this file.
 */
#ifndef ELF_ELF_SECTIONS_H
#define ELF_ELF_SECTIONS_H

#include <gelf.h>
#include "base/vec.h"
#include "elf/elf_file.h"
#include "elf/elf_reads.h"

/*
 * The most bytes of a section that is read. Real sections are smaller (Chromium's .symtab with
 * debug symbols has 200 MiB).
 */
#define SECTION_MAX_BYTES (512ull << 20)
/* the most bytes of all section names of a file; some thousand are usual */
#define NAMES_MAX_BYTES (16u << 20)
/* the most bytes of one section or segment of notes; some 100 bytes are usual */
#define NOTES_MAX_BYTES	   (1u << 20)
#define NOTES_MAX	   64	/* the most sections or segments with notes that are read */
#define DYNAMIC_MAX	   1024 /* the most entries of a dynamic section; libtorch has 60 */
#define DYNAMIC_NAME_BYTES 256	/* the name of a needed library is cut off at this many bytes */
/* the most sections of a file, because libelf keeps 200 bytes for each */
#define HEADERS_MAX (1u << 18)
/*
 * the most relocations of a file, which take 64 MiB of struct elf_reloc_ref; libpython has 40,000
 */
#define RELOCS_MAX (4u << 20)

/* The place of a relocation record in a file. */
struct elf_reloc_ref {
	uint64_t vaddr;
	uint32_t section, index;
};

struct elf_file {
	int fd; /* descriptor of the file: the caller's or, if there is a copy, .copy */
	/*
	 * descriptor of the copy (far_copy()) of a file on a file system that may not answer;
	 * negative: there is no copy
	 */
	int copy;
	char *name;
	Elf *elf;
	enum elf_machine machine;
	bool is_exec;
	size_t shstrndx;
	/* index of the section that was last found to be a string table, 0 = none */
	size_t strings;
	/*
	 * The sections for which pay_for() charged the thread's slice of work most recently. One
	 * relocation needs 3 sections.
	 */
	const Elf_Scn *paid[8];
	size_t n_paid; /* how many sections were ever put into .paid, which is a ring */
	VEC(struct elf_load) loads;
	/* relocation records in the order of vaddr; empty until .relocs_sorted is set */
	VEC(struct elf_reloc_ref) relocs;
	bool is_program, relocs_sorted;
	/* notes what is read of the file; borrowed; NULL: nothing is noted */
	struct elf_reads *reads;
	/*
	 * buffer for the string that elf_file_needed(), elf_file_soname() or elf_file_runpath()
	 * returned last
	 */
	char dynamic_name[DYNAMIC_NAME_BYTES];
};

/*
 * Reads as pread() does (in elf_reads.c), but returns fewer than @n bytes only if the file ends or
 * can't be read. All bytes of the file that libelf doesn't read are read by this function.
 */
size_t elf_read_at(const struct elf_file *f, uint64_t offset, void *buf, size_t n);
/*
 * Both note in @r what was read in another way than by elf_read_at(): the first notes bytes, the
 * second a whole section.
 */
void elf_reads_add(struct elf_reads *r, uint64_t offset, const void *bytes, uint64_t n);
void elf_reads_add_section(struct elf_reads *r, Elf_Scn *scn);

/*
 * Opens a file with libelf, unless it claims to have too many headers. (libelf allocates memory for
 * all headers that the file claims. A sparse file can claim any number.) NULL: it isn't ELF, claims
 * too many headers, or its headers can't be read.
 */
Elf *elf_open_bounded(int fd);

/*
 * Fetches the bytes of a section before libelf reads them, if the file is on a file system that may
 * not answer (base/system/far.h). False: the file system doesn't answer.
 */
bool elf_fetch_section(int fd, const GElf_Shdr *sh);

/*
 * May section @i be read as strings? elf_strptr() reads a section of any size into memory. If the
 * section doesn't end with a NUL, elf_strptr() searches for the end of a string in the memory
 * behind it.
 */
bool elf_is_string_table(Elf *elf, int fd, size_t i, size_t max_bytes);
/* Does what elf_is_string_table() does for section @i of @f, and notes the section as read. */
bool elf_reads_strings(struct elf_file *f, size_t i, size_t max_bytes);

/* Returns the next section of @type after @scn (NULL: the first one), and its header in *@sh. */
Elf_Scn *elf_next_section(struct elf_file *f, Elf_Scn *scn, uint32_t type, GElf_Shdr *sh);

/*
 * Returns the first section called @name, and its header in *@sh; NULL: there is no such section.
 */
Elf_Scn *elf_named_section(struct elf_file *f, const char *name, GElf_Shdr *sh);

/*
 * Returns the bytes of section @scn, whose header is @sh. NULL: the bytes are missing, broken,
 * absurdly many, or too many for the thread's slice (base/work/slice.h). @f owns the bytes.
 */
Elf_Data *elf_section_data(struct elf_file *f, Elf_Scn *scn, const GElf_Shdr *sh);

/*
 * Fills the entries of ret[] that are all zero with the exported symbols @names[], found by
 * .gnu.hash. False: the file has no .gnu.hash.
 */
bool elf_hash_find(struct elf_file *f, const char *const *names, struct elf_symbol *ret, size_t n);

/* Gets the program header of .eh_frame_hdr. False: the file has none. */
bool elf_eh_frame_hdr(struct elf_file *f, GElf_Phdr *ret);

#endif
