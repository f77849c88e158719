/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads ELF files that a process registered; see gdb_jit.h. LLVM (at least up to 21) registers a
 * copy of the relocatable file. Of that copy only the sections' addresses are those in memory;
 * symbols are relative to their section. The copy's .eh_frame isn't relocated, but the loaded one
 * is, before its code becomes executable. .eh_frame describes only functions that an exception may
 * pass through; the rows of the others are proved from their instructions (docs/decisions/0011).
 */
#include "symbol/madecode/gdb_jit.h"

#include <elf.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "base/nomem.h"
#include "base/slice.h"
#include "unwind/prove/code_rows.h"
#include "unwind/cfi/cfi.h"
#include "symbol/elf/symbol_table.h"
#include "unwind/compile.h"

/* a file of gdb's list with at most so many bytes is read in one piece */
#define WHOLE_BYTES (64u << 10)
#define TURNS_MOST  64 /* how many new entries may be met when gdb's list is followed again */
#define TRIES_MOST  8  /* how often gdb's list is followed again when it changes */
/* the work of one request to the child that reads (proc/reader.h) */
#define WORK_PEEK (10 * WORK_CALL)

/* The layout of gdb's structures in a 64-bit process. */
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
	unwind_rows_vec rows; /* rows of each file that has any; the files own them */
	/*
	 * files of the list; after a reading that was cut short the last ones are those that it
	 * didn't reach
	 */
	VEC(struct file *) files;
	VEC(struct known_descriptor) descriptors;
	struct gdb_jit_stats stats;
	bool goes_on;
};

