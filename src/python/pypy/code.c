/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a code object of PyPy; see pypy.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "python/pypy/internal.h"

/* the most bytes that are read of a name, and of a line table */
#define NAME_BYTES  4096
#define TABLE_BYTES (4u << 20)

int pypy_string_read(const struct pypy *p, uint64_t addr, size_t most, struct pypy_text *ret)
{
	struct pypy_string s;
	_cleanup_free_ uint8_t *v = NULL;
	int r = addr ? pypy_peek(p, addr, &s, sizeof(s)) : -EAGAIN;

	if (r)
		return r;
	if ((uint32_t)s.header != p->at.string_type || s.len > INT32_MAX)
		return -EAGAIN;
	*ret = (struct pypy_text){
		.addr = addr, .len = (uint32_t)s.len, .bytes = (uint32_t)MIN(s.len, most)};
	v = malloc(ret->bytes + 1);
	if (!v)
		return -ENOMEM;
	r = pypy_peek(p, addr + sizeof(s), v, ret->bytes);
	ret->v = r ? NULL : TAKE_PTR(v);
	return r;
}

void pypy_code_fini(struct pypy_code *code)
{
	free(code->filename.v);
	free(code->name.v);
	free(code->qualname.v);
	free(code->linetable.v);
	*code = (struct pypy_code){};
}

/* Replaces the line table by one in CPython's form. */
static int convert(struct pypy_text *table)
{
	struct pypy_bytes lines;
	int r = pypy_lines_convert(table->v, table->bytes, &lines, NULL);

	if (r)
		return r;
	free(table->v);
	table->v = lines.v;
	table->len = table->bytes = (uint32_t)lines.n;
	return 0;
}

/* Have those fields changed that are read? Others may: PyPy keeps caches in code objects. */
static bool is_same(const struct pypy_offsets *at, const uint64_t *a, const uint64_t *b)
{
	const uint16_t fields[] = {at->id,	 at->name,	  at->qualname,
				   at->filename, at->firstlineno, at->linetable};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (pypy_field(a, fields[i]) != pypy_field(b, fields[i]))
			return false;
	return (uint32_t)a[0] == (uint32_t)b[0];
}

static int read_texts(const struct pypy *p, const uint64_t *words, struct pypy_code *ret)
{
	const struct pypy_offsets *at = &p->at;
	int r = pypy_string_read(p, pypy_field(words, at->filename), NAME_BYTES, &ret->filename);

	r = r ? r : pypy_string_read(p, pypy_field(words, at->name), NAME_BYTES, &ret->name);
	r = r ? r
	      : pypy_string_read(p, pypy_field(words, at->qualname), NAME_BYTES, &ret->qualname);
	r = r ? r
	      : pypy_string_read(p, pypy_field(words, at->linetable), TABLE_BYTES, &ret->linetable);
	return r ? r : convert(&ret->linetable);
}

int pypy_code_read(const struct pypy *p, uint64_t addr, struct pypy_code *ret)
{
	uint64_t words[PYPY_CODE_WORDS], again[PYPY_CODE_WORDS];
	struct pypy_code code = {};
	int r = pypy_peek(p, addr, words, sizeof(words));

	if (r)
		return r;
	code.firstlineno = (int32_t)pypy_field(words, p->at.firstlineno);
	code.hidden = ((const uint8_t *)words)[p->at.hidden];
	r = read_texts(p, words, &code);
	r = r ? r : pypy_peek(p, addr, again, sizeof(again));
	if (!r && !is_same(&p->at, words, again))
		r = -EAGAIN;
	if (r)
		pypy_code_fini(&code);
	else
		*ret = code;
	return r;
}
