/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes rows by analysing instructions, for code without call frame information; see code_rows.h.
 */
#include "unwind/prove/code_rows.h"

#include "base/error.h"
#include "check.h" /* this is abi/check.h */
#include "unwind/prove/clone_rows.h"
#include "unwind/prove/code_gaps.h"
#include "unwind/x86/x86_flow.h"
#include "unwind/prove/code_starts.h"
#include "elf/elf_sections.h"

#define ALIGNMENT 16

/*
 * The calls in a file show where functions begin. Calls are only searched if the file has at least
 * this many bytes of code without call frame information. Fewer bytes are just the start and end
 * code that every library has.
 */
#define WORTH_CALLERS 4096

/*
 * How many passes over the gaps look_elsewhere() makes at most. Each pass analyses the functions
 * that were found to be called. musl needs two passes.
 */
#define PASSES 3

/*
 * How many instructions krait may examine in a piece of code, in addition to one for each byte of
 * the piece. MKL needs 0.4 for each byte.
 */
#define BUDGET_LEAST 4096

/* Functions that never return, according to C, POSIX and the LSB. */
static const char *const no_return[] = {
	"__stack_chk_fail", "abort",	     "exit",	"_exit",      "_Exit",
	"quick_exit",	    "__assert_fail", "longjmp", "siglongjmp", "pthread_exit",
};

struct finder {
	struct elf_file *f;		/* the file that has the code; NULL: the code is in .code */
	const struct code_memory *code; /* the code, if .f is NULL */
	size_t n_code;
	const struct unwind_rows *rows;
	struct code_starts starts;
	const key_range_vec *gaps;
	key_vec called; /* offsets of called functions that still have to be analysed */
	/*
	 * offsets of called functions that lie in another gap (code without call frame information)
	 * than the one that is analysed
	 */
	key_vec elsewhere;
	/* the file has a .symtab, so functions begin only at offsets in .starts */
	bool named;
	bool tail_jumps; /* code_region.tail_jumps of the regions to be analysed */
	unwind_range_vec ranges;
	VEC(struct unwind_fde) functions;
	struct elf_symbol no_return[ARRAY_SIZE(no_return)];
	bool has_entry;
	uint32_t entry; /* offset of the program's entry point, if .has_entry */
};

/*
 * Is the stack at offset @key as it is at a function's start? It is if call frame information says
 * so, or if a function begins at @key, in another gap (range of code without call frame
 * information).
 */
static bool is_start(void *ctx, uint32_t key)
{
	const struct finder *s = ctx;
	const struct unwind_rule *u = unwind_rows_find(s->rows, s->rows->base + key);

	return unwind_rule_is_start(u) || (u && u->cfa == UNWIND_PLT && !(key % ALIGNMENT)) ||
	       key_vec_has(&s->starts.all, key);
}

static int add_function(struct finder *s, uint32_t start, size_t first)
{
	struct unwind_fde fde = {start, start};

	for (size_t i = first; i < s->ranges.n; i++)
		if (s->ranges.v[i].start == fde.end)
			fde.end = s->ranges.v[i].end;
	return fde.end > start ? vec_push(&s->functions, fde) : 0;
}

static int try(struct finder *s, struct code_region *r, uint32_t start, bool guess)
{
	size_t first = s->ranges.n;
	const char *why;
	int ret = code_flow(r, start, guess, &s->ranges, &why);

	for (size_t i = first; s->has_entry && start == s->entry && i < s->ranges.n; i++)
		s->ranges.v[i].rule = (struct unwind_rule){.cfa = UNWIND_END};
	return ret ? ret : add_function(s, start, first);
}

/* Tells whether all code from offset @key to the next multiple of 16 is padding. */
static bool is_padded(const struct code_region *r, uint32_t key)
{
	struct code_region until = *r;

	until.end = (key + ALIGNMENT - 1) & ~(uint32_t)(ALIGNMENT - 1);
	return until.end < r->end && code_flow_padding_end(&until, key) == until.end;
}

/*
 * Analyses functions in a stripped file, where nothing shows at which addresses they begin. krait
 * looks for such a function behind another function, at the next multiple of ALIGNMENT. Behind a
 * function that krait doesn't understand, no further function can be found.
 */
