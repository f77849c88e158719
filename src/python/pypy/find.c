/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the offsets of the fields in PyPy's structures; see pypy.h. The offsets of the two lists
 * are tried until, for one thread, both lists have the same code objects in the same order. The
 * other fields are then found by what must hold for all the code objects of that thread.
 */
#include <errno.h>
#include <stdlib.h>

#include "python/pypy/internal.h"

/* how many words of an ExecutionContext are looked at */
#define CONTEXT_WORDS 48
/* a list of one function could agree by chance */
#define LEAST_FRAMES 2
/* how many functions of the thread are looked at: more than enough */
#define MOST_FRAMES 64
/* how many pieces of memory, and how many bytes of strings, are read at most: some 0.2 s */
#define MOST_READS 50000
#define MOST_BYTES (32u << 20)

/* a longer line table or bytecode isn't understood here */
#define STRING_BYTES (1u << 20)

struct frame {
	uint64_t words[PYPY_FRAME_WORDS], code[PYPY_CODE_WORDS];
};

struct finder {
	struct pypy *p;
	uint64_t block;
	pypy_ids ids;
	struct frame *frames; /* [MOST_FRAMES], those of .ids, the innermost first */
	size_t n;
	unsigned reads; /* how many of MOST_READS are spent */
	uint64_t bytes; /* how many of MOST_BYTES are spent */
};

static int read_words(struct finder *f, uint64_t addr, uint64_t *ret, size_t n)
{
	if (!addr || addr & 7 || f->reads++ >= MOST_READS)
		return -EFAULT;
	return pypy_peek(f->p, addr, ret, n * sizeof(*ret));
}

/*
 * Do the frames from f->frames[0] on have the numbers of f->ids, if .back, .code and .id are these
 * offsets? Fills f->frames.
 */
static bool lists_agree(struct finder *f, size_t back, size_t code, size_t id)
{
	size_t most = MIN(f->ids.n, (size_t)MOST_FRAMES);

	for (f->n = 0;;) {
		struct frame *at = &f->frames[f->n];

		if (read_words(f, at->words[code], at->code, PYPY_CODE_WORDS) ||
		    at->code[id] != f->ids.v[f->n] ||
		    (uint32_t)at->words[0] != (uint32_t)f->frames[0].words[0])
			return false;
		if (++f->n == most)
			return most < f->ids.n || !at->words[back];
		if (read_words(f, at->words[back], at[1].words, PYPY_FRAME_WORDS))
			return false;
	}
}

/* Finds .back, .code and .id, if the innermost frame is at @top. */
static bool try_top(struct finder *f, uint64_t top)
{
	uint64_t code[PYPY_CODE_WORDS];

	if (read_words(f, top, f->frames[0].words, PYPY_FRAME_WORDS))
		return false;
	for (size_t c = 1; c < PYPY_FRAME_WORDS; c++) {
		if (read_words(f, f->frames[0].words[c], code, PYPY_CODE_WORDS))
			continue;
		for (size_t id = 1; id < PYPY_CODE_WORDS; id++)
			for (size_t b = 1; b < c && code[id] == f->ids.v[0]; b++)
				if (lists_agree(f, b, c, id)) {
					f->p->at.back = (uint16_t)(8 * b);
					f->p->at.code = (uint16_t)(8 * c);
					f->p->at.id = (uint16_t)(8 * id);
					return true;
				}
	}
	return false;
}

static bool try_context(struct finder *f, uint64_t context)
{
	uint64_t words[CONTEXT_WORDS];

	if (read_words(f, context, words, CONTEXT_WORDS))
		return false;
	for (size_t i = 1; i < CONTEXT_WORDS; i++)
		if (try_top(f, words[i])) {
			f->p->at.top = (uint16_t)(8 * i);
			return true;
		}
	return false;
}

/* what is in a thread's block before the fields that are looked for */
#define FIRST_FIELD (sizeof(struct pypy_block) / 8)

