/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads one ELF file that a process registered. LLVM (at least up to 21) registers a copy of the
 * relocatable file. In that copy, only the addresses of sections are those in memory, and symbols
 * are relative to their section. The .eh_frame in the copy isn't relocated. The loaded .eh_frame is
 * relocated before its code becomes executable. .eh_frame describes only functions that an
 * exception may pass through. krait computes the unwind rows of other functions from their
 * instructions (docs/decisions/0011).
 */
#include <elf.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cleanup.h"
#include "symbol/madecode/gdb_jit_reading.h"
#include "unwind/cfi/cfi.h"
#include "unwind/compile.h"
#include "unwind/prove/code_rows.h"

/* a file of gdb's list with at most this many bytes is read in one piece */
#define WHOLE_BYTES (64u << 10)

/* An entry of gdb's list, with the headers of its file that say where the code is. */
struct head {
	struct entry entry;
	Elf64_Ehdr elf;
	/* section headers of the file; NULL: krait doesn't understand the file */
	Elf64_Shdr *sections;
};

void jit_file_put(struct file *f)
{
	if (!f || --f->refs)
		return;
	vec_foreach(block, &f->names)
		free(*block);
	vec_fini(&f->names);
	vec_fini(&f->ranges);
	vec_fini(&f->functions);
	vec_fini(&f->spans);
	unwind_rows_fini(&f->rows);
	free(f);
}

uint64_t jit_hash(uint64_t h, const void *bytes, size_t n)
{
	return XXH3_64bits_withSeed(bytes, n, h);
}

/*
 * Reads memory for a file. All reads for a file call this function, which records the ranges that
 * were read and a hash over their contents.
 */
static int peek_file(struct reader *rd, uint64_t at, void *buf, size_t n)
{
	struct file *f = rd->file;
	int r = rd->peek(rd->arg, at, buf, n);

	if (r) {
		f->part = true;
		return r;
	}
	f->hash = jit_hash(f->hash, buf, n);
	r = vec_push(&f->ranges, (struct range){at, n});
	f->part |= r;
	return r;
}

/*
 * Charges the thread's slice of work (base/work/slice.h) for work on a file. If the slice is used
 * up, the file counts as incomplete.
 */
static bool spend(struct reader *rd, uint64_t work)
{
	rd->cut |= !slice_spend(work);
	rd->file->part |= rd->cut;
	return !rd->cut;
}

/*
 * Reads @n bytes of the process's memory, and adds a NUL. NULL: the bytes can't be read, or a limit
 * is reached.
 */
static void *read_block(struct reader *rd, uint64_t at, uint64_t n, uint64_t work)
{
	_cleanup_free_ char *block = NULL;

	rd->file->part |= n > rd->left;
	if (n > rd->left || !spend(rd, WORK_PEEK + n * work))
		return NULL;
	block = malloc(n + 1);
	if (!block || peek_file(rd, at, block, n))
		return NULL;
	rd->left -= n;
	rd->file->bytes += n;
	block[n] = '\0';
	return TAKE_PTR(block);
}

/*
 * Copies a part of .whole, the contents of a small file. Parts may overlap. Once more bytes were
 * copied than .whole has, further bytes count as if they were read from the process.
 */
static void *copy_block(struct reader *rd, uint64_t offset, uint64_t n)
{
	uint64_t more = n > rd->whole_left ? n - rd->whole_left : 0;
	char *block;

	rd->file->part |= more > rd->left;
	if (more > rd->left || !spend(rd, n * WORK_BYTE))
		return NULL;
	block = malloc(n + 1);
	if (!block)
		return NULL;
	rd->whole_left -= n - more;
	rd->left -= more;
	rd->file->bytes += more;
	memcpy(block, rd->whole + offset, n);
	block[n] = '\0';
	return block;
}

/*
 * Reads @n bytes at @offset of the file of @e, and adds a NUL. NULL: the bytes are beyond the
 * file's end, a limit is reached, or the bytes can't be read.
 */
static void *read_part(struct reader *rd, const struct entry *e, uint64_t offset, uint64_t n)
{
	if (offset > e->size || n > e->size - offset || e->file + e->size < e->file)
		return NULL;
	return rd->whole ? copy_block(rd, offset, n)
			 : read_block(rd, e->file + offset, n, WORK_BYTE);
}

static bool is_understood(const Elf64_Ehdr *h)
{
	return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_ident[EI_DATA] == ELFDATA2LSB &&
	       (h->e_machine == EM_X86_64 || h->e_machine == EM_AARCH64) &&
	       h->e_shentsize == sizeof(Elf64_Shdr) && h->e_shnum &&
	       h->e_shnum <= GDB_JIT_SECTIONS_MAX;
}

