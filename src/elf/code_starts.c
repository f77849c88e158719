/* SPDX-License-Identifier: BSD-2-Clause */
/* Where functions begin; see code_starts.h. */
#include "elf/code_starts.h"

#include <elf.h>
#include "elf/internal.h"

struct starts {
	uint64_t base;
	const key_range_vec *within;
	key_vec *ret;
};

static int add(const struct starts *s, uint64_t vaddr)
{
	uint64_t key = vaddr - s->base;
	size_t i = count_upto(s->within->v, s->within->n, end, key);

	return i < s->within->n && s->within->v[i].start <= key ? vec_push(s->ret, (uint32_t)key)
								: 0;
}

/* Local symbols without a type are labels within functions. */
static bool is_function(const GElf_Sym *sym)
{
	uint8_t type = GELF_ST_TYPE(sym->st_info), bind = GELF_ST_BIND(sym->st_info);

	return sym->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC ||
					      (type == STT_NOTYPE && bind != STB_LOCAL));
}

static int add_symbols(struct starts *s, struct elf_file *f, uint32_t type)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_next_section(f, NULL, type, &sh);
	Elf_Data *data = scn ? elf_section_data(scn, &sh) : NULL;
	GElf_Sym sym;
	int r = 0;

	for (int i = 1; data && !r && gelf_getsym(data, i, &sym); i++)
		if (is_function(&sym))
			r = add(s, sym.st_value);
	return r;
}

/* Tables of functions (OpenBLAS's of each processor) hold their addresses. */
static int add_pointers(struct starts *s, struct elf_file *f)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int r = 0;

	while (!r && (scn = elf_next_section(f, scn, SHT_RELA, &sh))) {
		Elf_Data *data = (sh.sh_flags & SHF_ALLOC) ? elf_section_data(scn, &sh) : NULL;
		GElf_Rela rela;

		for (int i = 0; data && !r && gelf_getrela(data, i, &rela); i++)
			if (GELF_R_TYPE(rela.r_info) == R_X86_64_RELATIVE ||
			    GELF_R_TYPE(rela.r_info) == R_X86_64_IRELATIVE)
				r = add(s, (uint64_t)rela.r_addend);
	}
	return r;
}

static int add_sections(struct starts *s, struct elf_file *f)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int r = 0;

	while (!r && (scn = elf_next_section(f, scn, SHT_PROGBITS, &sh)))
		if (sh.sh_flags & SHF_EXECINSTR)
			r = add(s, sh.sh_addr);
	return r;
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void sort(key_vec *v)
{
	size_t n = 0;

	if (v->n)
		qsort(v->v, v->n, sizeof(*v->v), ascending);
	for (size_t i = 0; i < v->n; i++)
		if (!n || v->v[i] != v->v[n - 1])
			v->v[n++] = v->v[i];
	v->n = n;
}

int code_starts(struct elf_file *f, uint64_t base, const key_range_vec *within, key_vec *ret)
{
	struct starts s = {base, within, ret};
	int r = add_symbols(&s, f, SHT_DYNSYM);

	if (!r)
		r = add_symbols(&s, f, SHT_SYMTAB);
	if (!r)
		r = add_pointers(&s, f);
	if (!r)
		r = add_sections(&s, f);
	if (!r)
		sort(ret);
	return r;
}

int code_starts_list(const uint64_t *vaddrs, size_t n, uint64_t base, const key_range_vec *within,
		     key_vec *ret)
{
	struct starts s = {base, within, ret};
	int r = 0;

	for (size_t i = 0; !r && i < n; i++)
		r = add(&s, vaddrs[i]);
	if (!r)
		sort(ret);
	return r;
}

const uint32_t *key_vec_from(const key_vec *v, uint32_t key)
{
	size_t lo = 0, hi = v->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v->v[mid] < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return v->v + lo;
}

bool key_vec_has(const key_vec *v, uint32_t key)
{
	const uint32_t *at = key_vec_from(v, key);

	return v->n && at < v->v + v->n && *at == key;
}