/* Finds the list of frames that agrees with vmprof's list at word @v of the thread's block. */
static bool try_list(struct finder *f, const uint64_t *words, size_t v)
{
	f->ids.n = 0;
	if (!words[v] || f->reads++ >= MOST_READS || pypy_list_read(f->p, words[v], &f->ids) ||
	    f->ids.n < LEAST_FRAMES)
		return false;
	for (size_t c = FIRST_FIELD; c < PYPY_BLOCK_BYTES / 8; c++)
		if (c != v && try_context(f, words[c])) {
			f->p->at.vmprof = (uint16_t)(8 * v);
			f->p->at.context = (uint16_t)(8 * c);
			f->p->at.frame_type = (uint32_t)f->frames[0].words[0];
			return true;
		}
	return false;
}

/*
 * Finds the offsets of both lists by the thread whose block is f->block. Another word of the block
 * may lead to an old list of vmprof's that still agrees. Then this thread doesn't tell which is
 * which.
 */
static bool find_lists(struct finder *f)
{
	uint64_t words[PYPY_BLOCK_BYTES / 8];
	size_t found = 0, n = 0;

	if (read_words(f, f->block, words, ARRAY_SIZE(words)))
		return false;
	for (size_t v = FIRST_FIELD; v < ARRAY_SIZE(words); v++)
		if (try_list(f, words, v)) {
			found = v;
			n++;
		}
	return n == 1 && try_list(f, words, found);
}

/* Reads the string in word @i of code object @code; NULL: there is none. To be freed. */
static uint8_t *string_at(struct finder *f, const uint64_t *code, size_t i, uint32_t *n)
{
	struct pypy_text text;

	if (code[i] & 7 || f->reads++ >= MOST_READS || f->bytes >= MOST_BYTES ||
	    pypy_string_read(f->p, code[i], STRING_BYTES, &text))
		return NULL;
	f->bytes += text.bytes;
	*n = text.bytes;
	return text.v;
}

static bool is_string(struct finder *f, const uint64_t *code, size_t i)
{
	uint32_t n;
	uint8_t *v = string_at(f, code, i, &n);

	free(v);
	return v;
}

/* Has word @table of @code an entry for each instruction of the bytecode in word @bytecode? */
static bool describes(struct finder *f, const uint64_t *code, size_t bytecode, size_t table)
{
	uint32_t n_code = 0, n_table = 0;
	uint8_t *a = string_at(f, code, bytecode, &n_code);
	uint8_t *b = string_at(f, code, table, &n_table);
	struct pypy_bytes lines = {};
	long units = -1;

	if (a && b && n_code && !(n_code & 1) && pypy_lines_convert(b, n_table, &lines, &units))
		units = -1;
	free(lines.v);
	free(a);
	free(b);
	return units > 0 && (uint64_t)units == n_code / 2;
}

/* Is the string in word @i the qualified name of the function whose name is in word @name? */
static bool is_qualname(struct finder *f, const uint64_t *code, size_t i, size_t name)
{
	uint32_t n = 0, m = 0;
	uint8_t *a = string_at(f, code, i, &n), *b = string_at(f, code, name, &m);
	bool is = a && b && m && n >= m && !memcmp(a + n - m, b, m) &&
		  (n == m || a[n - m - 1] == '.');

	free(a);
	free(b);
	return is;
}

/* Tells whether @holds is true of all code objects. */
#define all_codes(f, holds)                                                                        \
	({                                                                                         \
		bool _all = true;                                                                  \
		for (size_t _i = 0; _i < (f)->n && _all; _i++) {                                   \
			const uint64_t *code = (f)->frames[_i].code;                               \
			_all = (holds);                                                            \
		}                                                                                  \
		_all;                                                                              \
	})

/*
 * Finds the name, which is the first field of a code object, and by it the type of strings. The
 * name is followed by a number, and by the byte .hidden.
 */
static bool find_name(struct finder *f)
{
	uint64_t header;

	if (pypy_word(f->p, f->frames[0].code[1], &header))
		return false;
	f->p->at.string_type = (uint32_t)header;
	f->p->at.name = 8;
	f->p->at.hidden = 24;
	return all_codes(f, is_string(f, code, 1) && (uint8_t)code[3] <= 1);
}

