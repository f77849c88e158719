/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of run-time code registered for gdb, in this program's own memory. The objects are made by
 * the compiler; nm says where their functions are, and ld links them for the same addresses. Also
 * tests lists that are broken, or change while krait reads them. The symbols of numba are those
 * that numba 0.68 gave to the functions named beside them.
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <cmocka.h>

#define MADE_DIR "/tmp/krait-test-gdb-jit-XXXXXX"
#include "base/error.h"
#include "base/work/slice.h"
#include "elf/elf_file.h"
#include "made_files.h"
#include "python/heap/peek.h"
#include "symbol/madecode/gdb_jit.h"
#include "symbol/madecode/numba_name.h"
#include "unwind/compile.h"

#define A_AT	 0x10000000ull
#define B_AT	 0x20000000ull
#define PAGE	 4096
#define FILE_MAX 65536

static const char make[] =
	"printf 'int one(int x) { return x * 3; } static int two(int x) { return x + 7; }\\n"
	"int (*volatile p)(int) = two; int three(int x) { return p(x) - one(x); }' >a.c;"
	"sed 's/one/uno/g; s/two/due/g; s/three/tre33/g' a.c >b.c;"
	"for x in a b; do cc -O1 -fno-inline -g -c $x.c &&"
	" nm -S --defined-only $x.o | grep -i ' t ' >$x.nm; done;"
	"ld -e 0 -Ttext=0x10000000 -o a.exe a.o && ld -e 0 -Ttext=0x20000000 -o b.exe b.o && "
	"cc -O1 -fno-inline -g -fno-asynchronous-unwind-tables -c b.c";

struct entry {
	uint64_t next, prev, file, size;
};

static struct {
	uint32_t version, action;
	uint64_t relevant, first;
} descriptor;
static struct entry entries[2];
static char files[2][FILE_MAX];
static struct nm {
	unsigned long start, size;
	char name[16];
} symbols[2][8];

static uint64_t address(const void *p)
{
	return (uintptr_t)p;
}

/* Registers object @i, whose code is at @at, as a code generator does. */
static void put_file(int i, char x, uint64_t at)
{
	char name[] = {x, '.', 'o', '\0'};
	_cleanup_close_ int fd = open_at(name, O_RDONLY);
	ssize_t n = read(fd, files[i], FILE_MAX);
	Elf64_Ehdr *h = (Elf64_Ehdr *)files[i];
	Elf64_Shdr *s = (Elf64_Shdr *)(files[i] + h->e_shoff);

	assert_in_range(n, 1, FILE_MAX - 1);
	for (size_t k = 0; k < h->e_shnum; k++)
		if (s[k].sh_flags & SHF_EXECINSTR && s[k].sh_size)
			s[k].sh_addr = at;
	entries[i].file = address(files[i]);
	entries[i].size = (size_t)n;
}

static void put_list(void)
{
	descriptor.version = 1;
	descriptor.first = descriptor.relevant = address(&entries[0]);
	put_file(0, 'a', A_AT);
	put_file(1, 'b', B_AT);
	entries[0].next = address(&entries[1]);
	entries[1].prev = address(&entries[0]);
	entries[0].prev = entries[1].next = 0;
}

static void read_nm(int i, const char *name)
{
	_cleanup_close_ int fd = open_at(name, O_RDONLY);
	FILE *f = fdopen(dup(fd), "r");

	for (size_t k = 0; k < ARRAY_SIZE(symbols[i]); k++)
		if (fscanf(f, "%lx %lx %*c %15s", &symbols[i][k].start, &symbols[i][k].size,
			   symbols[i][k].name) != 3)
			break;
	fclose(f);
	assert_true(symbols[i][2].size && !symbols[i][3].size);
}

static int peek_self(void *arg, uint64_t addr, void *buf, size_t n)
{
	return peek(getpid(), addr, buf, n);
}

static int read_list(struct gdb_jit **ret)
{
	uint64_t at = address(&descriptor);

	*ret = NULL;
	return gdb_jit_read(peek_self, NULL, &at, 1, ret);
}