/*
 * Reads an entry of gdb's list and the headers of the entry's file. Fails only if the entry itself
 * can't be read.
 */
static int read_head(struct reader *rd, uint64_t at, struct head *ret)
{
	_cleanup_free_ Elf64_Ehdr *elf = NULL;
	int r = peek_file(rd, at, &ret->entry, sizeof(ret->entry));

	ret->sections = NULL;
	ret->elf = (Elf64_Ehdr){};
	free(rd->whole);
	rd->whole = NULL;
	if (!r && ret->entry.size <= WHOLE_BYTES && ret->entry.file + WHOLE_BYTES > WHOLE_BYTES)
		rd->whole = read_block(rd, ret->entry.file, ret->entry.size, WORK_BYTE);
	rd->whole_left = rd->whole ? ret->entry.size : 0;
	elf = r ? NULL : read_part(rd, &ret->entry, 0, sizeof(*elf));
	if (elf)
		ret->elf = *elf;
	if (elf && is_understood(elf))
		ret->sections =
			read_part(rd, &ret->entry, elf->e_shoff, elf->e_shnum * sizeof(Elf64_Shdr));
	return r;
}

static bool is_code(const Elf64_Shdr *s)
{
	return s->sh_flags & SHF_ALLOC && s->sh_flags & SHF_EXECINSTR && s->sh_addr && s->sh_size &&
	       s->sh_addr + s->sh_size > s->sh_addr;
}

static int add_symbol(struct reader *rd, const struct head *h, const Elf64_Sym *sym,
		      const char *name)
{
	const Elf64_Shdr *s = &h->sections[sym->st_shndx];
	uint64_t at = h->elf.e_type == ET_REL ? sym->st_value : sym->st_value - s->sh_addr;
	uint32_t bind = ELF64_ST_BIND(sym->st_info);

	if (!is_code(s) || !sym->st_size || at >= s->sh_size || sym->st_size > s->sh_size - at)
		return 0;
	return vec_push(&rd->file->functions, (struct function){.start = s->sh_addr + at,
								.size = sym->st_size,
								.name = name,
								.rank = bind == STB_LOCAL  ? 2
									: bind == STB_WEAK ? 1
											   : 0});
}

/* Reads the symbol table of a file. 0; -EBADMSG: the table can't be read. */
static int read_symbols(struct reader *rd, const struct head *h, const Elf64_Shdr *table)
{
	_cleanup_free_ Elf64_Sym *symbols = NULL;
	const Elf64_Shdr *strings = &h->sections[table->sh_link];
	char *names;
	int r;

	if (table->sh_link >= h->elf.e_shnum)
		return -EBADMSG;
	symbols = read_part(rd, &h->entry, table->sh_offset, table->sh_size);
	names = symbols ? read_part(rd, &h->entry, strings->sh_offset, strings->sh_size) : NULL;
	if (!names)
		return -EBADMSG;
	r = vec_push(&rd->file->names, names);
	if (r)
		free(names);
	if (!spend(rd, table->sh_size / sizeof(*symbols) * (WORK_SYMBOL + WORK_SORT)))
		return -EBADMSG;
	for (size_t i = 0; !r && i < table->sh_size / sizeof(*symbols); i++) {
		const Elf64_Sym *sym = &symbols[i];

		if (ELF64_ST_TYPE(sym->st_info) == STT_FUNC && sym->st_shndx < h->elf.e_shnum &&
		    sym->st_name < strings->sh_size)
			r = add_symbol(rd, h, sym, names + sym->st_name);
	}
	return r;
}

/*
 * Returns the header of .eh_frame if that section was loaded; NULL: it wasn't loaded, or the file
 * has no .eh_frame.
 */
static const Elf64_Shdr *find_eh_frame(struct reader *rd, const struct head *h)
{
	const Elf64_Shdr *s, *end = h->sections + h->elf.e_shnum, *names;
	_cleanup_free_ char *text = NULL;

	if (h->elf.e_shstrndx >= h->elf.e_shnum)
		return NULL;
	names = &h->sections[h->elf.e_shstrndx];
	text = read_part(rd, &h->entry, names->sh_offset, names->sh_size);
	for (s = h->sections; text && s < end; s++)
		if (s->sh_flags & SHF_ALLOC && s->sh_addr && s->sh_name < names->sh_size &&
		    streq(text + s->sh_name, ".eh_frame"))
			return s;
	return NULL;
}