static int guess(struct finder *s, struct code_region *r)
{
	uint32_t key = r->start;
	int ret = 0;

	while (!ret && key < r->end) {
		size_t before = s->ranges.n;

		key = code_flow_seen_end(r, key);
		if (!is_padded(r, key))
			key = code_flow_next_seen(r, key);
		else
			key = (key + ALIGNMENT - 1) & ~(uint32_t)(ALIGNMENT - 1);
		if (key >= r->end || code_flow_seen(r, key))
			continue;
		ret = try(s, r, key, true);
		if (s->ranges.n == before)
			key = code_flow_next_seen(r, code_flow_seen_end(r, key));
	}
	return ret;
}

static bool read_bytes(const struct finder *s, uint64_t vaddr, uint8_t *bytes, size_t n)
{
	if (s->f)
		return elf_file_read(s->f, vaddr, bytes, n) == n;
	for (size_t i = 0; i < s->n_code; i++) {
		const struct code_memory *m = &s->code[i];

		if (vaddr < m->vaddr || vaddr - m->vaddr > m->n || n > m->n - (vaddr - m->vaddr))
			continue;
		memcpy(bytes, m->bytes + (vaddr - m->vaddr), n);
		return true;
	}
	return false;
}

static size_t read_constant(void *ctx, int64_t key, void *ret, size_t n)
{
	const struct finder *s = ctx;

	return elf_file_read_constant(s->f, s->rows->base + (uint64_t)key, ret, n);
}

static bool never_returns(void *ctx, uint32_t key)
{
	const struct finder *s = ctx;

	for (size_t i = 0; i < ARRAY_SIZE(no_return); i++)
		if (s->no_return[i].value && s->no_return[i].value == s->rows->base + key)
			return true;
	return false;
}

static int note_call(void *ctx, uint32_t key)
{
	struct finder *s = ctx;

	return vec_push(&s->called, key);
}

/* Analyses functions in @r that other functions call, the functions that these call, and so on. */
static int try_called(struct finder *s, struct code_region *r)
{
	int ret = 0;

	while (!ret && s->called.n) {
		uint32_t key = s->called.v[--s->called.n];

		if (key < r->start || key >= r->end) {
			if (key_range_vec_has(s->gaps, key))
				ret = vec_push(&s->elsewhere, key);
			continue;
		}
		if (r->info[key - r->start] & CODE_START)
			continue;
		r->info[key - r->start] |= CODE_START | CODE_CERTAIN;
		ret = try(s, r, key, false);
	}
	return ret;
}

/* Finds the code by which musl makes threads and processes, and treats that code as functions. */
static int find_musl(struct finder *s, struct code_region *r)
{
	uint32_t from = r->start, at, len;
	int ret;

	do {
		ret = clone_rows_musl(r->bytes + (from - r->start), r->end - from, from, &s->ranges,
				      &at, &len);
		if (ret || !len)
			break;
		r->info[at - r->start] = CODE_START;
		from = at + len;
	} while (from < r->end);
	return ret;
}

static void mark(struct code_region *r, const key_vec *keys, uint16_t as)
{
	const uint32_t *at = key_vec_from(keys, r->start), *last = keys->v + keys->n;

	for (; at < last && *at < r->end; at++)
		r->info[*at - r->start] |= as;
}

/*
 * Analyses the functions that begin at the offsets @keys, and the functions that these call.
 * @again: @r was already analysed, from other starts of functions.
 */
static int read_region(struct finder *s, struct code_region *r, const key_vec *keys, bool again)
{
	const uint32_t *at = key_vec_from(keys, r->start), *last = keys->v + keys->n;
	int ret = again ? 0 : find_musl(s, r);

	mark(r, &s->starts.all, CODE_START);
	mark(r, &s->starts.certain, CODE_CERTAIN);
	for (; !ret && at < last && *at < r->end; at++)
		ret = try(s, r, *at, false);
	if (!ret)
		ret = try_called(s, r);
	return ret || s->named || again ? ret : guess(s, r);
}

