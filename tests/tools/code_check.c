/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares what krait proves from instructions (src/unwind/x86/x86_flow.h) with the call frame
 * information of the same functions, for tests/unwind/code_rows.py.
 *
 * code_check FILE...: prints for each file "file NAME FUNCTIONS PROVEN INSNS SAME UNTOLD GUESSED"
 * (numbers of functions, of proved ones, and of instructions: those compared, those where both
 * agree, those of which one of the two says nothing, those proved from the middle of a function),
 * "why N REASON" for functions that can't be proved, and "differs KEY FUNCTION WHAT" for each
 * instruction where proof and call frame information contradict each other. The proof is also begun
 * in the middle of functions. If it succeeds there, the stack pointer must be right; if it isn't,
 * "guess KEY FUNCTION" is printed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "unwind/x86/x86_flow.h"
#include "unwind/prove/code_starts.h"
#include "elf/elf_sections.h"
#include "unwind/compile.h"

#define WHYS	  32
#define DIFFS_MAX 40

struct check {
	struct elf_file *f;
	const struct unwind_rows *rows;
	const struct unwind_fde *fde;
	struct code_region *r;
	int64_t *sp; /* offset of rsp from the CFA at each byte of the function; 0: not proved */
	uint32_t sp_n;
	unsigned long functions, proven, insns, same, untold, guessed, differing;
	bool differs; /* whether any unwind row of the present function differs */
	struct {
		const char *text;
		unsigned long n;
	} why[WHYS];
};

static bool is_start_state(const struct unwind_rule *u)
{
	return u && ((u->cfa == UNWIND_REG && u->reg == 7 && u->off == 8 && u->ra == -1) ||
		     u->cfa == UNWIND_PLT);
}

static bool is_start(void *ctx, uint32_t key)
{
	const struct check *c = ctx;

	return is_start_state(unwind_rows_find(c->rows, c->rows->base + key));
}

static void differ(struct check *c, const struct code_visit *v, const char *what)
{
	if (!c->differs && c->differing++ < DIFFS_MAX)
		printf("differs %llx %llx %s\n", (unsigned long long)(c->rows->base + v->key),
		       (unsigned long long)(c->rows->base + c->fde->start), what);
	c->differs = true;
}

static int compare(const struct code_visit *v, void *arg)
{
	struct check *c = arg;
	const struct unwind_rule *u = unwind_rows_find(c->rows, c->rows->base + v->key);
	const struct code_value *sp = &v->st->reg[X86_SP];
	int64_t off;

	c->insns++;
	if (v->key - c->fde->start < c->sp_n && sp->kind == CODE_CFA)
		c->sp[v->key - c->fde->start] = sp->off;
	if (!u || v->rule.cfa == UNWIND_UNKNOWN || !code_state_judge(v->st, u, &off)) {
		c->untold++;
		return 0;
	}
	if (off)
		differ(c, v, "CFA");
	else if (u->ra != -1)
		differ(c, v, "return address");
	else if (!(u->slots & UNWIND_FP_FROM_FP) && !code_state_holds(v->st, X86_BP, u->fp))
		differ(c, v, "rbp");
	else if (!(u->slots & UNWIND_BX_FROM_FP) && !code_state_holds(v->st, X86_BX, u->bx))
		differ(c, v, "rbx");
	else
		c->same++;
	return 0;
}

static int compare_guess(const struct code_visit *v, void *arg)
{
	struct check *c = arg;
	const struct code_value *sp = &v->st->reg[X86_SP];
	uint32_t at = v->key - c->fde->start;

	if (v->rule.cfa == UNWIND_UNKNOWN || at >= c->sp_n || !c->sp[at])
		return 0;
	c->guessed++;
	if (sp->kind == CODE_CFA && sp->off != c->sp[at] && c->differing++ < DIFFS_MAX)
		printf("guess %llx %llx\n", (unsigned long long)(c->rows->base + v->key),
		       (unsigned long long)(c->rows->base + c->fde->start));
	return 0;
}

