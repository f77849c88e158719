/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds exported symbols by name, through the table that the dynamic linker uses (.gnu.hash; GNU
 * binutils, bfd/elflink.c). A search takes some reads of a few bytes each, however large the file's
 * tables are. If the table is wrong, the dynamic linker doesn't find the symbols either.
 */
#include <elf.h>

#include "elf/elf_sections.h"

#define NAME_BYTES 128 /* the most bytes of a symbol name that can be searched for */
/* the most symbols of one bucket that are looked at; linkers make two or three */
#define CHAIN_MAX 1024

struct hash_table {
	const struct elf_file *f;
	/* the four words at the beginning of .gnu.hash, in this order */
	uint32_t buckets, first, words, shift;
	uint64_t bloom_off, bucket_off, chain_off, end_off;
	GElf_Shdr symbols, names;
};

static bool read_at(const struct elf_file *f, uint64_t offset, void *buf, size_t n)
{
	return elf_read_at(f, offset, buf, n) == n;
}

static bool linked_section(struct elf_file *f, size_t i, uint32_t type, GElf_Shdr *ret)
{
	Elf_Scn *scn = elf_getscn(f->elf, i);

	return scn && gelf_getshdr(scn, ret) && ret->sh_type == type &&
	       !(ret->sh_flags & SHF_COMPRESSED);
}

static bool open_table(struct elf_file *f, struct hash_table *t)
{
	uint32_t head[4];
	GElf_Shdr sh;

	if (!elf_next_section(f, NULL, SHT_GNU_HASH, &sh) || (sh.sh_flags & SHF_COMPRESSED) ||
	    !linked_section(f, sh.sh_link, SHT_DYNSYM, &t->symbols) ||
	    !linked_section(f, t->symbols.sh_link, SHT_STRTAB, &t->names) ||
	    !read_at(f, sh.sh_offset, head, sizeof(head)))
		return false;
	t->f = f;
	t->buckets = head[0];
	t->first = head[1];
	t->words = head[2];
	t->shift = head[3] % 32; /* of a 32-bit hash */
	t->bloom_off = sh.sh_offset + sizeof(head);
	t->bucket_off = t->bloom_off + (uint64_t)t->words * sizeof(uint64_t);
	t->chain_off = t->bucket_off + (uint64_t)t->buckets * sizeof(uint32_t);
	t->end_off = sh.sh_offset + sh.sh_size;
	return t->buckets && t->words && !(t->words & (t->words - 1)) && t->chain_off <= t->end_off;
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (const char *p = name; *p; p++)
		h = h * 33 + (uint8_t)*p;
	return h;
}

/* Returns false if the bloom filter of .gnu.hash says that no symbol has the hash @h. */
static bool may_have(const struct hash_table *t, uint32_t h)
{
	uint64_t word, bits = 1ull << h % 64 | 1ull << (h >> t->shift) % 64;

	return read_at(t->f, t->bloom_off + (h / 64 & (t->words - 1)) * sizeof(word), &word,
		       sizeof(word)) &&
	       (word & bits) == bits;
}

static bool is_called(const struct hash_table *t, const Elf64_Sym *sym, const char *name, size_t n)
{
	char there[NAME_BYTES + 1];

	return sym->st_name < t->names.sh_size && n + 1 <= t->names.sh_size - sym->st_name &&
	       read_at(t->f, t->names.sh_offset + sym->st_name, there, n + 1) &&
	       !memcmp(there, name, n + 1);
}

static bool is_symbol(const struct hash_table *t, uint32_t i, const char *name, size_t n,
		      struct elf_symbol *ret)
{
	Elf64_Sym sym;

	if (i >= t->symbols.sh_size / sizeof(sym) ||
	    !read_at(t->f, t->symbols.sh_offset + (uint64_t)i * sizeof(sym), &sym, sizeof(sym)) ||
	    sym.st_shndx == SHN_UNDEF || !is_called(t, &sym, name, n))
		return false;
	*ret = (struct elf_symbol){sym.st_value, sym.st_size, ELF64_ST_TYPE(sym.st_info),
				   ELF64_ST_BIND(sym.st_info)};
	return true;
}

static void find_one(const struct hash_table *t, const char *name, struct elf_symbol *ret)
{
	uint32_t h = hash_of(name), i, hash = 0;
	size_t n = strlen(name);

	if (n > NAME_BYTES || !may_have(t, h) ||
	    !read_at(t->f, t->bucket_off + h % t->buckets * sizeof(i), &i, sizeof(i)) ||
	    i < t->first)
		return;
	for (unsigned steps = 0; steps < CHAIN_MAX && !(hash & 1); steps++, i++) {
		uint64_t at = t->chain_off + (uint64_t)(i - t->first) * sizeof(hash);

		if (at >= t->end_off || !read_at(t->f, at, &hash, sizeof(hash)) ||
		    ((hash | 1) == (h | 1) && is_symbol(t, i, name, n, ret)))
			return;
	}
}

bool elf_hash_find(struct elf_file *f, const char *const *names, struct elf_symbol *ret, size_t n)
{
	static const struct elf_symbol none;
	struct hash_table t;

	if (!open_table(f, &t))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!memcmp(&ret[i], &none, sizeof(none)))
			find_one(&t, names[i], &ret[i]);
	return true;
}