/*
 * Checks that each address of each function of object @i has that function's name, and that the
 * addresses around them have none. The object's code is at @at.
 */
static void expect_all(const struct gdb_jit *j, int i, uint64_t at)
{
	for (const struct nm *s = symbols[i]; s->size; s++) {
		for (uint64_t k = 0; k < s->size; k++) {
			uint64_t start = 0;
			const char *name = gdb_jit_find(j, at + s->start + k, &start);

			assert_non_null(name);
			assert_string_equal(name, s->name);
			assert_int_equal(start, at + s->start);
		}
	}
	assert_null(gdb_jit_find(j, at - 1, NULL));
	assert_null(gdb_jit_find(j, at + 4096, NULL));
}

static void test_names(void **state)
{
	struct gdb_jit *j;

	if (*state)
		skip();
	put_list();
	assert_int_equal(read_list(&j), 0);
	expect_all(j, 0, A_AT);
	expect_all(j, 1, B_AT);
	assert_int_equal(gdb_jit_stats(j).files, 2);
	assert_int_equal(gdb_jit_stats(j).malformed, 0);
	assert_true(gdb_jit_looks_same(j, peek_self, NULL));
	descriptor.first = address(&entries[1]);
	assert_false(gdb_jit_looks_same(j, peek_self, NULL));
	gdb_jit_free(j);
	descriptor.first = 0;
	assert_int_equal(read_list(&j), 0);
	assert_null(gdb_jit_find(j, A_AT, NULL));
	gdb_jit_free(j);
}

