/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of src/elf share: the open file, and sections whose claims were checked. */
#ifndef ELF_INTERNAL_H
#define ELF_INTERNAL_H

#include <gelf.h>
#include "base/vec.h"
#include "elf/elf_file.h"

/* No real table is larger (Chromium's .symtab with debug symbols: 200 MiB). */
#define SECTION_MAX_BYTES (512ull << 20)
#define RELOCS_MAX	  (4u << 20) /* 64 MiB of references; libpython has 40,000 */

/* Where a relocation record stands. */
struct elf_reloc_ref {
	uint64_t vaddr;
	uint32_t section, index;
};

struct elf_file {
	int fd; /* borrowed */
	char *name;
	Elf *elf;
	enum elf_machine machine;
	bool is_exec;
	size_t shstrndx;
	VEC(struct elf_load) loads;
	VEC(struct elf_reloc_ref) relocs; /* by vaddr; empty until relocs_sorted */
	bool is_program, relocs_sorted;
};

/* First section of @type at or after @scn's successor (NULL: from the start), with its header. */
Elf_Scn *elf_next_section(struct elf_file *f, Elf_Scn *scn, uint32_t type, GElf_Shdr *sh);

/* First section called @name, with its header, or NULL. */
Elf_Scn *elf_named_section(struct elf_file *f, const char *name, GElf_Shdr *sh);

/* Its bytes, NULL if they are missing, broken or absurdly large. Owned by the file. */
Elf_Data *elf_section_data(Elf_Scn *scn, const GElf_Shdr *sh);

/* The program header of .eh_frame_hdr; false if there is none. */
bool elf_eh_frame_hdr(struct elf_file *f, GElf_Phdr *ret);

#endif
