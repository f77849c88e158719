/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the dynamic section of an ELF file; see elf_dynamic.h. */
#include "elf/elf_dynamic.h"

#include <elf.h>

#include "check.h"
#include "elf/elf_sections.h"
#include "records.h"

static bool needs_python(struct elf_file *f)
{
	const char *name;

	for (size_t i = 0; (name = elf_file_needed(f, i)); i++)
		if (str_starts(name, "libpython"))
			return true;
	return false;
}

static void read_loader(struct elf_file *f, struct elf_dynamic *ret)
{
	struct elf_section s;

	if (!elf_file_section(f, ".interp", &s) || s.size > sizeof(ret->loader) ||
	    elf_file_read(f, s.vaddr, ret->loader, s.size) != s.size)
		ret->loader[0] = '\0';
	ret->loader[sizeof(ret->loader) - 1] = '\0';
}

void elf_file_dynamic(struct elf_file *f, struct elf_dynamic *ret)
{
	struct elf_section s;

	*ret = (struct elf_dynamic){};
	read_loader(f, ret);
	if (!elf_file_section(f, ".dynamic", &s) || !s.vaddr)
		return;
	ret->vaddr = s.vaddr;
	ret->linked = elf_file_needed(f, 0) != NULL;
	ret->needs_python = needs_python(f);
	for (size_t i = 0; i < DYNAMIC_MAX; i++) {
		uint64_t entry[2];

		if (elf_file_read(f, s.vaddr + 16 * i, entry, sizeof(entry)) != sizeof(entry))
			return;
		if (i < ABI_DYNAMIC_ENTRIES)
			ret->check = check_dynamic(ret->check, entry[0], entry[1]);
		if (entry[0] == DT_DEBUG)
			ret->debug_slot = s.vaddr + 16 * i + 8;
		if (entry[0] == DT_NULL && i >= ABI_DYNAMIC_ENTRIES)
			return;
	}
}
