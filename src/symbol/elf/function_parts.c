/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the functions of which a part (such as .cold) lies elsewhere; see function_parts.h. */
#include "symbol/elf/function_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/map.h"
#include "unwind/compile.h"
#include "unwind/rows/rows.h"
#include "unwind/x86/x86_insn.h"

#define PIECE_MOST (1u << 20) /* a piece of code with more bytes isn't examined */
#define TOTAL_MOST (24u << 20)
#define MARKS	   (1u << 20) /* number of entries of scan.marks, a power of two */
#define PASSES	   32

struct function_parts {
	struct map whole; /* start of a part -> start of the function that the part belongs to */
};

struct jump {
	uint32_t from, to;
};

enum {
	UNKNOWN,
	SEVERAL,
	FUNCTION
	/*
	 * which function a piece (the code of one FDE) belongs to; a value of FUNCTION + i stands
	 * for the function that begins with piece i
	 */
};

/*
 * What is known of a file's pieces. A piece is the code of one FDE of .rows, and its number is the
 * FDE's index. Offsets of code count from .rows.base.
 */
struct scan {
	struct elf_file *f;
	struct unwind_rows rows;
	/*
	 * .is_part, by the number of a piece: is the piece a part of a function? .marks, by the low
	 * bits of an offset: may a part begin at an offset with these bits?
	 */
	bool *is_part, *marks;
	uint32_t *whose;
	VEC(struct jump) jumps; /* jumps that lead into parts of functions */
	uint8_t *bytes;
};

/*
 * Is the stack as it is right after a call, with the return address on top (System V x86-64 psABI
 * 3.2.2)?
 */
static bool is_entry(const struct unwind_rule *rule)
{
	return rule->cfa == UNWIND_REG && rule->reg == 7 && rule->off == 8;
}

static const struct unwind_rule *rule_at(const struct scan *s, uint32_t key)
{
	return unwind_rows_find(&s->rows, s->rows.base + key);
}

/* Finds the FDEs whose code begins in the middle of a function; returns how many there are. */
static size_t find_parts(struct scan *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->rows.fdes.n; i++) {
		const struct unwind_rule *rule = rule_at(s, s->rows.fdes.v[i].start);

		s->is_part[i] = rule && rule->cfa == UNWIND_REG && !is_entry(rule);
		s->marks[s->rows.fdes.v[i].start % MARKS] |= s->is_part[i];
		n += s->is_part[i];
	}
	return n;
}

/* Returns the index of the part that begins at offset @key; SIZE_MAX: there is no such part. */
static size_t part_at(const struct scan *s, uint64_t key)
{
	size_t i = key <= UINT32_MAX && s->marks[key % MARKS]
			   ? count_upto(s->rows.fdes.v, s->rows.fdes.n, start, key)
			   : 0;

	return i-- && s->rows.fdes.v[i].start == key && s->is_part[i] ? i : SIZE_MAX;
}

/*
 * Notes that the instruction at offset @key, in the code of FDE number @from, jumps to offset @to.
 */
static int note_jump(struct scan *s, uint32_t from, uint32_t key, uint64_t to)
{
	const struct unwind_rule *here, *there;
	size_t part = part_at(s, to);

	if (part == SIZE_MAX)
		return 0;
	here = rule_at(s, key);
	there = rule_at(s, (uint32_t)to);
	if (here && there && !memcmp(here, there, sizeof(*here)))
		return vec_push(&s->jumps, (struct jump){from, (uint32_t)part});
	/* functions with identical parts share one part if the linker merged them */
	s->whose[part] = SEVERAL;
	return 0;
}

/*
 * Might the bytes contain a jump to a part? Searching the bytes is much faster than decoding all
 * instructions.
 */
static bool may_jump(const struct scan *s, uint32_t start, uint32_t n)
{
	for (uint32_t at = 0; at + 5 <= n; at++) {
		bool near = s->bytes[at] == 0xe9,
		     branch = (s->bytes[at] & 0xf0) == 0x80 && at && s->bytes[at - 1] == 0x0f;
		int32_t by;

		if (!near && !branch)
			continue;
		memcpy(&by, s->bytes + at + 1, sizeof(by));
		if (part_at(s, start + at + 5 + (uint64_t)by) != SIZE_MAX)
			return true;
	}
	return false;
}

