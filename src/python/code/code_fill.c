/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads texts of a code object from the live process, if the kernel program couldn't copy them. The
 * object may be gone and its address reused, so its check (abi/check.h) is computed before and
 * after reading.
 */
#include "python/code/code.h"

#include <errno.h>

#include "base/cleanup.h"
#include "check.h"
#include "python/heap/heap.h"
#include "python/heap/text.h"

/*
 * The most bytes of a line table that are read. More bytes wouldn't be worth the memory.
 * Instructions whose entry lies after these bytes have no line.
 */
#define MAX_LINETABLE_BYTES (4u << 20)

static int read_bytes(struct heap *h, uint64_t data, size_t n, uint8_t **ret)
{
	_cleanup_free_ uint8_t *buf = malloc(n + 1);
	int r;

	if (!buf)
		return -ENOMEM;
	r = heap_read(h, data, buf, n);
	if (!r)
		*ret = TAKE_PTR(buf);
	return r;
}

/* Computes the same hash as hash_object() in bpf/python/code.bpf.h. */
static int mix_object(struct heap *h, uint64_t addr, bool is_bytes, uint64_t *acc)
{
	_cleanup_free_ uint8_t *buf = NULL;
	struct wire_text w;
	uint64_t data, hash, n;
	int r;

	r = heap_str_head(h, addr, is_bytes, &w, &data, &hash);
	if (r)
		return r;
	if (hash != ~0ull) {
		*acc = check_hashed(*acc, w.len, hash);
		return 0;
	}
	*acc = check_mix(*acc, w.len);
	n = MIN(text_raw_bytes(&w), (uint64_t)ABI_LINETABLE_BYTES);
	r = read_bytes(h, data, n, &buf);
	if (!r)
		*acc = check_bytes(*acc, buf, n);
	return r;
}

/* Computes the same check as check_contents() in bpf/python/code.bpf.h. */
static int check_contents(struct heap *h, uint64_t code, uint32_t firstlineno, uint64_t *ret)
{
	const struct py_layout *l = h->l;
	uint64_t acc = check_mix(0, firstlineno), file = 0;
	int r;

	r = mix_object(h, heap_ptr(h, code + l->code_filename), false, &file);
	acc = check_mix(acc, file);
	if (!r)
		r = mix_object(
			h, heap_ptr(h, code + (l->code_qualname ? l->code_qualname : l->code_name)),
			false, &acc);
	if (!r)
		r = mix_object(h, heap_ptr(h, code + l->code_linetable), true, &acc);
	*ret = acc | 1;
	return r;
}

/*
 * Is the object in use, not freed? A freed object keeps its version until something else is written
 * to its memory, but its reference count is gone. In its place is 0, or a pointer of pymalloc,
 * which is above 2^32. A pointer of malloc may be lower, but malloc also overwrites the type. Since
 * 3.14 the highest 16 bits of the count are flags. Objects of free-threaded builds (3.13+, with a
 * longer head) count as in use.
 */
static bool is_alive(struct heap *h, uint64_t code)
{
	const struct py_layout *l = h->l;
	uint64_t count;

	if (!PY_HAS(l->can, TRACE_REFS) && l->ob_type > sizeof(count))
		return true;
	count = heap_ptr(h, code + l->ob_type - sizeof(count)) & 0xffffffffffff;
	return count && count <= UINT32_MAX &&
	       heap_type_is(h, heap_ptr(h, code + l->ob_type), "code");
}

static int check_now(struct heap *h, uint64_t code, uint64_t *ret)
{
	const struct py_layout *l = h->l;
	uint32_t firstlineno, version = 0;
	int r;

	r = heap_read(h, code + l->code_firstlineno, &firstlineno, sizeof(firstlineno));
	if (!r && l->code_version)
		r = heap_read(h, code + l->code_version, &version, sizeof(version));
	if (r)
		return r;
	if (!version)
		return check_contents(h, code, firstlineno, ret);
	if (!is_alive(h, code))
		return -ESTALE;
	*ret = check_version(version, firstlineno, heap_ptr(h, code + l->code_qualname),
			     heap_ptr(h, code + l->code_linetable));
	return 0;
}

int py_code_check_same(const struct py_code *code, struct heap *h)
{
	uint64_t check;
	int r = check_now(h, code->addr, &check);

	if (r)
		return r;
	return check == code->check ? 0 : -ESTALE;
}

/*
 * Reads a missing text. First reads the head of the text's object again, because the kernel program
 * may have been unable to read it.
 */
static int fill_text(struct heap *h, struct py_code *code, enum code_text which)
{
	_cleanup_free_ uint8_t *buf = NULL;
	bool is_table = which == CODE_LINETABLE;
	uint32_t most = is_table ? MAX_LINETABLE_BYTES : ABI_NAME_BYTES;
	struct wire_text w;
	uint64_t data, hash, n;
	int r;

	r = heap_str_head(h, code->text[which].addr, is_table, &w, &data, &hash);
	if (r)
		return r;
	n = MIN(text_raw_bytes(&w), (uint64_t)most);
	r = read_bytes(h, data, n, &buf);
	if (!r)
		r = py_code_check_same(code, h);
	if (r)
		return r;
	code->text[which] = w;
	r = py_code_set_text(code, which, buf, n);
	if (!r)
		code->missing &= ~(1u << which);
	return r;
}

int py_code_fill_from_process(struct py_code *code, pid_t pid, const struct py_layout *layout)
{
	struct heap h;
	int r;

	if (!code->missing)
		return 0;
	heap_init(&h, pid, layout);
	r = py_code_check_same(code, &h);
	for (int i = 0; !r && i < CODE_TEXT_MAX; i++)
		if (code->missing & 1u << i)
			r = fill_text(&h, code, i);
	return r;
}

/* Reads where the code object's texts are, and marks all texts as missing. */
static int read_fields(struct heap *h, struct py_code *code)
{
	const struct py_layout *l = h->l;
	const uint16_t field[CODE_TEXT_MAX] = {
		[CODE_FILENAME] = l->code_filename,
		[CODE_NAME] = l->code_name,
		[CODE_QUALNAME] = l->code_qualname,
		[CODE_LINETABLE] = l->code_linetable,
	};

	for (int i = 0; i < CODE_TEXT_MAX; i++) {
		if (!field[i])
			continue;
		code->text[i].addr = heap_ptr(h, code->addr + field[i]);
		if (i != CODE_NAME || !field[CODE_QUALNAME])
			code->missing |= 1u << i;
	}
	if (l->code_firsttraceable &&
	    heap_read(h, code->addr + l->code_firsttraceable, &code->firsttraceable,
		      sizeof(code->firsttraceable)))
		return -EFAULT;
	return heap_read(h, code->addr + l->code_firstlineno, &code->firstlineno,
			 sizeof(code->firstlineno));
}

int py_code_from_process(pid_t pid, const struct py_layout *layout, uint64_t addr, uint64_t check,
			 struct py_code **ret)
{
	_cleanup_(cleanup_py_code) struct py_code *code = calloc(1, sizeof(*code));
	struct heap h;
	int r;

	if (!code)
		return -ENOMEM;
	heap_init(&h, pid, layout);
	code->addr = addr;
	code->check = check;
	code->version = layout->version;
	r = check ? 0 : check_now(&h, addr, &code->check);
	if (!r)
		r = read_fields(&h, code);
	if (!r)
		r = py_code_fill_from_process(code, pid, layout);
	if (r)
		return r;
	code->internal = py_code_is_internal(code);
	*ret = TAKE_PTR(code);
	return 0;
}