/* Copies a linked object to the addresses for which it was linked. */
static void put_memory(struct elf_file *f, uint64_t vaddr, uint64_t n)
{
	uint64_t page = vaddr & ~(uint64_t)(PAGE - 1);
	void *at = mmap((void *)(uintptr_t)page, vaddr + n - page, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	assert_ptr_equal(at, (void *)(uintptr_t)page);
	assert_int_equal(elf_file_read(f, vaddr, (void *)(uintptr_t)vaddr, n), n);
}

static struct elf_file *load(char x, struct elf_section *eh)
{
	char name[] = {x, '.', 'e', 'x', 'e', '\0'};
	int fd = open_at(name, O_RDONLY); /* stays open until the end of the test */
	struct elf_file *f = NULL;
	struct elf_section text;

	assert_int_equal(elf_file_open(fd, name, &f), 0);
	assert_true(elf_file_section(f, ".text", &text));
	assert_true(elf_file_section(f, ".eh_frame", eh));
	put_memory(f, text.vaddr, text.size);
	put_memory(f, eh->vaddr, eh->size);
	return f;
}

/* Puts the .eh_frame of object @i to @at, relocated as a code generator does it. */
static void put_eh_frame(int i, uint64_t at)
{
	Elf64_Ehdr *h = (Elf64_Ehdr *)files[i];
	Elf64_Shdr *s = (Elf64_Shdr *)(files[i] + h->e_shoff);

	for (size_t k = 0; k < h->e_shnum; k++)
		if (!strcmp(files[i] + s[h->e_shstrndx].sh_offset + s[k].sh_name, ".eh_frame"))
			s[k].sh_addr = at;
}

/*
 * Checks that the unwind rules for object @i equal those of the file that ld linked for address
 * @at. In @rows the object's code begins at offset @key. @registers: compares the rules for saved
 * registers as well.
 */
static void expect_rules(const struct unwind_rows *rows, int i, uint64_t at, uint64_t key,
			 struct elf_file *f, bool registers)
{
	_cleanup_unwind_rows_ struct unwind_rows linked = {};
	size_t different = 0;

	assert_int_equal(unwind_rows_read_tables(f, &linked), 0);
	for (const struct nm *s = symbols[i]; s->size; s++) {
		assert_int_equal(unwind_rows_fde(rows, key + s->start)->start, key + s->start);
		for (uint64_t k = s->start; k < s->start + s->size; k++) {
			const struct unwind_rule *got = unwind_rows_find(rows, key + k);
			const struct unwind_rule *rule = unwind_rows_find(&linked, at + k);

			assert_non_null(got);
			assert_non_null(rule);
			different += got->cfa != rule->cfa || got->reg != rule->reg ||
				     got->off != rule->off || got->ra != rule->ra;
			different += registers && (got->fp != rule->fp || got->bx != rule->bx);
		}
	}
	assert_int_equal(different, 0);
}

static int join_rows(const struct gdb_jit *j, const struct unwind_place *places, size_t n,
		     struct unwind_rows *ret)
{
	const unwind_rows_vec *all = gdb_jit_rows(j);

	return unwind_rows_join(all->v, all->n, places, n, ret);
}

/* Object a has .eh_frame. Object b has none, so its unwind rows come from its instructions. */
static void test_rows(void **state)
{
	const struct unwind_place places[] = {{A_AT, A_AT + PAGE, PAGE},
					      {B_AT, B_AT + PAGE, 2 * PAGE}};
	struct elf_section eh_a, eh_b;
	struct unwind_rows rows;
	struct elf_file *a, *b;
	struct gdb_jit *j;

	if (*state)
		skip();
	a = load('a', &eh_a);
	b = load('b', &eh_b);
	put_list();
	put_eh_frame(0, eh_a.vaddr);
	assert_int_equal(read_list(&j), 0);
	assert_int_equal(join_rows(j, places, 2, &rows), 0);
	expect_rules(&rows, 0, A_AT, PAGE, a, true);
#ifdef __x86_64__
	expect_rules(&rows, 1, B_AT, 2 * PAGE, b, false);
#endif
	assert_int_equal(unwind_rows_find(&rows, 2 * PAGE - 1)->cfa, UNWIND_UNKNOWN);
	unwind_rows_fini(&rows);
	/* code outside of all of `places`, or only partly in one of them, gets no unwind rows */
	assert_int_equal(join_rows(j, places + 1, 1, &rows), 0);
	assert_null(unwind_rows_fde(&rows, PAGE));
	unwind_rows_fini(&rows);
	gdb_jit_free(j);
	/* code that two objects claim gets no unwind rows */
	put_file(1, 'b', A_AT + 1);
	assert_int_equal(read_list(&j), 0);
	assert_int_equal(join_rows(j, places, 2, &rows), 0);
	assert_int_equal(rows.rules.n, 1);
	unwind_rows_fini(&rows);
	gdb_jit_free(j);
	elf_file_free(a);
	elf_file_free(b);
}

/*
 * Two objects in the list claim the same code. One of them has been freed without leaving the list,
 * and krait can't know which.
 */
static void test_same_place(void **state)
{
	struct gdb_jit *j;

	if (*state)
		skip();
	put_list();
	put_file(1, 'b', A_AT + 1);
	assert_int_equal(read_list(&j), 0);
	assert_null(gdb_jit_find(j, A_AT + symbols[0][0].start, NULL));
	assert_int_equal(gdb_jit_stats(j).doubtful, 2);
	gdb_jit_free(j);
}

static void test_broken_lists(void **state)
{
	struct gdb_jit *j;

	if (*state)
		skip();
	put_list();
	entries[1].next = address(&entries[0]); /* makes the list circular */
	assert_int_equal(read_list(&j), -EPROTO);
	entries[0].prev = address(&entries[1]);
	assert_int_equal(read_list(&j), -EPROTO);
	put_list();
	entries[1].next = 8; /* no memory is mapped at address 8 */
	assert_int_equal(read_list(&j), -EFAULT);
	descriptor.version = 2;
	assert_int_equal(read_list(&j), -EPROTO);
	put_list();
	descriptor.first = UINT64_MAX - 7;
	assert_int_equal(read_list(&j), -EFAULT);
}

/*
 * Many symbol tables share one string table. Each table has its own copy of it, which counts in the
 * limit on memory.
 */
static void test_shared_strings(void **state)
{
	enum { TABLES = 500, SYMBOLS = TABLES + 2, STRINGS = 1 };
	static char text[64];
	Elf64_Ehdr *h = (Elf64_Ehdr *)files[0];
	Elf64_Shdr *s = (Elf64_Shdr *)(h + 1);
	Elf64_Sym *symbol = (Elf64_Sym *)(s + SYMBOLS);
	struct gdb_jit *j;

	if (*state)
		skip();
	put_list();
	memset(s, 0, FILE_MAX - sizeof(*h));
	h->e_shoff = sizeof(*h);
	h->e_shnum = SYMBOLS;
	s[0] = (Elf64_Shdr){.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			    .sh_addr = address(text),
			    .sh_size = sizeof(text)};
	s[STRINGS] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = FILE_MAX};
	for (size_t i = STRINGS + 1; i < SYMBOLS; i++)
		s[i] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				    .sh_link = STRINGS,
				    .sh_offset = (uint64_t)((char *)symbol - files[0]),
				    .sh_size = sizeof(*symbol)};
	/* as the string table is the whole file, the name begins with its second byte: "ELF..." */
	*symbol = (Elf64_Sym){.st_name = 1,
			      .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			      .st_size = sizeof(text)};
	memcpy(files[1], files[0], FILE_MAX);
	entries[0].size = entries[1].size = FILE_MAX;
	assert_int_equal(read_list(&j), 0);
	assert_in_range(gdb_jit_bytes(j), TABLES * FILE_MAX, GDB_JIT_BYTES_MAX + (1 << 20));
	assert_int_equal(gdb_jit_stats(j).files, 1);
	assert_int_equal(gdb_jit_stats(j).malformed, 1);
	gdb_jit_free(j);
}

