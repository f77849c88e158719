/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds symbols and relocations: which address a name has, and what the loader writes where. */
#include <elf.h>
#include "base/work/slice.h"
#include "elf/elf_sections.h"

/* how many entries of a table are looked at between two calls of slice_spend() */
#define LOOK_APART 4096

/*
 * Is section @i a string table? The string table that was found last is kept in f->strings, because
 * this function is called for each relocation, and a file may have 30,000 relocations with the same
 * string table.
 */
static bool are_strings(struct elf_file *f, size_t i)
{
	GElf_Shdr sh;

	if (i != f->strings && elf_reads_strings(f, i, SECTION_MAX_BYTES) &&
	    gelf_getshdr(elf_getscn(f->elf, i), &sh) && slice_spend(sh.sh_size * WORK_BYTE) &&
	    slice_hold(sh.sh_size) && elf_fetch_section(f->fd, &sh))
		f->strings = i;
	return i && i == f->strings;
}

int elf_file_symbol_table(struct elf_file *f, bool dynamic, elf_symbol_fn *fn, void *arg)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_next_section(f, NULL, dynamic ? SHT_DYNSYM : SHT_SYMTAB, &sh);
	Elf_Data *data = scn ? elf_section_data(f, scn, &sh) : NULL;
	GElf_Sym sym;

	if (data && !are_strings(f, sh.sh_link))
		return 0;

	for (int i = 1; data && gelf_getsym(data, i, &sym); i++) {
		struct elf_symbol s = {sym.st_value, sym.st_size, GELF_ST_TYPE(sym.st_info),
				       GELF_ST_BIND(sym.st_info)};
		const char *name;
		int r;

		if (i % LOOK_APART == 0 && !slice_spend(LOOK_APART * WORK_SYMBOL))
			return 0;
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
	size_t n, found;
};

static bool is_filled(const struct elf_symbol *sym)
{
	static const struct elf_symbol none;

	return memcmp(sym, &none, sizeof(none)) != 0;
}

static int find_one(const char *name, const struct elf_symbol *sym, void *arg)
{
	struct find *find = arg;

	for (size_t i = 0; i < find->n; i++) {
		if (name[0] != find->names[i][0] || !streq(name, find->names[i]))
			continue;
		if (is_filled(&find->ret[i]))
			continue;
		find->ret[i] = *sym;
		find->found += is_filled(sym);
	}
	return find->found == find->n;
}

size_t elf_file_find_in(struct elf_file *f, bool dynamic, const char *const *names,
			struct elf_symbol *ret, size_t n)
{
	struct find find = {names, ret, n, 0};

	for (size_t i = 0; i < n; i++)
		find.found += is_filled(&ret[i]);
	if (dynamic && find.found < n && elf_hash_find(f, names, ret, n)) {
		for (size_t i = find.found = 0; i < n; i++)
			find.found += is_filled(&ret[i]);
		return find.found;
	}
	if (find.found < n)
		elf_file_symbol_table(f, dynamic, find_one, &find);
	return find.found;
}

size_t elf_file_find(struct elf_file *f, const char *const *names, struct elf_symbol *ret, size_t n)
{
	memset(ret, 0, n * sizeof(*ret));
	elf_file_find_in(f, true, names, ret, n);
	return elf_file_find_in(f, false, names, ret, n);
}

bool elf_file_symbol(struct elf_file *f, const char *name, struct elf_symbol *ret)
{
	return elf_file_find(f, &name, ret, 1) == 1;
}

/*
 * Gets the name and value of symbol @i in section @table, the symbol table of a relocation section.
 */
static void reloc_symbol(struct elf_file *f, size_t table, size_t i, struct elf_reloc *ret)
{
	Elf_Scn *scn = i ? elf_getscn(f->elf, table) : NULL;
	Elf_Data *data;
	GElf_Shdr sh;
	GElf_Sym sym;

	if (!scn || !gelf_getshdr(scn, &sh) ||
	    (sh.sh_type != SHT_DYNSYM && sh.sh_type != SHT_SYMTAB))
		return;
	data = elf_section_data(f, scn, &sh);
	if (!data || i > INT32_MAX || !gelf_getsym(data, (int)i, &sym) ||
	    !are_strings(f, sh.sh_link))
		return;
	ret->symbol = elf_strptr(f->elf, sh.sh_link, sym.st_name);
	ret->symbol_value = sym.st_shndx == SHN_UNDEF ? 0 : sym.st_value;
}

static int compare_refs(const void *a, const void *b)
{
	const struct elf_reloc_ref *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static int add_refs(struct elf_file *f, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_section_data(f, scn, sh);
	GElf_Rela rela;
	int r = 0;

	for (int i = 0; data && !r && gelf_getrela(data, i, &rela); i++) {
		struct elf_reloc_ref ref = {rela.r_offset, (uint32_t)elf_ndxscn(scn), (uint32_t)i};

		if (i % LOOK_APART == 0 && !slice_spend(LOOK_APART * WORK_SYMBOL))
			return -E2BIG;
		r = f->relocs.n < RELOCS_MAX ? vec_push(&f->relocs, ref) : -E2BIG;
	}
	return r;
}

/*
 * Sorts the relocations by address. If there are too many of them, or memory or the thread's slice
 * of work (base/work/slice.h) runs out, some or all relocations are left out.
 */
static void sort_relocs(struct elf_file *f)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	f->relocs_sorted = true;
	while ((scn = elf_next_section(f, scn, SHT_RELA, &sh))) {
		if ((sh.sh_flags & SHF_ALLOC) && add_refs(f, scn, &sh) < 0)
			break;
	}
	if (!slice_spend(f->relocs.n * WORK_SORT))
		f->relocs.n = 0;
	if (f->relocs.n)
		qsort(f->relocs.v, f->relocs.n, sizeof(*f->relocs.v), compare_refs);
}

static bool reloc_at(struct elf_file *f, const struct elf_reloc_ref *ref, struct elf_reloc *ret)
{
	Elf_Scn *scn = elf_getscn(f->elf, ref->section);
	Elf_Data *data;
	GElf_Shdr sh;
	GElf_Rela rela;

	if (!scn || !gelf_getshdr(scn, &sh))
		return false;
	data = elf_section_data(f, scn, &sh);
	if (!data || !gelf_getrela(data, (int)ref->index, &rela))
		return false;
	*ret = (struct elf_reloc){ref->vaddr, rela.r_addend, (uint32_t)GELF_R_TYPE(rela.r_info),
				  NULL, 0};
	reloc_symbol(f, sh.sh_link, GELF_R_SYM(rela.r_info), ret);
	return true;
}

bool elf_file_reloc(struct elf_file *f, uint64_t vaddr, struct elf_reloc *ret)
{
	struct elf_reloc_ref key = {.vaddr = vaddr}, *ref;

	if (!f->relocs_sorted)
		sort_relocs(f);
	if (!f->relocs.n)
		return false;
	ref = bsearch(&key, f->relocs.v, f->relocs.n, sizeof(key), compare_refs);
	return ref && reloc_at(f, ref, ret);
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
