/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes unwind rows from call frame information; see compile.h. There are two passes. The first
 * pass lists all functions and sorts them by address, because linkers don't sort them. The second
 * pass runs the functions' programs in that order, so that rows are appended in the order of their
 * addresses.
 */
#include "unwind/compile.h"

#include <stdio.h>
#include "base/error.h"
#include "unwind/prove/code_rows.h"
#include "unwind/prove/eh_return.h"
#include "elf/elf_sections.h"
#include "unwind/rows/rule_numbers.h"
#include "unwind/cfi/section.h"

#define PAGE 4096u

/*
 * A row takes at least this many bytes of the section (polars: 5). So the section's size tells for
 * how many rows to reserve room. Otherwise the array would grow step by step, and all rows would be
 * copied each time. Unused room is given back.
 */
#define ROW_BYTES 4

/* A function as its FDE describes it. It is kept only until the function's rows are made. */
struct function {
	uint32_t start, end; /* offsets (address - rows' base); end exclusive */
	uint32_t cie, program, program_n;
};

struct builder {
	/* borrowed: loadable segments of the file, or ranges of memory that have the code */
	const struct elf_load *loads;
	size_t n_loads;
	struct cfi_section section;
	struct cfi_entries entries;
	VEC(struct function) functions;
	struct unwind_rows *ret;
	struct rule_numbers numbers;
	/* number of the present rule, unless the state has changed since the number was found */
	uint32_t rule;
};

static void builder_fini(struct builder *b)
{
	vec_fini(&b->functions);
	rule_numbers_fini(&b->numbers);
	cfi_entries_fini(&b->entries);
	cfi_section_fini(&b->section);
}

static void leave_out(struct unwind_rows *ret, uint64_t vaddr, const char *why)
{
	if (!ret->bad++)
		snprintf(ret->why, sizeof(ret->why), "function at %#llx: %s",
			 (unsigned long long)vaddr, why);
}

static const char *add_function(struct builder *b, const struct cfi_fde *fde)
{
	uint64_t base = b->ret->base;
	bool inside = false;

	for (size_t i = 0; i < b->n_loads && !inside; i++) {
		const struct elf_load *load = &b->loads[i];

		inside = load->exec && fde->start >= load->vaddr &&
			 fde->end - load->vaddr <= load->memsz;
	}
	if (!inside)
		return "the function's code is not in executable memory";
	if (fde->end - base > UINT32_MAX)
		return "the function's code ends 4 GiB or more after the beginning of the first "
		       "function";
	if (b->functions.n == UNWIND_MAX_FDES)
		return "too many functions";
	b->functions.v[b->functions.n++] =
		(struct function){(uint32_t)(fde->start - base), (uint32_t)(fde->end - base),
				  fde->cie, fde->program, fde->program_n};
	return NULL;
}

static int read_functions(struct builder *b)
{
	struct cfi_fde fde;
	const char *broken;
	int r;

	while ((r = cfi_next_fde(&b->entries, &fde, &broken)) > 0) {
		r = vec_reserve(&b->functions, b->functions.n + 1);
		if (r)
			return r;
		if (!broken)
			broken = add_function(b, &fde);
		if (broken)
			leave_out(b->ret, fde.start, broken);
	}
	return r;
}

static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->program < y->program ? -1 : x->program > y->program;
}

static void sort_functions(struct builder *b)
{
	for (size_t i = 1; i < b->functions.n; i++) {
		if (b->functions.v[i - 1].start < b->functions.v[i].start)
			continue;
		qsort(b->functions.v, b->functions.n, sizeof(*b->functions.v), by_start);
		return;
	}
}

static int add_row(struct unwind_rows *ret, uint64_t key, uint32_t rule)
{
	if (ret->rows.n && ret->rows.v[ret->rows.n - 1].rule == rule)
		return 0;
	return vec_push(&ret->rows, (struct unwind_row){(uint32_t)key, rule});
}