/* If one object's file is broken, krait still has the names of the other object. */
static void test_broken_files(void **state)
{
	static const uint64_t sizes[] = {0,	     1,		 63,	     64,
					 UINT64_MAX, 1ull << 62, 1ull << 40, UINT64_MAX - FILE_MAX};
	Elf64_Ehdr *h = (Elf64_Ehdr *)files[0];
	struct gdb_jit *j;
	size_t whole;

	if (*state)
		skip();
	put_list();
	whole = entries[0].size;
	for (size_t i = 0; i < ARRAY_SIZE(sizes) + whole / 16; i++) {
		put_list();
		entries[0].size = i < ARRAY_SIZE(sizes) ? sizes[i] : (i - ARRAY_SIZE(sizes)) * 16;
		assert_int_equal(read_list(&j), 0);
		expect_all(j, 1, B_AT);
		assert_int_equal(gdb_jit_stats(j).files + gdb_jit_stats(j).malformed, 2);
		gdb_jit_free(j);
	}
	/* changes each byte in turn, so that tables lead anywhere */
	for (size_t i = 0; i < whole; i++) {
		put_list();
		files[0][i] ^= (char)0xff;
		assert_int_equal(read_list(&j), 0);
		assert_true(gdb_jit_stats(j).doubtful || gdb_jit_find(j, B_AT, NULL));
		gdb_jit_free(j);
	}
	put_list();
	h->e_shnum = 0xffff;
	assert_int_equal(read_list(&j), 0);
	assert_int_equal(gdb_jit_stats(j).malformed, 1);
	gdb_jit_free(j);
}

/*
 * After this many reads, object b replaces object a in the same list entry and memory. The code of
 * b is at another address.
 */
static int reads_left;

static int peek_changing(void *arg, uint64_t addr, void *buf, size_t n)
{
	if (!reads_left--)
		put_file(0, 'b', A_AT + 0x100000);
	return peek_self(arg, addr, buf, n);
}

static void test_changing(void **state)
{
	uint64_t at = address(&descriptor);
	int r = -EAGAIN, changed = 0;

	if (*state)
		skip();
	for (int n = 1; reads_left <= 0; n++) {
		struct gdb_jit *j = NULL;

		put_list();
		entries[0].next = 0;
		reads_left = n;
		r = gdb_jit_read(peek_changing, NULL, &at, 1, &j);
		changed += r == -EAGAIN;
		if (!r && reads_left < 0 && gdb_jit_find(j, A_AT, NULL))
			expect_all(j, 0, A_AT);
		else if (!r && reads_left < 0)
			expect_all(j, 1, A_AT + 0x100000);
		else if (r)
			assert_int_equal(r, -EAGAIN);
		gdb_jit_free(j);
		if (reads_left > 0)
			break;
		reads_left = 0;
	}
	assert_true(changed > 2);
}