static void count_why(struct check *c, const char *why)
{
	int i = 0;

	while (i < WHYS - 1 && c->why[i].text && c->why[i].text != why)
		i++;
	c->why[i].text = why;
	c->why[i].n++;
}

/* Begins the proof again at every seventh proved instruction, as if a function began there. */
static int guesses(struct check *c)
{
	const char *why;
	int r = 0;

	for (uint32_t i = 1, n = 0; !r && i < c->sp_n; i++)
		if (c->sp[i] && ++n % 7 == 0) {
			c->r->budget = 4096;
			r = code_flow_visit(c->r, c->fde->start + i, true, compare_guess, c, &why);
		}
	return r;
}

static int check_function(struct check *c, const struct unwind_fde *fde)
{
	const char *why;
	int r;

	if (!is_start_state(unwind_rows_find(c->rows, c->rows->base + fde->start)))
		return 0;
	c->fde = fde;
	c->functions++;
	c->differs = false;
	c->sp_n = fde->end - fde->start;
	c->sp = calloc(c->sp_n, sizeof(*c->sp));
	if (!c->sp)
		return -ENOMEM;
	c->r->budget = 1 << 22;
	r = code_flow_visit(c->r, fde->start, false, compare, c, &why);
	if (why)
		count_why(c, why);
	c->proven += !why;
	if (!r && !why)
		r = guesses(c);
	free(c->sp);
	return r;
}

static size_t read_constant(void *ctx, int64_t key, void *ret, size_t n)
{
	const struct check *c = ctx;

	return elf_file_read_constant(c->f, c->rows->base + (uint64_t)key, ret, n);
}

static int check_section(struct check *c, struct elf_file *f, const GElf_Shdr *sh)
{
	_cleanup_free_ uint8_t *bytes = malloc(sh->sh_size);
	_cleanup_free_ uint16_t *info = calloc(sh->sh_size, sizeof(*info));
	uint32_t start = (uint32_t)(sh->sh_addr - c->rows->base);
	struct code_region r = {.bytes = bytes,
				.start = start,
				.end = start + (uint32_t)sh->sh_size,
				.info = info,
				.is_start = is_start,
				.read = read_constant,
				.ctx = c};
	const key_range_vec within = {.v = &(struct key_range){r.start, r.end}, .n = 1};
	struct code_starts starts = {};
	int ret = 0;

	if (!bytes || !info || elf_file_read(f, sh->sh_addr, bytes, sh->sh_size) != sh->sh_size)
		return -EIO;
	c->r = &r;
	ret = code_starts(f, c->rows, &within, true, &starts);
	vec_foreach(fde, &c->rows->fdes)
		if (fde->start >= r.start && fde->start < r.end)
			info[fde->start - r.start] = CODE_START;
	vec_foreach(key, &starts.certain)
		info[*key - r.start] |= CODE_CERTAIN;
	code_starts_fini(&starts);
	vec_foreach(fde, &c->rows->fdes)
		if (!ret && fde->start >= r.start && fde->end <= r.end)
			ret = check_function(c, fde);
	return ret;
}

static int check(const char *name)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};
	_cleanup_elf_ struct elf_file *f = NULL;
	_cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct check c = {.rows = &rows};
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int r = 0;

	if (fd < 0 || elf_file_open(fd, name, &f) || unwind_rows_read_tables(f, &rows))
		return 1;
	c.f = f;
	while (!r && (scn = elf_next_section(f, scn, SHT_PROGBITS, &sh)))
		if ((sh.sh_flags & SHF_EXECINSTR) && sh.sh_size && sh.sh_addr >= rows.base)
			r = check_section(&c, f, &sh);
	printf("file %s %lu %lu %lu %lu %lu %lu\n", name, c.functions, c.proven, c.insns, c.same,
	       c.untold, c.guessed);
	for (int i = 0; i < WHYS && c.why[i].text; i++)
		printf("why %lu %s\n", c.why[i].n, c.why[i].text);
	return r != 0;
}

int main(int argc, char **argv)
{
	int bad = 0;

	for (int i = 1; i < argc; i++)
		bad |= check(argv[i]);
	return bad;
}