static int add_rows(struct builder *b, struct cfi_run *run, const struct function *fn)
{
	const struct cfi_cie *cie = &b->entries.cies.v[fn->cie];
	const struct cfi_fde fde = {b->ret->base + fn->start, b->ret->base + fn->end, fn->cie,
				    fn->program, fn->program_n};
	struct unwind_rule rule;
	int r = 0;

	cfi_run_init(run, &b->section, cie, &fde);
	while (!r && cfi_next_row(run)) {
		if (b->ret->rows.n >= UNWIND_MAX_ROWS || b->ret->rules.n >= UNWIND_MAX_RULES) {
			run->broken = "too many rows";
			return add_row(b->ret, run->from - b->ret->base, 0);
		}
		if (run->changed) {
			cfi_rule(b->section.arch, &run->st, cie->signal, &rule);
			r = rule_number(&b->numbers, &rule, &b->rule);
			run->changed = false;
		}
		if (!r)
			r = add_row(b->ret, run->from - b->ret->base, b->rule);
	}
	return r;
}

/*
 * Makes rows for every function, in the order of addresses; between functions the rule is
 * UNWIND_UNKNOWN.
 */
static int compile(struct builder *b)
{
	struct unwind_rows *ret = b->ret;
	uint32_t end = 0;
	struct cfi_run run;
	int r = rule_numbers_init(&b->numbers, ret);

	vec_foreach(fn, &b->functions) {
		if (r)
			return r;
		if (fn->start < end) {
			leave_out(ret, ret->base + fn->start,
				  "the function's code overlaps with another function");
			continue;
		}
		if (fn->start > end)
			r = add_row(ret, end, 0);
		if (!r)
			r = add_rows(b, &run, fn);
		if (!r && run.broken)
			leave_out(ret, ret->base + fn->start, run.broken);
		if (!r)
			r = vec_push(&ret->fdes, (struct unwind_fde){fn->start, fn->end});
		end = fn->end;
	}
	return r || !ret->rows.n ? r : add_row(ret, end, 0);
}

/*
 * Gives back the unused room of both arrays, because they live as long as the file is mapped
 * anywhere.
 */
static void trim(struct unwind_rows *ret)
{
	struct unwind_row *rows = reallocarray(ret->rows.v, ret->rows.n, sizeof(*rows));
	struct unwind_fde *fdes = reallocarray(ret->fdes.v, ret->fdes.n, sizeof(*fdes));

	if (rows) {
		ret->rows.v = rows;
		ret->rows.cap = ret->rows.n;
	}
	if (fdes) {
		ret->fdes.v = fdes;
		ret->fdes.cap = ret->fdes.n;
	}
}

static int build(struct builder *b)
{
	int r;

	cfi_entries_init(&b->entries, &b->section);
	r = read_functions(b);
	if (!r) {
		(void)!vec_reserve(&b->ret->rows, b->section.n / ROW_BYTES);
		(void)!vec_reserve(&b->ret->fdes, b->functions.n);
		sort_functions(b);
		r = compile(b);
	}
	return r;
}

static int build_file(struct builder *b, struct elf_file *f)
{
	int r = cfi_section_read(f, &b->section);

	if (r || !b->section.n)
		return r;
	r = build(b);
	if (!r)
		r = eh_return_correct(f, b->ret);
	if (r)
		return err_sys(r, "%s: can't compile call frame information", f->name);
	if (b->ret->rows.n)
		trim(b->ret);
	return 0;
}

int unwind_rows_read_tables(struct elf_file *f, struct unwind_rows *ret)
{
	struct builder b = {.loads = f->loads.v, .n_loads = f->loads.n, .ret = ret};
	int r;

	*ret = (struct unwind_rows){};
	if (!elf_file_text_start(f, &ret->base))
		return 0;
	ret->base &= ~(uint64_t)(PAGE - 1);
	r = build_file(&b, f);
	builder_fini(&b);
	return r;
}

int unwind_rows_read_memory(const struct cfi_section *section, const struct elf_load *code,
			    size_t n, struct unwind_rows *ret)
{
	struct builder b = {.loads = code, .n_loads = n, .section = *section, .ret = ret};
	int r;

	b.section.owned = NULL;
	*ret = (struct unwind_rows){.base = UINT64_MAX};
	for (size_t i = 0; i < n; i++)
		ret->base = MIN(ret->base, code[i].vaddr & ~(uint64_t)(PAGE - 1));
	r = build(&b);
	builder_fini(&b);
	return r;
}

int unwind_rows_read(struct elf_file *f, struct unwind_rows *ret)
{
	int r = unwind_rows_read_tables(f, ret);

	return r ? r : code_rows_add(f, ret);
}