/* An entry of gdb's list, with the headers that say where its code is. */
struct head {
	struct entry entry;
	Elf64_Ehdr elf;
	Elf64_Shdr *sections; /* section headers of the file; NULL: the file isn't understood */
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

/* A range of the process's memory that was read for a file. */
struct range {
	uint64_t at, n;
};

/*
 * An entry, and what was learnt from its file. A later reading takes all this over, as long as the
 * memory that was read for it has the same contents.
 */
struct file {
	unsigned refs;
	uint64_t at;
	struct entry entry;
	VEC(struct range) ranges;
	/* how many of .ranges come first: the entry, and the headers that say where its code is */
	size_t n_head;
	uint64_t hash, head_hash;
	/* a part couldn't be read or was beyond a limit: another reading may learn more */
	bool part;
	/* when this reading began, the file's memory had the same contents as before */
	bool is_same;
	bool is_named, is_malformed;
	VEC(struct function) functions;
	VEC(struct span) spans; /* sections of the file that hold code */
	VEC(void *) names;	/* string tables of the file; .functions point into them */
	uint64_t bytes;
	struct unwind_rows rows;
};

struct reader {
	gdb_jit_peek *peek;
	/* function that reads many pieces at once; NULL: pieces are read one by one */
	gdb_jit_peek_pieces *pieces;
	void *arg;
	size_t left;  /* how many bytes this reading may still read */
	bool cut;     /* this reading was cut, because the thread's slice is used up */
	size_t fresh; /* how many files this reading was the first to read completely */
	struct gdb_jit *jit;
	struct file *file; /* the file of gdb's list that is being read */
	uint8_t *whole; /* the contents of that file, if it is small; NULL: it is read in parts */
	/* how many bytes of .whole were counted, but not used for a part yet */
	uint64_t whole_left;
	struct map known; /* the files of the reading before: address -> index + 1 */
	struct map seen;  /* the files of this reading: address -> index + 1 */
	VEC(struct span) spans;
};

static void file_put(struct file *f)
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

void gdb_jit_free(struct gdb_jit *j)
{
	if (!j)
		return;
	symbol_table_fini(&j->table);
	vec_foreach(f, &j->files)
		file_put(*f);
	vec_fini(&j->files);
	vec_fini(&j->rows);
	vec_fini(&j->descriptors);
	free(j);
}

static void reader_fini(struct reader *rd)
{
	file_put(rd->file);
	free(rd->whole);
	map_fini(&rd->known);
	map_fini(&rd->seen);
	vec_fini(&rd->spans);
	gdb_jit_free(rd->jit);
}

static uint64_t hash(uint64_t h, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint64_t word;

	for (; n >= sizeof(word); n -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	for (; n; n--)
		h = (h ^ *p++) * 0x100000001b3ull;
	return h;
}

/*
 * Reads memory for a file. Everything that is read for a file goes through here, so that the ranges
 * and their hash are recorded.
 */
static int peek_file(struct reader *rd, uint64_t at, void *buf, size_t n)
{
	struct file *f = rd->file;
	int r = rd->peek(rd->arg, at, buf, n);

	if (r) {
		f->part = true;
		return r;
	}
	f->hash = hash(f->hash, buf, n);
	r = vec_push(&f->ranges, (struct range){at, n});
	f->part |= r;
	return r;
}

/* Counts work for a file. If there is too much, the whole file counts as incomplete. */
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
 * Copies a part of .whole, the contents of a small file. Parts may overlap: once their bytes are
 * more than .whole has, the rest counts as if it were read.
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
 * file's end or a limit, or can't be read.
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

/* Reads an entry and its file's headers. Fails only if the entry itself can't be read. */
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

/* Reads the symbol table of a file. 0; -EBADMSG: it can't be read. */
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

/* Returns the header of .eh_frame if that was loaded; NULL: it wasn't, or there is none. */
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
	/* CPython 3.15's files: .eh_frame is only in the file, and is relocated there */
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

/* Reads the rows of a file. 0 also if there are none: its code still has names. */
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

static int read_new(struct reader *rd, uint64_t at)
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

/*
 * Reads the entry at @at into .file, which the reader owns. Takes it over from the reading before
 * if none of its memory has changed.
 */
static int read_entry(struct reader *rd, uint64_t at, const struct gdb_jit *before)
{
	const uint64_t *i = map_get(&rd->known, at);
	struct file *known = i ? before->files.v[*i - 1] : NULL;

	if (known && known->is_same && known->bytes <= rd->left) {
		rd->left -= known->bytes;
		known->refs++;
		file_put(rd->file);
		rd->file = known;
		return 0;
	}
	file_put(rd->file); /* frees a file that wasn't kept */
	rd->file = calloc(1, sizeof(*rd->file));
	if (!rd->file)
		return -ENOMEM;
	rd->file->refs = 1;
	return read_new(rd, at);
}

/* Adds .file, which was read, to the list of files. */
static int keep_file(struct reader *rd)
{
	struct file *f = rd->file;
	int r = vec_push(&rd->jit->files, f);

	if (r)
		return r;
	rd->file = NULL;
	f->is_malformed = !f->is_named && !rd->cut;
	return 0;
}

/* Reads the list entry at @at into @ret and keeps its file. -ENOBUFS: a limit is reached. */
static int take_entry(struct reader *rd, uint64_t at, const struct gdb_jit *before,
		      struct entry *ret)
{
	int r;

	if (rd->jit->files.n >= GDB_JIT_FILES_MAX || rd->left < sizeof(Elf64_Ehdr) || rd->cut) {
		rd->jit->stats.dropped++;
		return -ENOBUFS;
	}
	r = read_entry(rd, at, before);
	if (r)
		return r;
	*ret = rd->file->entry;
	return keep_file(rd);
}

/*
 * Drops the file that was kept last: its entry isn't in the list. If the entry is met again, it is
 * read anew.
 */
static void give_back_last(struct reader *rd)
{
	struct file *f = rd->jit->files.v[--rd->jit->files.n];

	rd->left += f->bytes;
	file_put(f);
}

/*
 * Did the entry at @prev lead to the entry @e at @at? If an entry was added or removed between them
 * since they were read, the current memory decides, and *@e is read anew.
 */
static bool is_behind(const struct reader *rd, uint64_t descriptor, uint64_t prev, uint64_t at,
		      struct entry *e)
{
	struct descriptor d;
	struct entry before;

	if (e->prev == prev)
		return true;
	if (rd->peek(rd->arg, at, e, sizeof(*e)))
		return false;
	if (e->prev == prev)
		return true;
	if (e->prev)
		return !rd->peek(rd->arg, e->prev, &before, sizeof(before)) && before.next == at;
	return !rd->peek(rd->arg, descriptor, &d, sizeof(d)) && d.first == at;
}

/*
 * Follows the list from @first on. An entry that was seen before is passed over, at most @passes
 * times; after that the list counts as circular: -EPROTO.
 */
static int follow_list(struct reader *rd, uint64_t at, uint64_t first, const struct gdb_jit *before,
		       unsigned passes)
{
	uint64_t entry, prev = 0;
	int r = 0;

	for (entry = first; !r && entry;) {
		struct entry e = {};
		bool seen = map_get(&rd->seen, entry);

		if (seen && !passes--)
			return -EPROTO;
		r = seen ? rd->peek(rd->arg, entry, &e, sizeof(e))
			 : take_entry(rd, entry, before, &e);
		if (!r && !is_behind(rd, at, prev, entry, &e)) {
			r = -EPROTO;
			if (!seen)
				give_back_last(rd);
		}
		if (!r && !seen)
			r = map_put(&rd->seen, entry, rd->jit->files.n);
		prev = entry;
		entry = e.next;
	}
	return r;
}

static bool is_changing(int r)
{
	return r == -EPROTO || r == -EFAULT || r == -EIO;
}

/*
 * Reads the list of the descriptor at @at. If the process changes the entry that is read, or has
 * changed the list since, the list is followed again from its beginning.
 */
static int read_list(struct reader *rd, uint64_t at, const struct gdb_jit *before)
{
	struct known_descriptor d = {.at = at};
	struct descriptor now, last;
	int r = rd->peek(rd->arg, at, &d.was, sizeof(d.was));

	if (!r && d.was.version != 1)
		r = -EPROTO;
	r = r ? r : vec_push(&rd->jit->descriptors, d);
	if (r)
		return r;
	r = follow_list(rd, at, d.was.first, before, 0);
	for (int i = 0; is_changing(r) && i < TRIES_MOST; i++) {
		if (rd->peek(rd->arg, at, &now, sizeof(now)) ||
		    (i && !memcmp(&now, &last, sizeof(now))))
			break;
		last = now;
		r = follow_list(rd, at, now.first, before, TURNS_MOST);
	}
	return r == -ENOBUFS ? 0 : r;
}

/*
 * Reads all lists. A list that changes, or is broken, doesn't stop the others. Returns the first
 * such error.
 */
static int read_lists(struct reader *rd, const uint64_t *at, size_t n, const struct gdb_jit *before)
{
	int first = 0;

	for (size_t i = 0; i < n; i++) {
		int r = read_list(rd, at[i], before);

		if (r && !is_changing(r))
			return r;
		first = first ? first : r;
	}
	return first;
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

/* how many pieces of memory one request reads again; a file with more pieces counts as changed */
#define PIECES_MOST 64
/* the most bytes of one request; the largest table of sections fits */
#define BATCH_BYTES (320u << 10)

struct batch {
	struct iovec pieces[PIECES_MOST];
	struct file *files[PIECES_MOST];
	size_t n_pieces, n_files, bytes;
	uint8_t *buf;
};

static size_t ranges_of(const struct file *f, bool head)
{
	return head ? f->n_head : f->ranges.n;
}

static int peek_batch(struct reader *rd, struct batch *b)
{
	uint8_t *to = b->buf;
	int r = 0;

	if (rd->pieces && b->n_pieces > 1)
		return rd->pieces(rd->arg, b->pieces, b->n_pieces, b->buf, b->bytes);
	for (size_t i = 0; !r && i < b->n_pieces; i++) {
		r = rd->peek(rd->arg, (uintptr_t)b->pieces[i].iov_base, to, b->pieces[i].iov_len);
		to += b->pieces[i].iov_len;
	}
	return r;
}

static void check_file(struct file *f, bool head, const uint8_t **bytes)
{
	uint64_t now = 0;

	for (size_t i = 0; i < ranges_of(f, head); i++) {
		now = hash(now, *bytes, f->ranges.v[i].n);
		*bytes += f->ranges.v[i].n;
	}
	f->is_same = now == (head ? f->head_hash : f->hash);
}

static void add_to_batch(struct batch *b, struct file *f, bool head)
{
	for (size_t i = 0; i < ranges_of(f, head); i++) {
		const struct range *range = &f->ranges.v[i];

		b->pieces[b->n_pieces++] = (struct iovec){(void *)(uintptr_t)range->at, range->n};
		b->bytes += range->n;
	}
	b->files[b->n_files++] = f;
}

/* Counts work that belongs to no single file. */
static bool spend_beside(struct reader *rd, uint64_t work)
{
	bool left = slice_spend(work);

	rd->cut |= !left;
	return left;
}

/*
 * Checks all files of the batch in one request. If a part of their memory can't be read, each file
 * is checked by itself. If the files are those of the reading before, which may be many, such a
 * check of one file costs as much of the slice as reading it anew.
 */
static void check_batch(struct reader *rd, struct batch *b, bool head)
{
	const uint8_t *bytes = b->buf;
	struct file *files[PIECES_MOST];
	size_t n = b->n_files;
	bool paid = head || n > 1 || spend_beside(rd, WORK_PEEK + b->bytes);
	bool came = b->n_pieces && paid && !peek_batch(rd, b);

	memcpy(files, b->files, sizeof(files));
	for (size_t i = 0; i < n; i++)
		files[i]->is_same = false;
	for (size_t i = 0; came && i < n; i++)
		check_file(files[i], head, &bytes);
	b->n_pieces = b->n_files = b->bytes = 0;
	for (size_t i = 0; !came && n > 1 && i < n; i++) {
		add_to_batch(b, files[i], head);
		check_batch(rd, b, head);
	}
}

static uint64_t bytes_of(const struct file *f, bool head)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ranges_of(f, head); i++)
		sum += f->ranges.v[i].n;
	return sum;
}

/*
 * Sets .is_same of each file: does the memory that was read for it (@head: for its head) have the
 * same contents? 0 or -ENOMEM.
 */
static int check_files(struct reader *rd, const struct gdb_jit *j, bool head)
{
	_cleanup_free_ uint8_t *buf = malloc(BATCH_BYTES);
	struct batch b = {.buf = buf};

	if (!buf)
		return -ENOMEM;
	vec_foreach(at, &j->files) {
		uint64_t bytes = bytes_of(*at, head);

		(*at)->is_same = false;
		if ((!head && (*at)->part) || ranges_of(*at, head) > PIECES_MOST ||
		    bytes > BATCH_BYTES)
			continue;
		if (b.n_pieces + ranges_of(*at, head) > PIECES_MOST ||
		    b.bytes + bytes > BATCH_BYTES)
			check_batch(rd, &b, head);
		add_to_batch(&b, *at, head);
	}
	if (b.n_files)
		check_batch(rd, &b, head);
	return 0;
}

/*
 * Are all entries and descriptors as they were? An entry that was removed or replaced during the
 * reading leads to other sections.
 */
static bool is_unchanged(struct reader *rd)
{
	vec_foreach(f, &rd->jit->files)
		if (!(*f)->is_same)
			return false;
	return gdb_jit_looks_same(rd->jit, rd->peek, rd->arg);
}

/* Reads the entries of all files as they are now; an entry that can't be read is all zero. */
static void read_entries(struct reader *rd, struct entry *ret)
{
	size_t n = rd->jit->files.n, some;

	for (size_t i = 0; i < n; i += some) {
		struct iovec pieces[PIECES_MOST];

		some = MIN(n - i, (size_t)PIECES_MOST);
		for (size_t k = 0; k < some; k++)
			pieces[k] = (struct iovec){(void *)(uintptr_t)rd->jit->files.v[i + k]->at,
						   sizeof(*ret)};
		if (rd->pieces && !rd->pieces(rd->arg, pieces, some, ret + i, some * sizeof(*ret)))
			continue;
		for (size_t k = i; k < i + some; k++)
			if (rd->peek(rd->arg, rd->jit->files.v[k]->at, &ret[k], sizeof(*ret)))
				ret[k] = (struct entry){};
	}
}

/* Is @f the file that it was, wherever its entry is in the list now? @e: its current entry. */
static bool is_same_file(struct reader *rd, const struct file *f, struct entry e)
{
	uint64_t now;

	if (f->is_same || e.file != f->entry.file || e.size != f->entry.size)
		return f->is_same;
	now = hash(0, &f->entry, sizeof(f->entry));
	for (size_t i = 1; i < f->n_head; i++) {
		const struct range *range = &f->ranges.v[i];
		_cleanup_free_ void *block = NULL;

		if (!spend_beside(rd, WORK_PEEK + range->n * WORK_BYTE))
			return false;
		block = malloc(range->n);
		if (!block || rd->peek(rd->arg, range->at, block, range->n))
			return false;
		now = hash(now, block, range->n);
	}
	return now == f->head_hash;
}

/*
 * Follows the list at @descriptor again, by the current entries @now. The files that it leads to
 * were in the list at some moment since the reading began. Entries that are new are passed over.
 * False: the process changes the entry that is read, or the list is circular.
 */
static bool find_listed(struct reader *rd, uint64_t descriptor, struct entry *now, bool *listed)
{
	size_t left = rd->seen.n + TURNS_MOST, fresh = TURNS_MOST;
	_cleanup_free_ bool *visited = calloc(rd->jit->files.n + 1, sizeof(*visited));
	struct descriptor d;
	uint64_t at, prev = 0;

	if (!visited || rd->peek(rd->arg, descriptor, &d, sizeof(d)))
		return false;
	for (at = d.first; at && left; left--) {
		const uint64_t *i = map_get(&rd->seen, at);
		struct entry other, *e = i ? &now[*i - 1] : &other;

		if ((i && visited[*i - 1]) || (!i && rd->peek(rd->arg, at, e, sizeof(*e))) ||
		    ((!i || e->prev != prev) && !fresh--) ||
		    !is_behind(rd, descriptor, prev, at, e))
			return false;
		if (i) {
			visited[*i - 1] = true;
			listed[*i - 1] = is_same_file(rd, rd->jit->files.v[*i - 1], *e);
		}
		prev = at;
		at = e->next;
	}
	return true;
}

/*
 * Forgets the files that weren't found in the list. The addresses of their sections become doubtful
 * for other files. 0 or -errno.
 */
static int keep_listed(struct reader *rd, const bool *listed)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < rd->jit->files.n; i++) {
		struct file *f = rd->jit->files.v[i];

		if (listed[i]) {
			rd->jit->files.v[n++] = f;
			continue;
		}
		vec_foreach(s, &f->spans)
			r = r ? r : vec_push(&rd->spans, ((struct span){s->start, s->end, true}));
		file_put(f);
	}
	rd->jit->files.n = n;
	return r ? r : n ? 0 : -EAGAIN;
}