/*
 * Analyses functions in @gap, a range without call frame information. @keys: offsets where they
 * begin. @again: as for read_region().
 */
static int look_into(struct finder *s, const struct key_range *gap, const key_vec *keys, bool again)
{
	uint32_t start = gap->start, end = gap->end;
	_cleanup_free_ uint8_t *bytes = NULL;
	_cleanup_free_ uint16_t *info = NULL;
	struct code_region r = {.start = start,
				.end = end,
				.is_start = is_start,
				.read = s->f ? read_constant : NULL,
				.never_returns = never_returns,
				.calls = s->named ? NULL : note_call,
				.ctx = s,
				.tail_jumps = s->tail_jumps};

	bytes = malloc(end - start);
	info = calloc(end - start, sizeof(*info));
	if (!bytes || !info)
		return -ENOMEM;
	if (!read_bytes(s, s->rows->base + start, bytes, end - start))
		return 0;
	r.bytes = bytes;
	r.info = info;
	r.budget = BUDGET_LEAST + (end - start);
	return read_region(s, &r, keys, again);
}

static bool has_any(const key_vec *keys, const struct key_range *gap)
{
	const uint32_t *at = key_vec_from(keys, gap->start);

	return at < keys->v + keys->n && *at < gap->end;
}

/*
 * Analyses functions that are called from gaps other than their own, the functions that these call,
 * and so on.
 */
static int look_elsewhere(struct finder *s)
{
	int r = 0;

	for (int pass = 0; !r && s->elsewhere.n && pass < PASSES; pass++) {
		key_vec keys = s->elsewhere;

		s->elsewhere = (key_vec){};
		r = code_starts_add(&s->starts, &keys);
		vec_foreach(gap, s->gaps)
			if (!r && has_any(&keys, gap))
				r = look_into(s, gap, &keys, true);
		vec_fini(&keys);
	}
	return r;
}

static int by_range(const void *a, const void *b)
{
	const struct unwind_range *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : (x->end > y->end) - (x->end < y->end);
}

/*
 * Sorts the ranges and makes them disjoint. (Functions may share code.) If two ranges that overlap
 * have different rules, no rule is given to the code from the beginning of the overlap to the end
 * of the longer range.
 */
static void settle(unwind_range_vec *ranges)
{
	size_t n = 0;

	qsort(ranges->v, ranges->n, sizeof(*ranges->v), by_range);
	for (size_t i = 0; i < ranges->n; i++) {
		struct unwind_range *last = n ? &ranges->v[n - 1] : NULL, now = ranges->v[i];

		if (!last || now.start >= last->end) {
			ranges->v[n++] = now;
			continue;
		}
		now.end = MAX(now.end, last->end);
		if (memcmp(&last->rule, &now.rule, sizeof(now.rule))) {
			memset(&now.rule, 0, sizeof(now.rule));
			last->end = now.start;
			n -= last->end == last->start;
			ranges->v[n++] = now;
		} else {
			last->end = now.end;
		}
	}
	ranges->n = n;
}

