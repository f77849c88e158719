/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the names of kernel addresses; see kernel_names.h. */
#include "symbol/kernel_names.h"

#include "base/error.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "symbol/text_line.h"

#define BLOCK (64u << 10)
/*
 * the most bytes of /proc/kallsyms that are read; Debian's has 5 MB, and 30 MB with every module
 * and KALLSYMS_ALL
 */
#define TEXT_MAX (256u << 20)
/* how far the kernel's code reaches from _stext on; modules and BPF programs are further away */
#define IMAGE_MAX (128u << 20)
/* how many bytes a function has at most, if no other symbol of its module comes after it */
#define REACH_MAX (64u << 10)
/* the most bytes of padding before a function (CONFIG_FUNCTION_PADDING_BYTES) */
#define PADDING_MAX 64

/*
 * A symbol of the kernel. A symbol that isn't code is kept only because the function before it ends
 * at the symbol's address.
 */
struct kernel_symbol {
	uint64_t start;
	uint32_t name; /* offset of the symbol's name in .text */
	/* enum rank: of the symbols at one address the one with the lowest rank is kept */
	uint32_t rank : 3;
	/* offset of the module's name in .text; 0: the symbol is of no module */
	uint32_t module : 29;
};

/*
 * Ranks of symbols, the best first. RANK_PADDING is a symbol "__pfx_NAME", for the bytes before
 * function NAME. The kernel may have turned these bytes into code, in which case the function
 * begins with them.
 */
enum rank { RANK_GLOBAL, RANK_WEAK, RANK_LOCAL, RANK_PADDING, RANK_NOT_CODE };

struct kernel_names {
	VEC(struct kernel_symbol) list; /* symbols in ascending order, one for each address */
	struct str text;
	uint64_t any_addr; /* all addresses, or-ed together; if this is 0, the kernel hides them */
	uint64_t stext;	   /* address of the symbol _stext; 0: there is no such symbol */
};

static uint32_t add_text(struct str *s, const char *p, size_t n)
{
	uint32_t at = (uint32_t)s->n;

	str_add_n(s, p, strnlen(p, n));
	str_add_c(s, '\0');
	return at;
}

/*
 * Adds to .text the name of the module in "\t[NAME]", unless the last symbol has the same module:
 * symbols of one module mostly come together. Returns the name's offset. From "[__builtin__ftrace]"
 * it takes the name "ftrace".
 */
static uint32_t add_module(struct kernel_names *k, const char *p, size_t n)
{
	uint32_t last = k->list.n ? k->list.v[k->list.n - 1].module : 0;

	if (n < 4 || p[1] != '[' || p[n - 1] != ']')
		return 0;
	p += 2;
	n -= 3;
	if (n > 11 && !memcmp(p, "__builtin__", 11)) {
		p += 11;
		n -= 11;
	}
	n = strnlen(p, n);
	if (!strncmp(k->text.s + last, p, n) && !k->text.s[last + n])
		return last;
	return add_text(&k->text, p, n);
}

static enum rank rank_of(char type, const char *name, size_t n)
{
	if (n > 6 && !memcmp(name, "__pfx_", 6))
		return RANK_PADDING;
	switch (type) {
	case 'T':
		return RANK_GLOBAL;
	case 'W':
	case 'w':
		return RANK_WEAK;
	case 't':
		return RANK_LOCAL;
	default:
		return RANK_NOT_CODE;
	}
}

/*
 * Adds the symbol of a line such as "ffffffff81000000 T _stext" or "ffffffffc0000000 t foo\t[mod]".
 * Leaves out lines of any other form.
 */
static int add_line(struct kernel_names *k, const char *line, size_t n)
{
	struct kernel_symbol s = {};
	const char *end = line + n, *tab = memchr(line, '\t', n);
	const char *name_end = tab ? tab : end;

	if (!take_hex(&line, name_end, ' ', &s.start) || name_end - line < 3 || line[1] != ' ')
		return 0;
	k->any_addr |= s.start;
	if (!tab && name_end - line == 2 + 6 && !memcmp(line + 2, "_stext", 6))
		k->stext = s.start;
	s.rank = rank_of(line[0], line + 2, (size_t)(name_end - line - 2));
	if (s.rank < RANK_PADDING)
		s.name = add_text(&k->text, line + 2, (size_t)(name_end - line - 2));
	s.module = tab ? add_module(k, tab, (size_t)(end - tab)) : 0;
	return k->text.failed ? -ENOMEM : vec_push(&k->list, s);
}

/*
 * Orders symbols by address. Of the symbols at one address the best comes first. Symbols are better
 * or worse as in symbol_table.h, except that kallsyms has no sizes.
 */
static int compare(const void *a, const void *b, void *text)
{
	const struct kernel_symbol *x = a, *y = b;
	const char *s = (char *)text + x->name, *t = (char *)text + y->name;
	size_t m, n;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	m = strspn(s, "_");
	n = strspn(t, "_");
	if (m != n)
		return m < n ? -1 : 1;
	m = strlen(s);
	n = strlen(t);
	if (m != n)
		return m < n ? -1 : 1;
	return strcmp(s, t);
}

static bool is_padding_of(const struct kernel_symbol *padding, const struct kernel_symbol *s)
{
	return padding->rank == RANK_PADDING && s->rank < RANK_PADDING &&
	       s->start - padding->start <= PADDING_MAX;
}

