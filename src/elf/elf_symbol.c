/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols and relocations: names to addresses, and what the loader writes where. */
#include <elf.h>
#include "elf/internal.h"

int elf_file_symbol_table(struct elf_file *f, bool dynamic, elf_symbol_fn *fn, void *arg)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_next_section(f, NULL, dynamic ? SHT_DYNSYM : SHT_SYMTAB, &sh);
	Elf_Data *data = scn ? elf_section_data(scn, &sh) : NULL;
	GElf_Sym sym;

	for (int i = 1; data && gelf_getsym(data, i, &sym); i++) {
		struct elf_symbol s = { sym.st_value, sym.st_size, GELF_ST_TYPE(sym.st_info),
					GELF_ST_BIND(sym.st_info) };
		const char *name;
		int r;

		if (sym.st_shndx == SHN_UNDEF || s.type == STT_SECTION || s.type == STT_FILE)
			continue;
		name = elf_strptr(f->elf, sh.sh_link, sym.st_name);
		r = fn(name ? name : "", &s, arg);
		if (r)
			return r;
	}
	return 0;
}

int elf_file_symbols(struct elf_file *f, elf_symbol_fn *fn, void *arg)
{
	int r = elf_file_symbol_table(f, true, fn, arg);

	return r ? r : elf_file_symbol_table(f, false, fn, arg);
}

struct find {
	const char *const *names;
	struct elf_symbol *ret;
	bool *have;
	size_t n, found;
};

static int find_one(const char *name, const struct elf_symbol *sym, void *arg)
{
	struct find *find = arg;

	for (size_t i = 0; i < find->n; i++) {
		if (find->have[i] || name[0] != find->names[i][0] || !streq(name, find->names[i]))
			continue;
		find->ret[i] = *sym;
		find->have[i] = true;
		find->found++;
	}
	return find->found == find->n;
}

size_t elf_file_find(struct elf_file *f, const char *const *names, struct elf_symbol *ret, size_t n)
{
	_cleanup_free_ bool *have = calloc(n ? n : 1, sizeof(*have));
	struct find find = { names, ret, have, n, 0 };

	memset(ret, 0, n * sizeof(*ret));
	if (!have)
		return 0;
	elf_file_symbols(f, find_one, &find);
	return find.found;
}

bool elf_file_symbol(struct elf_file *f, const char *name, struct elf_symbol *ret)
{
	return elf_file_find(f, &name, ret, 1) == 1;
}

/* Name and value of symbol @i in the table that a relocation section links to. */
static void reloc_symbol(struct elf_file *f, size_t table, size_t i, struct elf_reloc *ret)
{
	Elf_Scn *scn = i ? elf_getscn(f->elf, table) : NULL;
	Elf_Data *data;
	GElf_Shdr sh;
	GElf_Sym sym;

	if (!scn || !gelf_getshdr(scn, &sh) || (sh.sh_type != SHT_DYNSYM && sh.sh_type != SHT_SYMTAB))
		return;
	data = elf_section_data(scn, &sh);
	if (!data || i > INT32_MAX || !gelf_getsym(data, (int)i, &sym))
		return;
	ret->symbol = elf_strptr(f->elf, sh.sh_link, sym.st_name);
	ret->symbol_value = sym.st_shndx == SHN_UNDEF ? 0 : sym.st_value;
}

bool elf_file_reloc(struct elf_file *f, uint64_t vaddr, struct elf_reloc *ret)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_next_section(f, scn, SHT_RELA, &sh))) {
		Elf_Data *data = sh.sh_flags & SHF_ALLOC ? elf_section_data(scn, &sh) : NULL;
		GElf_Rela rela;

		for (int i = 0; data && gelf_getrela(data, i, &rela); i++) {
			if (rela.r_offset != vaddr)
				continue;
			*ret = (struct elf_reloc){ vaddr, rela.r_addend,
						   (uint32_t)GELF_R_TYPE(rela.r_info), NULL, 0 };
			reloc_symbol(f, sh.sh_link, GELF_R_SYM(rela.r_info), ret);
			return true;
		}
	}
	return false;
}

bool elf_file_pointer(struct elf_file *f, uint64_t vaddr, uint64_t *ret)
{
	struct elf_reloc reloc;

	if (!elf_file_reloc(f, vaddr, &reloc))
		return elf_file_read_u64(f, vaddr, ret);
	switch (reloc.type) {
	case R_X86_64_RELATIVE:
	case R_AARCH64_RELATIVE:
		*ret = (uint64_t)reloc.addend;
		return true;
	case R_X86_64_64:
	case R_X86_64_GLOB_DAT:
	case R_AARCH64_ABS64:
	case R_AARCH64_GLOB_DAT:
		*ret = reloc.symbol_value + (uint64_t)reloc.addend;
		return reloc.symbol_value != 0;
	default:
		return false;
	}
}