static int by_fde(const void *a, const void *b)
{
	const struct unwind_fde *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/*
 * Adds the functions that were analysed to @rows. Leaves out a function that overlaps another one.
 */
static int merge_functions(struct finder *s, struct unwind_rows *rows)
{
	size_t n = 0;
	int r = 0;

	vec_foreach(fn, &s->functions)
		if (!r && rows->fdes.n < UNWIND_MAX_FDES)
			r = vec_push(&rows->fdes, *fn);
	if (r || !s->functions.n)
		return r;
	qsort(rows->fdes.v, rows->fdes.n, sizeof(*rows->fdes.v), by_fde);
	for (size_t i = 0; i < rows->fdes.n; i++)
		if (!n || rows->fdes.v[i].start >= rows->fdes.v[n - 1].end)
			rows->fdes.v[n++] = rows->fdes.v[i];
	rows->fdes.n = n;
	return 0;
}

/*
 * Analyses the code in all @gaps, the ranges without call frame information. Functions begin at the
 * offsets s->starts.
 */
static int look_into_all(struct finder *s, const key_range_vec *gaps, struct unwind_rows *rows)
{
	int r = 0;

	s->gaps = gaps;
	vec_foreach(gap, gaps)
		if (!r)
			r = look_into(s, gap, &s->starts.all, false);
	if (!r)
		r = look_elsewhere(s);
	if (!r && s->ranges.n) {
		settle(&s->ranges);
		r = unwind_rows_merge(rows, &s->ranges);
	}
	return r ? r : merge_functions(s, rows);
}

static void find_special(struct finder *s, bool dynamic)
{
	GElf_Ehdr eh;
	uint64_t key = gelf_getehdr(s->f->elf, &eh) ? eh.e_entry - s->rows->base : 0;

	s->entry = (uint32_t)key;
	s->has_entry = key && key == s->entry;
	(void)elf_file_find_in(s->f, dynamic, no_return, s->no_return, ARRAY_SIZE(no_return));
}

static void finder_fini(struct finder *s)
{
	code_starts_fini(&s->starts);
	vec_fini(&s->called);
	vec_fini(&s->elsewhere);
	vec_fini(&s->ranges);
	vec_fini(&s->functions);
}

int code_rows_add(struct elf_file *f, struct unwind_rows *rows)
{
	struct finder s = {.f = f, .rows = rows};
	key_range_vec gaps = {};
	GElf_Shdr sh;
	int r;

	if (f->machine != ELF_X86_64)
		return 0;
	s.named = elf_next_section(f, NULL, SHT_SYMTAB, &sh);
	r = code_gaps_find(f, rows, &gaps);
	if (!r && gaps.n)
		r = code_starts(f, rows, &gaps, !s.named && code_gaps_bytes(&gaps) >= WORTH_CALLERS,
				&s.starts);
	if (!r && gaps.n)
		find_special(&s, !s.named);
	r = r ? r : clone_rows(f, rows, &s.ranges);
	r = r ? r : look_into_all(&s, &gaps, rows);
	vec_fini(&gaps);
	finder_fini(&s);
	return r ? err_sys(r, "%s: can't analyse functions without unwind information", f->name)
		 : 0;
}

int code_rows_add_memory(const struct code_memory *code, size_t n, const uint64_t *starts,
			 size_t n_starts, bool tail_jumps, struct unwind_rows *rows)
{
	struct finder s = {
		.code = code, .n_code = n, .rows = rows, .named = true, .tail_jumps = tail_jumps};
	key_range_vec gaps = {};
	int r = 0;

	for (size_t i = 0; !r && i < n; i++)
		r = code_gaps_add(rows, code[i].vaddr, code[i].n, &gaps);
	if (!r)
		code_gaps_bound(&gaps);
	r = r ? r : code_starts_list(starts, n_starts, rows->base, &gaps, &s.starts);
	r = r ? r : look_into_all(&s, &gaps, rows);
	vec_fini(&gaps);
	finder_fini(&s);
	return r;
}

static bool is_no_start(void *ctx, uint32_t key)
{
	return false;
}

/* Returns the offset at which the last examined instruction of @r ends. */
static uint32_t seen_until(const struct code_region *r)
{
	uint32_t end = r->start;

	for (uint32_t key = r->start; key < r->end; key = code_flow_next_seen(r, end))
		end = code_flow_seen_end(r, key);
	return end;
}

int code_rows_guess(const struct code_memory *code, struct unwind_rows *rows)
{
	struct code_region r = {.bytes = code->bytes,
				.end = (uint32_t)code->n,
				.budget = BUDGET_LEAST + code->n,
				.is_start = is_no_start};
	_cleanup_free_ uint16_t *info = calloc(code->n, sizeof(*info));
	unwind_range_vec ranges = {};
	const char *why;
	int ret;

	if (!info)
		return -ENOMEM;
	r.info = info;
	rows->base = code->vaddr;
	ret = code_flow(&r, 0, true, &ranges, &why);
	if (!ret && ranges.n) {
		settle(&ranges);
		ret = unwind_rows_merge(rows, &ranges);
		rows->guarded = seen_until(&r);
		rows->check = check_bytes(0, code->bytes, rows->guarded);
	}
	vec_fini(&ranges);
	return ret;
}
