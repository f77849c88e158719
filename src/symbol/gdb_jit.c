/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELF files that a process registered; see gdb_jit.h. LLVM (to 21 at least) registers a copy of the
 * relocatable file in which only the addresses of sections are those in memory: symbols count from their
 * section. Its .eh_frame isn't relocated; the one that was loaded is, before its code is executable. It describes
 * what an exception may come through; of the other functions the instructions tell (docs/decisions/0011).
 */
#include "symbol/gdb_jit.h"

#include <elf.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/slice.h"
#include "elf/code_rows.h"
#include "elf/unwind_cfi.h"
#include "symbol/symbol_table.h"

/* As the process has them, 64-bit. */
struct descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};
struct entry {
	uint64_t next, prev, file, size;
};

struct known_descriptor {
	uint64_t at;
	struct descriptor was;
};

struct gdb_jit {
	struct symbol_table table;
	unwind_rows_vec rows; /* of each file that has some */
	VEC(struct known_descriptor) descriptors;
	struct gdb_jit_stats stats;
};

/* An entry with what says where its code is. */
struct head {
	struct entry entry;
	Elf64_Ehdr elf;
	Elf64_Shdr *sections; /* NULL: the file isn't understood */
};

struct seen {
	uint64_t at, check; /* hash of its head */
};

struct function {
	uint64_t start, size;
	const char *name;
	uint8_t rank;
};

struct span {
	uint64_t start, end;
	bool shared;
};

struct reader {
	gdb_jit_peek *peek;
	void *arg;
	size_t left; /* bytes that may still be read */
	bool cut;    /* the thread's slice is used up */
	bool again;  /* what was read within it is read once more */
	struct gdb_jit *jit;
	VEC(struct seen) seen;
	VEC(struct function) functions;
	VEC(struct span) spans; /* sections with code */
	VEC(void *) names;	/* tables of strings that functions point into */
};

void gdb_jit_free(struct gdb_jit *j)
{
	if (!j)
		return;
	symbol_table_fini(&j->table);
	vec_foreach(rows, &j->rows)
		unwind_rows_fini(rows);
	vec_fini(&j->rows);
	vec_fini(&j->descriptors);
	free(j);
}

static void reader_fini(struct reader *rd)
{
	vec_foreach(block, &rd->names)
		free(*block);
	vec_fini(&rd->names);
	vec_fini(&rd->seen);
	vec_fini(&rd->functions);
	vec_fini(&rd->spans);
	gdb_jit_free(rd->jit);
}

/* Work that is left out is left out of the whole file: what is known of it would be a half. */
static bool spend(struct reader *rd, uint64_t work)
{
	if (rd->again)
		return true;
	rd->cut |= !slice_spend(work);
	return !rd->cut;
}

/* @n bytes at @offset of the file of @e, and a NUL. NULL: beyond its end, a limit or what can be read. */
static void *read_part(struct reader *rd, const struct entry *e, uint64_t offset, uint64_t n)
{
	_cleanup_free_ char *block = NULL;

	if (offset > e->size || n > e->size - offset || n > rd->left || e->file + e->size < e->file)
		return NULL;
	if (!spend(rd, WORK_CALL + n * WORK_BYTE))
		return NULL;
	block = malloc(n + 1);
	if (!block || rd->peek(rd->arg, e->file + offset, block, n))
		return NULL;
	rd->left -= n;
	block[n] = '\0';
	return TAKE_PTR(block);
}

static bool is_understood(const Elf64_Ehdr *h)
{
	return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_ident[EI_DATA] == ELFDATA2LSB &&
	       (h->e_machine == EM_X86_64 || h->e_machine == EM_AARCH64) &&
	       h->e_shentsize == sizeof(Elf64_Shdr) && h->e_shnum &&
	       h->e_shnum <= GDB_JIT_SECTIONS_MAX;
}

/* Only an entry that can't be read is an error. */
static int read_head(struct reader *rd, uint64_t at, struct head *ret)
{
	_cleanup_free_ Elf64_Ehdr *elf = NULL;
	int r = rd->peek(rd->arg, at, &ret->entry, sizeof(ret->entry));

	ret->sections = NULL;
	ret->elf = (Elf64_Ehdr){};
	elf = r ? NULL : read_part(rd, &ret->entry, 0, sizeof(*elf));
	if (elf)
		ret->elf = *elf;
	if (elf && is_understood(elf))
		ret->sections =
			read_part(rd, &ret->entry, elf->e_shoff, elf->e_shnum * sizeof(Elf64_Shdr));
	return r;
}