static void *read_memory(struct reader *rd, uint64_t at, uint64_t n)
{
	return n ? read_block(rd, at, n, WORK_CODE) : NULL;
}

/* What is known of the code of one file. */
struct code {
	VEC(struct elf_load) places;
	VEC(struct code_memory) copies;
	VEC(uint64_t) starts;
	struct unwind_rows rows;
};

static void code_fini(struct code *c)
{
	vec_foreach(m, &c->copies)
		free((void *)m->bytes);
	vec_fini(&c->places);
	vec_fini(&c->copies);
	vec_fini(&c->starts);
	unwind_rows_fini(&c->rows);
}

static int find_code(const struct head *h, struct code *ret)
{
	const Elf64_Shdr *s, *end = h->sections + h->elf.e_shnum;
	int r = 0;

	for (s = h->sections; !r && s < end; s++)
		if (is_code(s))
			r = vec_push(&ret->places, (struct elf_load){.vaddr = s->sh_addr,
								     .memsz = s->sh_size,
								     .exec = true});
	return r;
}

static int rows_of_tables(struct reader *rd, const struct head *h, struct code *ret)
{
	const Elf64_Shdr *eh = find_eh_frame(rd, h);
	/*
	 * a file that CPython 3.15 registers has its .eh_frame, already relocated, only in the file
	 * itself
	 */
	bool linked = h->elf.e_type != ET_REL;
	_cleanup_free_ uint8_t *bytes =
		!eh	 ? NULL
		: linked ? read_part(rd, &h->entry, eh->sh_offset, eh->sh_size)
			 : read_memory(rd, eh->sh_addr, eh->sh_size);
	struct cfi_section section = {.bytes = bytes,
				      .n = bytes ? eh->sh_size : 0,
				      .vaddr = bytes ? eh->sh_addr : 0,
				      .arch = cfi_arch(h->elf.e_machine)};

	return unwind_rows_read_memory(&section, ret->places.v, ret->places.n, &ret->rows);
}

static int rows_of_code(struct reader *rd, const struct head *h, struct code *ret)
{
	int r = 0;

	if (h->elf.e_machine != EM_X86_64)
		return 0;
	for (size_t i = 0; !r && i < ret->places.n; i++) {
		const struct elf_load *at = &ret->places.v[i];
		struct code_memory m = {at->vaddr, at->memsz,
					read_memory(rd, at->vaddr, at->memsz)};

		if (m.bytes)
			r = vec_push(&ret->copies, m);
		if (r)
			free((void *)m.bytes);
	}
	vec_foreach(fn, &rd->file->functions)
		r = r ? r : vec_push(&ret->starts, fn->start);
	return r ? r
		 : code_rows_add_memory(ret->copies.v, ret->copies.n, ret->starts.v, ret->starts.n,
					false, &ret->rows);
}

/*
 * Reads the unwind rows of a file. If there are no rows, also returns 0, because the file's code
 * still has names.
 */
static int read_rows(struct reader *rd, const struct head *h)
{
	_cleanup_(code_fini) struct code c = {};
	int r = find_code(h, &c);

	if (r || !c.places.n)
		return r;
	r = rows_of_tables(rd, h, &c);
	r = r ? r : rows_of_code(rd, h, &c);
	if (!r) {
		rd->file->rows = c.rows;
		c.rows = (struct unwind_rows){};
	}
	return r;
}

static int read_file(struct reader *rd, const struct head *h)
{
	const Elf64_Shdr *s = h->sections, *end = s + h->elf.e_shnum;
	int r = s ? 0 : -EBADMSG;

	for (s = h->sections; !r && s < end; s++)
		if (is_code(s))
			r = vec_push(&rd->file->spans,
				     (struct span){s->sh_addr, s->sh_addr + s->sh_size, false});
	for (s = h->sections; !r && s < end; s++)
		if (s->sh_type == SHT_SYMTAB)
			r = read_symbols(rd, h, s);
	r = r ? r : read_rows(rd, h);
	rd->file->is_named = !r;
	return r == -EBADMSG ? 0 : r;
}

int jit_file_read(struct reader *rd, uint64_t at)
{
	struct file *f = rd->file;
	struct head h;
	int r = read_head(rd, at, &h);

	if (r)
		return r;
	f->at = at;
	f->entry = h.entry;
	f->n_head = f->ranges.n;
	f->head_hash = f->hash;
	if (!rd->cut)
		r = read_file(rd, &h);
	rd->fresh += !f->part;
	free(h.sections);
	return r;
}