/*
 * peek_turning() changes the list when the descriptor is read, and when address 8 is read, where no
 * memory is.
 */
static struct entry turning;
static size_t bytes_read; /* number of bytes read, without those of list entries */

static int peek_turning(void *arg, uint64_t addr, void *buf, size_t n)
{
	bytes_read += n > 2 * sizeof(turning) ? n : 0;
	if (addr == address(&descriptor)) {
		descriptor.action++;
		if (turning.next && descriptor.action > 1)
			entries[0].prev = address(&turning);
	} else if (addr == 8) { /* test_taken_once() reads this address */
		entries[1].prev = address(&entries[0]);
	}
	return peek_self(arg, addr, buf, n);
}

/* If a list is circular, a reading goes around it once. */
static void test_circle(void **state)
{
	uint64_t at = address(&descriptor);
	struct gdb_jit *j = NULL;

	if (*state)
		skip();
	put_list();
	entries[1].next = turning.next = address(&entries[0]);
	entries[0].prev = address(&entries[1]);
	bytes_read = descriptor.action = 0;
	(void)!gdb_jit_read(peek_turning, NULL, &at, 1, &j);
	turning.next = 0;
	print_message("%zu bytes of %zu\n", bytes_read, (size_t)entries[0].size);
	assert_true(bytes_read < 20 * entries[0].size);
	gdb_jit_free(j);
}

/*
 * If an entry's link changes while krait reads it, the entry is still added only once. Otherwise it
 * would look like two objects with the same code, of which krait trusts neither.
 */
static void test_taken_once(void **state)
{
	uint64_t at = address(&descriptor);
	struct gdb_jit *j;

	if (*state)
		skip();
	put_list();
	entries[1].prev = 8;
	assert_int_equal(gdb_jit_read(peek_turning, NULL, &at, 1, &j), 0);
	assert_int_equal(gdb_jit_stats(j).doubtful, 0);
	expect_all(j, 0, A_AT);
	expect_all(j, 1, B_AT);
	gdb_jit_free(j);
}

/* If one of two lists can't be followed, krait still knows the objects of the other one. */
static void test_two_lists(void **state)
{
	static struct {
		uint32_t version, action;
		uint64_t relevant, first;
	} second = {.version = 1};
	uint64_t at[] = {address(&descriptor), address(&second)};
	struct gdb_jit *j;

	if (*state)
		skip();
	put_list();
	entries[0].prev = 16;
	entries[1].prev = 0;
	second.first = address(&entries[1]);
	assert_int_equal(gdb_jit_read(peek_turning, NULL, at, 2, &j), 0);
	expect_all(j, 1, B_AT);
	gdb_jit_free(j);
}

/* A long list of objects in this program's own memory. Their code is in `code`. */
#define MANY 60
static struct entry many[MANY];
static char *objects[MANY], code[MANY][PAGE];
static bool listed[MANY];
static unsigned peeks;

static int peek_counted(void *arg, uint64_t addr, void *buf, size_t n)
{
	peeks++;
	return peek_self(arg, addr, buf, n);
}

static int peek_pieces_counted(void *arg, const struct iovec *from, size_t n, void *buf,
			       size_t bytes)
{
	const struct iovec to = {buf, bytes};

	(void)arg;
	peeks++;
	return peek_pieces(getpid(), &to, from, n) == (ssize_t)bytes ? 0 : -EFAULT;
}

/* Makes list entry @i that of object @x, whose code is put at code[@i]. */
static void put_object(size_t i, char x)
{
	Elf64_Ehdr *h;
	Elf64_Shdr *s;

	put_file(0, x, address(code[i]));
	objects[i] = objects[i] ?: malloc(FILE_MAX);
	memcpy(objects[i], files[0], FILE_MAX);
	h = (Elf64_Ehdr *)objects[i];
	s = (Elf64_Shdr *)(objects[i] + h->e_shoff);
	for (size_t k = 0; k < h->e_shnum; k++)
		if (s[k].sh_flags & SHF_EXECINSTR && s[k].sh_size)
			memcpy(code[i], objects[i] + s[k].sh_offset, s[k].sh_size);
	many[i].file = address(objects[i]);
	many[i].size = entries[0].size;
}