/*
 * Finds bytecode and line table, which must fit each other, and by them the other strings. RPython
 * puts the fields of a class in alphabetical order: co_code, ..., co_filename, co_firstlineno,
 * co_flags, ..., co_linetable, ..., co_qualname.
 */
static bool find_strings(struct finder *f)
{
	struct pypy_offsets *at = &f->p->at;
	bool text[PYPY_CODE_WORDS] = {}; /* which words of the first code object are strings */
	size_t code_at = 0, table = 0, file = 0, qualname = 0, pairs = 0;

	for (size_t i = 1; i < PYPY_CODE_WORDS; i++)
		text[i] = is_string(f, f->frames[0].code, i);
	for (size_t i = 2; i < PYPY_CODE_WORDS; i++)
		for (size_t k = i + 1; k < PYPY_CODE_WORDS && text[i]; k++)
			if (text[k] && all_codes(f, describes(f, code, i, k))) {
				code_at = i;
				table = k;
				pairs++;
			}
	if (pairs != 1)
		return false;
	for (size_t i = code_at + 1; i + 2 < table; i++)
		if (text[i] && all_codes(f, is_string(f, code, i) && code[i + 1] <= INT32_MAX &&
						    code[i + 2] <= UINT32_MAX))
			file = i;
	for (size_t i = table + 1; i < PYPY_CODE_WORDS && !qualname; i++)
		if (text[i] && all_codes(f, is_qualname(f, code, i, 1)))
			qualname = i;
	at->bytecode = (uint16_t)(8 * code_at);
	at->linetable = (uint16_t)(8 * table);
	at->filename = (uint16_t)(8 * file);
	at->firstlineno = (uint16_t)(8 * (file + 1));
	at->qualname = (uint16_t)(8 * qualname);
	return file && qualname;
}

/* May @lasti be the last instruction of @code? */
static bool may_be_lasti(const struct finder *f, const uint64_t *code, uint64_t lasti)
{
	uint64_t bytecode = code[f->p->at.bytecode / 8];
	struct pypy_string s;

	return lasti == UINT64_MAX ||
	       (!(lasti & 1) && !pypy_peek(f->p, bytecode, &s, sizeof(s)) && lasti < s.len);
}

/* Finds last_instr, which lies between f_backref and pycode by its name. */
static bool find_lasti(struct finder *f)
{
	size_t found = 0;

	for (size_t i = f->p->at.back / 8u + 1; i < f->p->at.code / 8u; i++) {
		uint64_t any = 0;
		bool all = true;

		for (size_t k = 0; k < f->n && all; k++) {
			any |= f->frames[k].words[i];
			all = may_be_lasti(f, f->frames[k].code, f->frames[k].words[i]);
		}
		if (!all || !any)
			continue;
		f->p->at.lasti = (uint16_t)(8 * i);
		found++;
	}
	return found == 1;
}

static bool find_all(struct finder *f)
{
	return find_lists(f) && find_name(f) && find_strings(f) && find_lasti(f);
}

int pypy_open(struct pypy *ret, pid_t pid, const struct maps *maps, uint64_t gil,
	      const struct py_tids *tids, uint64_t until_ns)
{
	struct finder f = {.p = ret, .frames = calloc(MOST_FRAMES, sizeof(*f.frames))};
	pypy_threads list = {};
	bool found = false;
	int r = f.frames ? 0 : -ENOMEM;

	*ret = (struct pypy){.pid = pid, .gil = gil, .until_ns = until_ns};
	r = r ? r : pypy_head_find(ret, maps);
	r = r ? r : pypy_ident_find(ret, tids);
	r = r ? r : pypy_threads_read(ret, tids, &list);
	for (size_t i = 0; !r && !found && i < list.n && f.reads < MOST_READS; i++) {
		f.block = list.v[i].block;
		found = find_all(&f);
	}
	vec_fini(&list);
	vec_fini(&f.ids);
	free(f.frames);
	return r || found ? r : -ENOENT;
}
