/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds where functions begin; see code_starts.h. */
#include "unwind/prove/code_starts.h"

#include <elf.h>
#include "elf/elf_sections.h"
#include "unwind/x86/x86_insn.h"

/* a function with more bytes isn't searched for calls */
#define CALLER_MOST	   (1u << 20)
#define CALLERS_MOST_TOTAL (128u << 20)

struct starts {
	uint64_t base;
	const key_range_vec *within;
	struct code_starts *ret;
};

bool key_range_vec_has(const key_range_vec *v, uint64_t key)
{
	size_t i = count_upto(v->v, v->n, end, key);

	return i < v->n && v->v[i].start <= key;
}

static bool is_within(const struct starts *s, uint64_t key)
{
	return key_range_vec_has(s->within, key);
}

static int add(const struct starts *s, key_vec *to, uint64_t vaddr)
{
	uint64_t key = vaddr - s->base;

	return is_within(s, key) ? vec_push(to, (uint32_t)key) : 0;
}

/*
 * Does a function begin at symbol @sym? Local symbols without a type are labels within functions. A
 * .cold symbol is the part of a function that GCC and clang put elsewhere. The stack at its
 * beginning isn't as at a function's start, but as within that function.
 */
static bool is_function(const char *name, const struct elf_symbol *sym)
{
	if (sym->bind == STB_LOCAL && strstr(name, ".cold"))
		return false;
	return sym->type == STT_FUNC || sym->type == STT_GNU_IFUNC ||
	       (sym->type == STT_NOTYPE && sym->bind != STB_LOCAL);
}

static int add_symbol(const char *name, const struct elf_symbol *sym, void *arg)
{
	const struct starts *s = arg;

	return is_function(name, sym) ? add(s, &s->ret->certain, sym->value) : 0;
}

/*
 * Adds as starts of functions the addresses that tables of functions have (OpenBLAS has a table for
 * each processor).
 */
static int add_pointers(struct starts *s, struct elf_file *f)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int r = 0;

	while (!r && (scn = elf_next_section(f, scn, SHT_RELA, &sh))) {
		Elf_Data *data = (sh.sh_flags & SHF_ALLOC) ? elf_section_data(f, scn, &sh) : NULL;
		GElf_Rela rela;

		for (int i = 0; data && !r && gelf_getrela(data, i, &rela); i++)
			if (GELF_R_TYPE(rela.r_info) == R_X86_64_RELATIVE ||
			    GELF_R_TYPE(rela.r_info) == R_X86_64_IRELATIVE)
				r = add(s, &s->ret->all, (uint64_t)rela.r_addend);
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
			r = add(s, &s->ret->all, sh.sh_addr);
	return r;
}

/*
 * Returns true if the @n bytes at @bytes may contain a call of, or a jump to, a function in the
 * ranges s->within. The search tries every byte as the beginning of an instruction, because that is
 * much faster than decoding.
 */
static bool may_call(const struct starts *s, uint32_t start, const uint8_t *bytes, uint32_t n)
{
	for (uint32_t at = 0; at + 5 <= n; at++) {
		int32_t by;

		/* only the opcodes call (e8) and jmp (e9) lead to another function */
		if ((bytes[at] & 0xfe) != 0xe8)
			continue;
		memcpy(&by, bytes + at + 1, sizeof(by));
		if (is_within(s, start + at + 5 + (uint64_t)by))
			return true;
	}
	return false;
}

/*
 * Adds as starts of functions the targets of the calls and jumps of the function at @start. Adds
 * nothing if one of the function's instructions can't be decoded.
 */
static int add_called(struct starts *s, uint32_t start, const uint8_t *bytes, uint32_t n)
{
	size_t jumped = s->ret->all.n, called = s->ret->certain.n;
	struct x86_insn insn;
	int r = 0;

	for (uint32_t at = 0; !r && at < n;) {
		if (!x86_decode(bytes + at, n - at, &insn)) {
			s->ret->all.n = jumped;
			s->ret->certain.n = called;
			return 0;
		}
		at += insn.len;
		if (insn.kind == X86_CALL || insn.kind == X86_JUMP)
			r = add(s, insn.kind == X86_CALL ? &s->ret->certain : &s->ret->all,
				s->base + start + at + (uint64_t)insn.imm);
	}
	return r;
}

static int add_calls(struct starts *s, struct elf_file *f, const struct unwind_rows *rows)
{
	_cleanup_free_ uint8_t *bytes = malloc(CALLER_MOST);
	uint32_t left = CALLERS_MOST_TOTAL;
	int r = bytes ? 0 : -ENOMEM;

	vec_foreach(fde, &rows->fdes) {
		uint32_t n = fde->end - fde->start;

		if (r || n > left)
			break;
		left -= n;
		if (n <= CALLER_MOST && elf_file_read(f, s->base + fde->start, bytes, n) == n &&
		    may_call(s, fde->start, bytes, n))
			r = add_called(s, fde->start, bytes, n);
	}
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

static int finish(struct code_starts *s)
{
	int r = 0;

	vec_foreach(key, &s->certain)
		if (!r)
			r = vec_push(&s->all, *key);
	sort(&s->all);
	sort(&s->certain);
	return r;
}

int code_starts(struct elf_file *f, const struct unwind_rows *rows, const key_range_vec *within,
		bool calls, struct code_starts *ret)
{
	struct starts s = {rows->base, within, ret};
	int r = elf_file_symbols(f, add_symbol, &s);

	if (!r)
		r = add_pointers(&s, f);
	if (!r)
		r = add_sections(&s, f);
	if (!r && calls)
		r = add_calls(&s, f, rows);
	return r ? r : finish(ret);
}

int code_starts_list(const uint64_t *vaddrs, size_t n, uint64_t base, const key_range_vec *within,
		     struct code_starts *ret)
{
	struct starts s = {base, within, ret};
	int r = 0;

	for (size_t i = 0; !r && i < n; i++)
		r = add(&s, &ret->certain, vaddrs[i]);
	return r ? r : finish(ret);
}

int code_starts_add(struct code_starts *s, key_vec *keys)
{
	size_t n = 0;
	int r = 0;

	sort(keys);
	for (size_t i = 0; i < keys->n; i++)
		if (!key_vec_has(&s->certain, keys->v[i]))
			keys->v[n++] = keys->v[i];
	keys->n = n;
	for (size_t i = 0; !r && i < n; i++)
		r = vec_push(&s->certain, keys->v[i]);
	return r ? r : finish(s);
}

void code_starts_fini(struct code_starts *s)
{
	vec_fini(&s->all);
	vec_fini(&s->certain);
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