static void list_first(size_t i)
{
	struct entry *next = (void *)(uintptr_t)descriptor.first;

	many[i].next = descriptor.first;
	many[i].prev = 0;
	if (next)
		next->prev = address(&many[i]);
	descriptor.first = descriptor.relevant = address(&many[i]);
	listed[i] = true;
}

static void unlist(size_t i)
{
	struct entry *next = (void *)(uintptr_t)many[i].next;
	struct entry *prev = (void *)(uintptr_t)many[i].prev;

	if (prev)
		prev->next = many[i].next;
	else
		descriptor.first = many[i].next;
	if (next)
		next->prev = many[i].prev;
	listed[i] = false;
}

static void change_list(unsigned what, size_t i)
{
	if (!listed[i]) {
		put_object(i, what & 1 ? 'a' : 'b');
		list_first(i);
	} else if (what == 0) {
		unlist(i);
	} else if (what == 1) { /* the entry was freed, and another entry has its memory */
		unlist(i);
		put_object(i, 'a');
		list_first(i);
	} else if (what == 2) { /* the object was replaced without notice */
		put_object(i, 'b');
	} else if (what == 3) {
		code[i][5] ^= 1;
	} else {
		char *name = memmem(objects[i], many[i].size, "\0tre33", 7);

		if (name)
			name[1] = 'T';
	}
}

static void expect_equal(const struct gdb_jit *a, const struct gdb_jit *b)
{
	const struct gdb_jit_stats x = gdb_jit_stats(a), y = gdb_jit_stats(b);
	const unwind_rows_vec *rows_a = gdb_jit_rows(a), *rows_b = gdb_jit_rows(b);

	assert_memory_equal(&x, &y, sizeof(x));
	for (size_t i = 0; i < MANY; i++)
		for (size_t k = 0; k < 256; k += 4) {
			uint64_t at = address(code[i]) + k, start_a = 0, start_b = 0;
			const char *name_a = gdb_jit_find(a, at, &start_a);
			const char *name_b = gdb_jit_find(b, at, &start_b);

			assert_int_equal(!name_a, !name_b);
			assert_int_equal(start_a, start_b);
			if (name_a)
				assert_string_equal(name_a, name_b);
		}
	assert_int_equal(rows_a->n, rows_b->n);
	for (size_t i = 0; i < rows_a->n; i++) {
		assert_int_equal(rows_a->v[i].base, rows_b->v[i].base);
		assert_int_equal(rows_a->v[i].rows.n, rows_b->v[i].rows.n);
		assert_memory_equal(rows_a->v[i].rows.v, rows_b->v[i].rows.v,
				    rows_a->v[i].rows.n * sizeof(*rows_a->v[i].rows.v));
	}
}

static struct gdb_jit *read_on(struct gdb_jit *before)
{
	uint64_t at = address(&descriptor);
	struct gdb_jit *now;

	assert_int_equal(
		gdb_jit_read_on(before, peek_counted, peek_pieces_counted, NULL, &at, 1, &now), 0);
	gdb_jit_free(before);
	return now;
}

static void free_objects(void)
{
	for (size_t i = 0; i < MANY; i++) {
		free(objects[i]);
		objects[i] = NULL;
	}
}

/*
 * A reading that continues an earlier one finds the same as a reading from the beginning, whatever
 * has changed in between, and costs little.
 */