/*
 * Sorts the symbols. Keeps only one symbol of each address. Of symbols that follow one another and
 * aren't code, keeps only the first.
 */
static void sort(struct kernel_names *k)
{
	/*
	 * address of the symbol that was kept last; if the padding before it was added to the
	 * symbol, the address after the padding
	 */
	uint64_t last_at = 0;
	size_t n = 0;

	if (k->list.n)
		qsort_r(k->list.v, k->list.n, sizeof(*k->list.v), compare, k->text.s);
	vec_foreach(s, &k->list) {
		const struct kernel_symbol *last = n ? &k->list.v[n - 1] : NULL;
		uint64_t at = s->start;

		if (last &&
		    (last_at == at || (last->rank >= RANK_PADDING && s->rank >= RANK_PADDING)))
			continue;
		if (last && is_padding_of(last, s))
			s->start = k->list.v[--n].start;
		last_at = at;
		k->list.v[n++] = *s;
	}
	k->list.n = n;
	vec_shrink(&k->list);
	str_shrink(&k->text);
}

static struct kernel_names *new_names(void)
{
	struct kernel_names *k = calloc(1, sizeof(*k));

	if (k)
		add_text(&k->text, "", 0);
	return k;
}

/*
 * Adds the whole lines of text[0..n). Sets *used to the offset of the incomplete line at the end.
 */
static int add_lines(struct kernel_names *k, const char *text, size_t n, size_t *used)
{
	const char *end = text + n, *line = text, *next;
	int r = 0;

	for (; !r && (next = memchr(line, '\n', (size_t)(end - line))); line = next + 1)
		r = add_line(k, line, (size_t)(next - line));
	*used = (size_t)(line - text);
	return k->text.failed ? -ENOMEM : r;
}

int kernel_names_parse(const char *text, size_t n, struct kernel_names **ret)
{
	struct kernel_names *k = new_names();
	size_t used;
	int r = k ? add_lines(k, text, n, &used) : -ENOMEM;

	if (r) {
		kernel_names_free(k);
		return r;
	}
	sort(k);
	*ret = k;
	return 0;
}

void kernel_names_free(struct kernel_names *k)
{
	if (!k)
		return;
	vec_fini(&k->list);
	str_fini(&k->text);
	free(k);
}

/*
 * Reads the text block by block, because the whole text would take as much memory as all that is
 * kept of it.
 */
static int read_lines(struct kernel_names *k, int fd)
{
	_cleanup_free_ char *block = malloc(BLOCK);
	size_t total = 0, have = 0, used;
	ssize_t n;
	int r = 0;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	if (!block)
		return -ENOMEM;
	while (!r && total < TEXT_MAX && have < BLOCK) {
		n = read(fd, block + have, BLOCK - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		total += (size_t)n;
		have += (size_t)n;
		r = add_lines(k, block, have, &used);
		memmove(block, block + used, have - used);
		have -= used;
	}
	return r;
}

int kernel_names_open(int fd, struct kernel_names **ret)
{
	struct kernel_names *k = new_names();
	int r = k ? read_lines(k, fd) : -ENOMEM;

	if (r) {
		kernel_names_free(k);
		return err_sys(r, "can't read the kernel's symbols");
	}
	sort(k);
	if (k->list.n && !k->any_addr) {
		kernel_names_free(k);
		return err_set(-EPERM, "the kernel hides its addresses (kernel.kptr_restrict): "
				       "kernel frames have no names");
	}
	*ret = k;
	return 0;
}

/* Returns the index of the last symbol at or before @addr; SIZE_MAX: there is no such symbol. */
static size_t search(const struct kernel_names *k, uint64_t addr)
{
	return count_upto(k->list.v, k->list.n, start, addr) - 1;
}

static bool is_runtime_code(const char *module)
{
	return streq(module, "bpf") || streq(module, "ftrace") || streq(module, "kprobes");
}

/* Returns the function that holds @addr, or NULL. */
static const struct kernel_symbol *find(const struct kernel_names *k, uint64_t addr)
{
	size_t i = search(k, addr);
	const struct kernel_symbol *s;
	bool last;

	if (i == SIZE_MAX)
		return NULL;
	s = &k->list.v[i];
	if (s->rank >= RANK_PADDING)
		return NULL;
	last = i + 1 == k->list.n || s[1].module != s->module ||
	       is_runtime_code(k->text.s + s->module);
	return last && addr - s->start >= REACH_MAX ? NULL : s;
}

const char *kernel_names_find(const struct kernel_names *k, uint64_t addr, const char **module)
{
	const struct kernel_symbol *s = find(k, addr);

	if (!s)
		return NULL;
	*module = k->text.s + s->module;
	return k->text.s + s->name;
}

uint64_t kernel_names_relative(const struct kernel_names *k, uint64_t addr)
{
	const struct kernel_symbol *s;

	if (k->stext && addr >= k->stext && addr - k->stext < IMAGE_MAX)
		return addr - k->stext;
	s = find(k, addr);
	return s ? addr - s->start : 0;
}

size_t kernel_names_bytes(const struct kernel_names *k)
{
	return sizeof(*k) + k->list.cap * sizeof(*k->list.v) + k->text.cap;
}