static uint64_t hash(uint64_t h, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

static uint64_t check_of(const struct head *h)
{
	uint64_t check = hash(0xcbf29ce484222325ull, &h->entry, sizeof(h->entry));

	check = hash(check, &h->elf, sizeof(h->elf));
	return h->sections ? hash(check, h->sections, h->elf.e_shnum * sizeof(*h->sections))
			   : check;
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
	return vec_push(&rd->functions, (struct function){.start = s->sh_addr + at,
							  .size = sym->st_size,
							  .name = name,
							  .rank = bind == STB_LOCAL  ? 2
								  : bind == STB_WEAK ? 1
										     : 0});
}

/* 0; -EBADMSG: the table isn't there. */
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
	r = vec_push(&rd->names, names);
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

/* .eh_frame as it was loaded; NULL: the file has none. */
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

/* @n bytes of the process; NULL: they can't be read, or a limit. */
static void *read_memory(struct reader *rd, uint64_t at, uint64_t n)
{
	bool may = n && n <= rd->left && spend(rd, WORK_CALL + n * WORK_CODE);
	_cleanup_free_ void *block = may ? malloc(n) : NULL;

	if (!block || rd->peek(rd->arg, at, block, n))
		return NULL;
	rd->left -= n;
	return TAKE_PTR(block);
}

/* What a file says of its code. */
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
	bool linked =
		h->elf.e_type != ET_REL; /* CPython 3.15's: in the file alone, and right there */
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

/* @first: the file's first function. */
static int rows_of_code(struct reader *rd, const struct head *h, size_t first, struct code *ret)
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
	for (size_t i = first; !r && i < rd->functions.n; i++)
		r = vec_push(&ret->starts, rd->functions.v[i].start);
	return r ? r
		 : code_rows_add_memory(ret->copies.v, ret->copies.n, ret->starts.v, ret->starts.n,
					false, &ret->rows);
}

/* 0 also without any: the code has its names. */
static int read_rows(struct reader *rd, const struct head *h, size_t first)
{
	_cleanup_(code_fini) struct code c = {};
	int r = find_code(h, &c);

	if (r || !c.places.n)
		return r;
	r = rows_of_tables(rd, h, &c);
	r = r ? r : rows_of_code(rd, h, first, &c);
	r = r ? r : vec_push(&rd->jit->rows, c.rows);
	if (!r)
		c.rows = (struct unwind_rows){};
	return r;
}

static int read_file(struct reader *rd, const struct head *h)
{
	const Elf64_Shdr *s = h->sections, *end = s + h->elf.e_shnum;
	size_t first = rd->functions.n;
	int r = s ? 0 : -EBADMSG;

	for (s = h->sections; !r && s < end; s++)
		if (is_code(s))
			r = vec_push(&rd->spans,
				     (struct span){s->sh_addr, s->sh_addr + s->sh_size, false});
	for (s = h->sections; !r && s < end; s++)
		if (s->sh_type == SHT_SYMTAB)
			r = read_symbols(rd, h, s);
	r = r ? r : read_rows(rd, h, first);
	rd->jit->stats.files += !r;
	rd->jit->stats.malformed += r == -EBADMSG && !rd->cut;
	return r == -EBADMSG ? 0 : r;
}

static int read_entry(struct reader *rd, uint64_t at, uint64_t prev, uint64_t *next)
{
	struct head h;
	int r = read_head(rd, at, &h);

	if (r)
		return r;
	*next = h.entry.next;
	if (rd->cut) {
		free(h.sections);
		return 0;
	}
	if (h.entry.prev != prev) /* so a circle shows too */
		r = -EPROTO;
	r = r ? r : vec_push(&rd->seen, (struct seen){at, check_of(&h)});
	r = r ? r : read_file(rd, &h);
	free(h.sections);
	return r;
}

static int read_list(struct reader *rd, uint64_t at)
{
	struct known_descriptor d = {.at = at};
	uint64_t entry, prev = 0, next;
	int r = rd->peek(rd->arg, at, &d.was, sizeof(d.was));

	if (!r && d.was.version != 1)
		r = -EPROTO;
	r = r ? r : vec_push(&rd->jit->descriptors, d);
	for (entry = d.was.first; !r && entry; prev = entry, entry = next) {
		if (rd->seen.n >= GDB_JIT_FILES_MAX || rd->left < sizeof(Elf64_Ehdr) || rd->cut) {
			rd->jit->stats.dropped++;
			break;
		}
		r = read_entry(rd, entry, prev, &next);
	}
	return r;
}