static int read_piece(struct scan *s, uint32_t i)
{
	uint32_t start = s->rows.fdes.v[i].start, n = s->rows.fdes.v[i].end - start;
	struct x86_insn insn;
	int r = 0;

	if (n > PIECE_MOST || elf_file_read(s->f, s->rows.base + start, s->bytes, n) != n ||
	    !may_jump(s, start, n))
		return 0;
	for (uint32_t at = 0; !r && at < n && x86_decode(s->bytes + at, n - at, &insn);
	     at += insn.len)
		if (insn.kind == X86_JUMP || insn.kind == X86_BRANCH)
			r = note_jump(s, i, start + at, start + at + insn.len + (uint64_t)insn.imm);
	return r;
}

/*
 * Notes that the part to which @jump leads belongs to the function that jumps. Returns true if that
 * changes what is known.
 */
static bool follow(struct scan *s, const struct jump *jump)
{
	uint32_t from = s->whose[jump->from], *to = &s->whose[jump->to], was = *to;

	if (from != UNKNOWN)
		*to = *to == UNKNOWN || *to == from ? from : SEVERAL;
	return *to != was;
}

/*
 * Follows all jumps until nothing changes any more. False: that would take more than PASSES passes.
 * In real files, only a few pieces are chained by jumps from one to the next; in a forged file it
 * may be millions.
 */
static bool follow_all(struct scan *s)
{
	bool again = true;

	for (int i = 0; again && i < PASSES; i++) {
		again = false;
		vec_foreach(jump, &s->jumps)
			again |= follow(s, jump);
	}
	return !again;
}

static int keep(const struct scan *s, struct function_parts *p)
{
	int r = 0;

	for (size_t i = 0; !r && i < s->rows.fdes.n; i++)
		if (s->is_part[i] && s->whose[i] >= FUNCTION)
			r = map_put(&p->whole, s->rows.base + s->rows.fdes.v[i].start,
				    s->rows.base + s->rows.fdes.v[s->whose[i] - FUNCTION].start);
	return r;
}

static int scan(struct scan *s, struct function_parts *p)
{
	size_t n = s->rows.fdes.n;
	int r = 0;

	s->is_part = calloc(n + 1, sizeof(*s->is_part));
	s->marks = calloc(MARKS, sizeof(*s->marks));
	s->whose = calloc(n + 1, sizeof(*s->whose));
	s->bytes = malloc(PIECE_MOST);
	if (!s->is_part || !s->marks || !s->whose || !s->bytes)
		return -ENOMEM;
	if (!find_parts(s))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		s->whose[i] = s->is_part[i] ? UNKNOWN : FUNCTION + i;
	for (uint32_t i = 0; !r && i < n; i++)
		r = read_piece(s, i);
	return r || !follow_all(s) ? r : keep(s, p);
}

static bool is_small(struct elf_file *f)
{
	const struct elf_load *load;
	size_t n = elf_file_loads(f, &load);
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += load[i].exec ? MIN(load[i].filesz, (uint64_t)TOTAL_MOST) : 0;
	return bytes < TOTAL_MOST;
}

int function_parts_open(struct elf_file *f, struct function_parts **ret)
{
	struct function_parts *p;
	struct elf_section symtab;
	struct scan s = {.f = f};
	int r;

	*ret = NULL;
	if (elf_file_machine(f) != ELF_X86_64 || !is_small(f) ||
	    elf_file_section(f, ".symtab", &symtab))
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(-ENOMEM, "out of memory for the parts of functions");
	map_init(&p->whole);
	r = unwind_rows_read_tables(f, &s.rows);
	if (!r && scan(&s, p))
		r = err_set(-ENOMEM, "out of memory for the parts of functions");
	unwind_rows_fini(&s.rows);
	free(s.is_part);
	free(s.marks);
	free(s.whose);
	vec_fini(&s.jumps);
	free(s.bytes);
	if (!r && p->whole.n)
		*ret = TAKE_PTR(p);
	function_parts_free(p);
	return r == -ENOMEM ? r : 0;
}

void function_parts_free(struct function_parts *p)
{
	if (!p)
		return;
	map_fini(&p->whole);
	free(p);
}

uint64_t function_parts_find(const struct function_parts *p, uint64_t start)
{
	const uint64_t *whole = map_get(&p->whole, start);

	return whole ? *whole : 0;
}

size_t function_parts_bytes(const struct function_parts *p)
{
	return sizeof(*p) + p->whole.size * sizeof(*p->whole.slots);
}