static void test_read_on(void **state)
{
	struct gdb_jit *now = NULL, *fresh;
	uint64_t at = address(&descriptor);
	unsigned on, random = 1;

	if (*state)
		skip();
	descriptor.version = 1;
	descriptor.first = 0;
	for (unsigned i = 0; i < 400; i++) {
		random = random * 1103515245 + 12345;
		change_list(random >> 24 & 7, i < MANY ? i : (random >> 8) % MANY);
		now = read_on(now);
		assert_int_equal(read_list(&fresh), 0);
		expect_equal(now, fresh);
		gdb_jit_free(fresh);
	}
	for (size_t i = 0; i < MANY; i++)
		if (!listed[i])
			change_list(1, i);
	now = read_on(now);
	unlist(7);
	list_first(7);
	peeks = 0;
	now = read_on(now);
	on = peeks;
	peeks = 0;
	assert_int_equal(gdb_jit_read(peek_counted, NULL, &at, 1, &fresh), 0);
	print_message("%u reads, %u afresh\n", on, peeks);
	assert_in_range(on, 1, peeks / 5);
	gdb_jit_free(fresh);
	gdb_jit_free(now);
	free_objects();
}

static void list_all(void)
{
	memset(listed, 0, sizeof(listed));
	descriptor.version = 1;
	descriptor.first = 0;
	for (size_t i = 0; i < MANY; i++)
		change_list(i, i);
}

/*
 * Reads gdb's list again and again until it is complete, with at most @work units of work each
 * time. Returns how many readings were cut off.
 */
static unsigned read_in_slices(struct gdb_jit **j, uint64_t work)
{
	unsigned n = 0;

	do {
		size_t before = *j ? gdb_jit_stats(*j).files : 0;
		struct slice slice;

		slice_begin(&slice, work);
		*j = read_on(*j);
		slice_end(&slice);
		if (gdb_jit_goes_on(*j))
			assert_true(gdb_jit_stats(*j).files > before || !n);
	} while (gdb_jit_goes_on(*j) && n++ < MANY);
	return n;
}

/*
 * If a reading was cut off, the next one continues it. The entries that were read before are still
 * known.
 */
static void test_cut(void **state)
{
	struct gdb_jit *now = NULL, *fresh;
	unsigned afresh;

	if (*state)
		skip();
	list_all();
	peeks = 0;
	fresh = read_on(NULL);
	afresh = peeks;
	peeks = 0;
	assert_in_range(read_in_slices(&now, afresh * 15000 / 10), 3, 20);
	expect_equal(now, fresh);
	assert_in_range(peeks, afresh, 2 * afresh);
	gdb_jit_free(fresh);
	for (size_t i = 0; i < MANY / 2; i++) {
		unlist(i);
		list_first(i);
		put_object(i, 'a');
	}
	peeks = 0;
	assert_in_range(read_in_slices(&now, afresh * 15000 / 10), 1, 10);
	assert_in_range(peeks, 1, afresh);
	fresh = read_on(NULL);
	expect_equal(now, fresh);
	gdb_jit_free(fresh);
	gdb_jit_free(now);
	free_objects();
}

/*
 * The list changes at every @every-th read. The entries of `many` from number STILL on stay in it.
 */
#define STILL (MANY / 3)
static unsigned every, changes;

static void disturb(void)
{
	size_t i = changes * 7 % STILL;

	if (!every || peeks % every)
		return;
	changes++;
	descriptor.action ^= 3;
	if (listed[i]) {
		unlist(i);
		/* the memory of the entry is used for something else */
		memset(&many[i], 0xff, sizeof(many[i]));
	} else {
		put_object(i, "ab"[changes & 1]);
		list_first(i);
	}
}

static int peek_disturbed(void *arg, uint64_t addr, void *buf, size_t n)
{
	disturb();
	return peek_counted(arg, addr, buf, n);
}

static int peek_pieces_disturbed(void *arg, const struct iovec *from, size_t n, void *buf,
				 size_t bytes)
{
	disturb();
	return peek_pieces_counted(arg, from, n, buf, bytes);
}

/*
 * Entries come and go. Checks that each of them has a right name or none. Returns how many of the
 * entries that always stay have no name.
 */