bool gdb_jit_looks_same(const struct gdb_jit *j, gdb_jit_peek *peek, void *arg)
{
	vec_foreach(d, &j->descriptors) {
		struct descriptor now;

		if (peek(arg, d->at, &now, sizeof(now)) || memcmp(&now, &d->was, sizeof(now)))
			return false;
	}
	return true;
}

/* An entry that was given up while it was read, or is another one now, leads to other sections. */
static bool is_unchanged(struct reader *rd)
{
	rd->left = GDB_JIT_BYTES_MAX;
	rd->again = true;
	vec_foreach(s, &rd->seen) {
		struct head h;
		bool same = !read_head(rd, s->at, &h) && check_of(&h) == s->check;

		free(h.sections);
		if (!same)
			return false;
	}
	return gdb_jit_looks_same(rd->jit, rd->peek, rd->arg);
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* At an address that two sections have one of them isn't there any more: which one can't be told. */
static void find_shared(struct reader *rd)
{
	struct span *reaching = NULL; /* furthest */

	if (rd->spans.n)
		qsort(rd->spans.v, rd->spans.n, sizeof(*rd->spans.v), compare_spans);
	vec_foreach(s, &rd->spans) {
		if (reaching && s->start < reaching->end)
			s->shared = reaching->shared = true;
		if (!reaching || s->end > reaching->end)
			reaching = s;
	}
	vec_foreach(s, &rd->spans)
		rd->jit->stats.doubtful += s->shared;
}

static bool is_shared(const struct reader *rd, uint64_t addr)
{
	size_t n = count_upto(rd->spans.v, rd->spans.n, start, addr);

	return rd->spans.v[n - 1].shared;
}

static void drop_shared_rows(struct reader *rd)
{
	vec_foreach(rows, &rd->jit->rows) {
		bool shared = false;

		vec_foreach(f, &rows->fdes)
			shared |= is_shared(rd, rows->base + f->start);
		if (shared)
			unwind_rows_fini(rows);
	}
}

static int make_table(struct reader *rd)
{
	int r = 0;

	find_shared(rd);
	drop_shared_rows(rd);
	for (size_t i = 0; !r && i < rd->functions.n; i++) {
		const struct function *f = &rd->functions.v[i];

		if (!is_shared(rd, f->start))
			r = symbol_table_add(&rd->jit->table, f->name, f->start, f->size, f->rank);
	}
	r = r ? r : symbol_table_sort(&rd->jit->table);
	if (r == -EFBIG) { /* each has a size: none stands for one that isn't there */
		rd->jit->stats.dropped++;
		r = 0;
	}
	rd->jit->stats.symbols = rd->jit->table.list.n;
	return r;
}

int gdb_jit_read(gdb_jit_peek *peek, void *arg, const uint64_t *descriptors, size_t n,
		 struct gdb_jit **ret)
{
	_cleanup_(reader_fini) struct reader rd = {
		.peek = peek, .arg = arg, .left = GDB_JIT_BYTES_MAX};
	int r;

	rd.jit = calloc(1, sizeof(*rd.jit));
	r = rd.jit ? 0 : -ENOMEM;
	for (size_t i = 0; !r && i < n; i++)
		r = read_list(&rd, descriptors[i]);
	if (r != -ENOMEM && rd.jit && !is_unchanged(&rd))
		r = -EAGAIN;
	r = r ? r : make_table(&rd);
	if (r)
		return err_sys(r, "list of code registered for gdb");
	*ret = TAKE_PTR(rd.jit);
	return 0;
}

const char *gdb_jit_find(const struct gdb_jit *j, uint64_t addr, uint64_t *start)
{
	const struct symbol *s = symbol_table_find(&j->table, addr);

	if (s && start)
		*start = s->start;
	return s ? j->table.names.s + s->name : NULL;
}

const unwind_rows_vec *gdb_jit_rows(const struct gdb_jit *j)
{
	return &j->rows;
}

struct gdb_jit_stats gdb_jit_stats(const struct gdb_jit *j)
{
	return j->stats;
}

size_t gdb_jit_bytes(const struct gdb_jit *j)
{
	size_t n = sizeof(*j) + j->table.list.cap * sizeof(*j->table.list.v) + j->table.names.cap +
		   j->rows.cap * sizeof(*j->rows.v);

	vec_foreach(rows, &j->rows)
		n += unwind_rows_bytes(rows);
	return n;
}
