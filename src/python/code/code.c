/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes code objects from records of the kernel program; see code.h. */
#include "python/code/code.h"

#include "base/error.h"
#include "python/heap/text.h"
#include "python/layout/tables.h"

void py_code_free(struct py_code *code)
{
	if (!code)
		return;
	if (code->users > 1) {
		code->users--;
		return;
	}
	if (!code->like) {
		free(code->name);
		free(code->file);
		free(code->linetable);
	}
	py_code_free(code->like);
	free(code->module);
	free(code->made_in);
	free(code);
}

static size_t text_bytes(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

size_t py_code_bytes(const struct py_code *code)
{
	size_t own = sizeof(*code) + text_bytes(code->module) + text_bytes(code->made_in);

	return code->like ? own
			  : own + text_bytes(code->name) + text_bytes(code->file) +
				    code->linetable_bytes;
}

static int set_string(char **field, const struct wire_text *w, const uint8_t *raw, size_t bytes)
{
	_cleanup_str_ struct str s = {};
	char *text;
	int r;

	r = text_to_utf8(w, raw, bytes, &s);
	if (r)
		return r;
	text = str_take(&s);
	if (!text)
		return -ENOMEM;
	free(*field);
	*field = text;
	return 0;
}

static int set_linetable(struct py_code *code, const uint8_t *raw, size_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, raw, bytes);
	free(code->linetable);
	code->linetable = copy;
	code->linetable_bytes = (uint32_t)bytes;
	return 0;
}

int py_code_set_text(struct py_code *code, enum code_text which, const uint8_t *raw, size_t bytes)
{
	const struct wire_text *w = &code->text[which];

	switch (which) {
	case CODE_FILENAME:
		return set_string(&code->file, w, raw, bytes);
	case CODE_NAME:
		/*
		 * The qualified name (co_qualname, 3.11+) contains the name. So the name is needed
		 * only if there is no qualified name.
		 */
		return code->text[CODE_QUALNAME].addr ? 0 : set_string(&code->name, w, raw, bytes);
	case CODE_QUALNAME:
		return set_string(&code->name, w, raw, bytes);
	case CODE_LINETABLE:
		return set_linetable(code, raw, bytes);
	default:
		return -EINVAL;
	}
}

/*
 * Must text @which be read from the process? The beginning of a name is enough, but a line table is
 * needed as a whole. .len of the text is UINT32_MAX if even the head of its object couldn't be
 * read.
 */
static bool is_missing(const struct py_code *code, enum code_text which)
{
	const struct wire_text *w = &code->text[which];

	if (!w->addr || (which == CODE_NAME && code->text[CODE_QUALNAME].addr))
		return false;
	if (which == CODE_LINETABLE)
		return w->bytes < w->len;
	return !w->bytes && w->len;
}

static int take_texts(struct py_code *code, const uint8_t *p, const uint8_t *end)
{
	for (int i = 0; i < CODE_TEXT_MAX; i++) {
		const struct wire_text *w = &code->text[i];
		int r;

		if (w->bytes > text_raw_bytes(w) || WIRE_PADDED(w->bytes) > (size_t)(end - p))
			return -EINVAL;
		if (is_missing(code, i))
			code->missing |= 1u << i;
		if (w->addr && (w->bytes || !(code->missing & 1u << i))) {
			r = py_code_set_text(code, i, p, w->bytes);
			if (r)
				return r;
		}
		p += WIRE_PADDED(w->bytes);
	}
	return 0;
}

/*
 * Between a class call and its __init__, 3.12+ runs _Py_InitCleanup (Python/specialize.c). This is
 * a static code object whose file, name and qualified name are all the interned string "__init__".
 * Its frames always count as incomplete, so that CPython's own tracebacks never show it.
 */
bool py_code_is_internal(const struct py_code *code)
{
	const struct wire_text *w = code->text;

	return PY_HAS(py_can(code->version), INIT_CLEANUP) && code->firsttraceable > 0 &&
	       code->file && w[CODE_FILENAME].addr == w[CODE_NAME].addr &&
	       w[CODE_FILENAME].addr == w[CODE_QUALNAME].addr && streq(code->file, "__init__");
}

int py_code_from_record(const struct rec_code *rec, size_t n, unsigned version,
			struct py_code **ret)
{
	_cleanup_(cleanup_py_code) struct py_code *code = NULL;
	const uint8_t *p = (const uint8_t *)rec + sizeof(*rec);
	int r;

	if (n < sizeof(*rec))
		return err_set(-EINVAL, "the record of a code object is too short: %zu bytes", n);
	code = calloc(1, sizeof(*code));
	if (!code)
		return err_set(-ENOMEM, "out of memory");
	code->addr = rec->code;
	code->check = rec->check;
	code->firstlineno = rec->firstlineno;
	code->firsttraceable = rec->firsttraceable;
	code->version = (uint16_t)version;
	memcpy(code->text, rec->text, sizeof(code->text));
	r = take_texts(code, p, (const uint8_t *)rec + n);
	if (r == -ENOMEM)
		return err_set(r, "out of memory");
	if (r)
		return err_set(r, "the record of a code object contradicts itself");
	code->internal = py_code_is_internal(code);
	*ret = TAKE_PTR(code);
	return 0;
}

struct py_code *py_code_like(struct py_code *like, const struct rec_code *rec)
{
	struct py_code *code = malloc(sizeof(*code));

	if (!code)
		return NULL;
	*code = *like;
	code->addr = rec->code;
	code->check = rec->check;
	memcpy(code->text, rec->text, sizeof(code->text));
	code->like = like;
	code->users = 0;
	like->users++;
	return code;
}

void py_code_cut_lines(struct py_code *code, uint32_t n)
{
	uint8_t *less;

	if (code->linetable_bytes <= n || code->like)
		return;
	code->linetable_bytes = n;
	code->missing |= 1u << CODE_LINETABLE;
	less = realloc(code->linetable, n);
	if (less)
		code->linetable = less;
}

unsigned py_code_missing(const struct py_code *code, int lasti)
{
	if (code->missing & 1u << CODE_LINETABLE &&
	    (lasti < 0 || lasti == LASTI_UNKNOWN ||
	     py_linetable_reaches(code->version, code->linetable, code->linetable_bytes, lasti)))
		return code->missing & ~(1u << CODE_LINETABLE);
	return code->missing;
}

struct py_position py_code_position(const struct py_code *code, int lasti)
{
	struct py_position pos = {.col = -1, .end_col = -1};

	/* The line table may be empty: up to 3.9 a function on one line has an empty line table. */
	if (!(py_code_missing(code, lasti) & 1 << CODE_LINETABLE))
		pos = py_linetable_position(code->version, code->linetable, code->linetable_bytes,
					    code->firstlineno, lasti);
	if (!pos.line && lasti / 2 < code->firsttraceable)
		pos.line = MAX(code->firstlineno, 0);
	return pos;
}