/* Called when gdb's list changed while it was read: keeps the files that stayed in it. */
static int settle_changes(struct reader *rd)
{
	size_t n = rd->jit->files.n;
	_cleanup_free_ struct entry *now = calloc(n + 1, sizeof(*now));
	_cleanup_free_ bool *listed = calloc(n + 1, sizeof(*listed));

	if (!now || !listed)
		return -ENOMEM;
	read_entries(rd, now);
	vec_foreach(d, &rd->jit->descriptors)
		for (int i = 0; i < TRIES_MOST && !find_listed(rd, d->at, now, listed); i++) {
		}
	return keep_listed(rd, listed);
}

/* Checks what was read against gdb's list as it is now. @r: the result of the reading. */
static int settle(struct reader *rd, int r)
{
	int checked = r == -ENOMEM ? r : check_files(rd, rd->jit, true);

	if (checked || is_unchanged(rd))
		return checked ? checked : r;
	return settle_changes(rd);
}

/* Finds the files that the reading before read, and that needn't be read again. */
static int find_known(struct reader *rd, const struct gdb_jit *before)
{
	int r = before ? check_files(rd, before, false) : 0;

	for (size_t i = 0; before && !r && i < before->files.n; i++)
		r = map_put(&rd->known, before->files.v[i]->at, i + 1) < 0 ? -ENOMEM : 0;
	return r;
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int collect_spans(struct reader *rd)
{
	int r = 0;

	vec_foreach(f, &rd->jit->files)
		vec_foreach(s, &(*f)->spans)
			r = r ? r : vec_push(&rd->spans, *s);
	return r;
}

/*
 * Finds addresses that two sections claim. One of the two no longer exists, and nobody can tell
 * which one.
 */
static void find_shared(struct reader *rd)
{
	struct span *reaching = NULL; /* of the sections so far the one that ends last */

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

static void count_files(struct gdb_jit *j)
{
	vec_foreach(f, &j->files) {
		j->stats.files += (*f)->is_named;
		j->stats.malformed += (*f)->is_malformed;
	}
}

static bool is_shared(const struct reader *rd, uint64_t addr)
{
	size_t n = count_upto(rd->spans.v, rd->spans.n, start, addr);

	return rd->spans.v[n - 1].shared;
}

static int collect_rows(struct reader *rd)
{
	int r = 0;

	vec_foreach(at, &rd->jit->files) {
		const struct unwind_rows *rows = &(*at)->rows;
		bool shared = false;

		vec_foreach(f, &rows->fdes)
			shared |= is_shared(rd, rows->base + f->start);
		if (!shared && rows->fdes.n)
			r = r ? r : vec_push(&rd->jit->rows, *rows);
	}
	return r;
}

static int add_functions(struct reader *rd, const struct file *file)
{
	int r = 0;

	vec_foreach(f, &file->functions)
		if (!r && !is_shared(rd, f->start))
			r = symbol_table_add(&rd->jit->table, f->name, f->start, f->size, f->rank);
	return r;
}

static int make_table(struct reader *rd)
{
	int r = collect_spans(rd);

	if (r)
		return r;
	count_files(rd->jit);
	find_shared(rd);
	r = collect_rows(rd);
	vec_foreach(f, &rd->jit->files)
		r = r ? r : add_functions(rd, *f);
	r = r ? r : symbol_table_sort(&rd->jit->table);
	/*
	 * symbols beyond the limit are missing; as all symbols have sizes, their addresses don't
	 * get another symbol's name
	 */
	if (r == -EFBIG) {
		rd->jit->stats.dropped++;
		r = 0;
	}
	rd->jit->stats.symbols = rd->jit->table.list.n;
	return r;
}

/*
 * After a cut reading: keeps the files of the reading before that this one didn't reach, within the
 * same limits. 0 or -ENOMEM.
 */
static int keep_rest(struct reader *rd, const struct gdb_jit *before)
{
	int r = 0;

	for (size_t i = 0; !r && i < before->files.n; i++) {
		struct file *f = before->files.v[i];

		if (!f->is_same || map_get(&rd->seen, f->at) || f->bytes > rd->left ||
		    rd->jit->files.n >= GDB_JIT_FILES_MAX)
			continue;
		rd->left -= f->bytes;
		r = vec_push(&rd->jit->files, f);
		f->refs += !r;
	}
	return r;
}

int gdb_jit_read_on(const struct gdb_jit *before, gdb_jit_peek *peek, gdb_jit_peek_pieces *pieces,
		    void *arg, const uint64_t *descriptors, size_t n, struct gdb_jit **ret)
{
	_cleanup_(reader_fini) struct reader rd = {
		.peek = peek, .pieces = pieces, .arg = arg, .left = GDB_JIT_BYTES_MAX};
	int r;

	map_init(&rd.known);
	map_init(&rd.seen);
	rd.jit = calloc(1, sizeof(*rd.jit));
	r = rd.jit ? find_known(&rd, before) : -ENOMEM;
	r = r ? r : read_lists(&rd, descriptors, n, before);
	if (rd.jit)
		r = settle(&rd, r);
	r = r ? r : make_table(&rd);
	if (r)
		return err_sys(r, "can't read the list of code registered for gdb");
	rd.jit->goes_on = rd.cut && rd.fresh;
	if (rd.cut && before && keep_rest(&rd, before))
		return err_nomem();
	*ret = TAKE_PTR(rd.jit);
	return 0;
}

int gdb_jit_read(gdb_jit_peek *peek, void *arg, const uint64_t *descriptors, size_t n,
		 struct gdb_jit **ret)
{
	return gdb_jit_read_on(NULL, peek, NULL, arg, descriptors, n, ret);
}

bool gdb_jit_goes_on(const struct gdb_jit *j)
{
	return j->goes_on;
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

static size_t file_bytes(const struct file *f)
{
	return sizeof(*f) + f->bytes + unwind_rows_bytes(&f->rows) +
	       f->ranges.cap * sizeof(struct range) + f->spans.cap * sizeof(struct span) +
	       f->functions.cap * sizeof(struct function);
}

size_t gdb_jit_bytes(const struct gdb_jit *j)
{
	size_t n = sizeof(*j) + j->table.list.cap * sizeof(*j->table.list.v) + j->table.names.cap +
		   j->rows.cap * sizeof(*j->rows.v);

	vec_foreach(f, &j->files)
		n += file_bytes(*f) / (*f)->refs;
	return n;
}