static size_t count_nameless(const struct gdb_jit *j)
{
	static const char *const names[] = {"one", "two", "three", "uno", "due", "tre33"};
	size_t nameless = 0;

	for (size_t i = 0; i < MANY; i++) {
		const char *name = gdb_jit_find(j, address(code[i]), NULL);
		bool right = !name;

		for (size_t k = 0; name && k < ARRAY_SIZE(names); k++)
			right |= !strcmp(name, names[k]);
		assert_true(right);
		nameless += i >= STILL && !name;
	}
	return nameless;
}

/*
 * In a list that changes all the time, the entries that stay have names, unless the list changes at
 * nearly every read.
 */
static void test_still(void **state)
{
	uint64_t at = address(&descriptor);

	if (*state)
		skip();
	list_all();
	for (every = 8; every < 64; every++) {
		struct gdb_jit *j = NULL, *now;

		changes = 0;
		for (int i = 0; i < 3; i++) {
			assert_int_equal(gdb_jit_read_on(j, peek_disturbed, peek_pieces_disturbed,
							 NULL, &at, 1, &now),
					 0);
			gdb_jit_free(j);
			j = now;
			assert_int_equal(count_nameless(j), 0);
		}
		assert_true(changes);
		gdb_jit_free(j);
	}
	every = 0;
	free_objects();
}

static void expect_numba(const char *symbol, const char *name)
{
	_cleanup_free_ char *got = numba_name(symbol);

	if (!name) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	assert_string_equal(got, name);
}

static void test_numba(void **state)
{
	expect_numba("_ZN8__main__4leafB2v3B38c8tJTIeFIjxB2IKSgI4CrvQClQZ6FczSBAA_"
		     "3dE5ArrayIdLi1E1C7mutable7alignedEx",
		     "__main__.leaf");
	expect_numba("_ZN7cpython8__main__4leafB2v3B38c8tJTIeFIjxB2IKSgI4CrvQClQZ6FczSBAA_"
		     "3dE5ArrayIdLi1E1C7mutable7alignedEx",
		     "cpython.__main__.leaf");
	expect_numba("__gufunc__._ZN13_3cdynamic_3e36__numba_parfor_gufunc_0x7f2ff0b2b6e0B3v16B106"
		     "c8tJTC_2fWQAliW1xhDE5ArrayIyLi1E1C7mutable7alignedE",
		     "__gufunc__.<dynamic>.__numba_parfor_gufunc_0x7f2ff0b2b6e0");
	expect_numba("_ZN3app5outer12_3clocals_3e5innerB2v1Ex", "app.outer.<locals>.inner");
	/* here _3e belongs to the function's name, and isn't an escaped ">" */
	expect_numba("_ZN3app9my_add_3eB2v1Ex", "app.my_add_3e");
	expect_numba("_Z1fB2v9x", "f");
	/* a symbol as C++ compilers make it, and a symbol that is cut off */
	expect_numba("_ZN3std3fooB5cxx11Ev", NULL);
	expect_numba("_ZN3app1fEv", NULL);
	expect_numba("_ZN99app1fB2v1Ev", NULL);
	expect_numba("_ZN99999999999999999999999999app", NULL);
	expect_numba("_ZN3app1fB2v", NULL);
	expect_numba("a_Z1fB2v9x", NULL);
	expect_numba("_Z", NULL);
	expect_numba("", NULL);
	expect_numba("NRT_incref", NULL);
}

static int set_up(void **state)
{
	int r = make_dir(state, make, "SKIP gdb_jit: no compiler, nm or ld\n");

	if (!r && !*state) {
		read_nm(0, "a.nm");
		read_nm(1, "b.nm");
	}
	return r;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	     cmocka_unit_test(test_rows),
		cmocka_unit_test(test_same_place),   cmocka_unit_test(test_broken_lists),
		cmocka_unit_test(test_broken_files), cmocka_unit_test(test_changing),
		cmocka_unit_test(test_circle),	     cmocka_unit_test(test_taken_once),
		cmocka_unit_test(test_two_lists),    cmocka_unit_test(test_shared_strings),
		cmocka_unit_test(test_read_on),	     cmocka_unit_test(test_cut),
		cmocka_unit_test(test_still),	     cmocka_unit_test(test_numba),
	};

	return cmocka_run_group_tests(tests, set_up, remove_all);
}
