/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Brings texts of a code object that the kernel program couldn't copy, from the live process. The
 * object may be gone and its address reused: its check is taken before and after the reading.
 */
#include "python/code.h"

#include <errno.h>

#include "base/cleanup.h"
#include "check.h"
#include "python/peek.h"
#include "python/text.h"

/* A line table beyond this isn't worth the memory; positions past its end have no line. */
#define MAX_LINETABLE_BYTES (4u << 20)

struct source {
	pid_t pid;
	const struct py_layout *l;
};

/* Length, cached hash and state of a str or bytes object lie next to each other in all versions. */
struct str_head {
	uint64_t len, hash, state;
};

static uint64_t mix_bytes(uint64_t h, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t word = 0;

		memcpy(&word, p + i, MIN(n - i, sizeof(word)));
		h = check_mix(h, word);
	}
	return h;
}

/*
 * Reads the head of the str (line table: bytes) object at @addr. Its length and kind go to @w, the
 * hash to *hash (-1: not cached); returns 0 and the address of its bytes in *data.
 */
static int read_head(const struct source *s, uint64_t addr, bool is_bytes, struct wire_text *w,
		     uint64_t *data, uint64_t *hash)
{
	const struct py_layout *l = s->l;
	struct str_head head;
	uint32_t state;
	int r;

	r = addr ? peek(s->pid, addr + l->str_length, &head, sizeof(head)) : -EFAULT;
	if (!r && head.len > UINT32_MAX)
		r = -EFAULT;
	if (r)
		return r;
	*w = (struct wire_text){.addr = addr, .len = (uint32_t)head.len};
	*hash = head.hash;
	*data = addr + (is_bytes || l->str_state ? l->bytes_data : l->str_ascii);
	if (is_bytes || !l->str_state)
		return 0;
	state = (uint32_t)head.state >> l->str_kind_shift;
	w->kind = state & 7;
	w->ascii = state >> 4 & 1;
	*data = addr + (w->ascii ? l->str_ascii : l->str_compact);
	return 0;
}

static int read_bytes(const struct source *s, uint64_t data, size_t n, uint8_t **ret)
{
	_cleanup_free_ uint8_t *buf = malloc(n + 1);
	int r;

	if (!buf)
		return -ENOMEM;
	r = peek(s->pid, data, buf, n);
	if (!r)
		*ret = TAKE_PTR(buf);
	return r;
}

/* As hash_object() in bpf/code.bpf.h. */
static int mix_object(const struct source *s, uint64_t addr, bool is_bytes, uint64_t *acc)
{
	_cleanup_free_ uint8_t *buf = NULL;
	struct wire_text w;
	uint64_t data, hash, n;
	int r;

	r = read_head(s, addr, is_bytes, &w, &data, &hash);
	if (r)
		return r;
	if (hash != ~0ull) {
		*acc = check_hashed(*acc, w.len, hash);
		return 0;
	}
	*acc = check_mix(*acc, w.len);
	n = MIN(text_raw_bytes(&w), (uint64_t)ABI_LINETABLE_BYTES);
	r = read_bytes(s, data, n, &buf);
	if (!r)
		*acc = mix_bytes(*acc, buf, n);
	return r;
}

static uint64_t field(const struct source *s, uint64_t code, uint16_t off)
{
	return peek_u64(s->pid, code + off);
}

/* As check_contents() in bpf/code.bpf.h. */
static int check_contents(const struct source *s, uint64_t code, uint32_t firstlineno,
			  uint64_t *ret)
{
	const struct py_layout *l = s->l;
	uint64_t acc = check_mix(0, firstlineno), file = 0;
	int r;

	r = mix_object(s, field(s, code, l->code_filename), false, &file);
	acc = check_mix(acc, file);
	if (!r)
		r = mix_object(s, field(s, code, l->code_qualname ? l->code_qualname : l->code_name),
			       false, &acc);
	if (!r)
		r = mix_object(s, field(s, code, l->code_linetable), true, &acc);
	*ret = acc | 1;
	return r;
}

static int check_now(const struct source *s, uint64_t code, uint64_t *ret)
{
	const struct py_layout *l = s->l;
	uint32_t firstlineno, version = 0;
	int r;

	r = peek(s->pid, code + l->code_firstlineno, &firstlineno, sizeof(firstlineno));
	if (!r && l->code_version)
		r = peek(s->pid, code + l->code_version, &version, sizeof(version));
	if (r)
		return r;
	if (!version)
		return check_contents(s, code, firstlineno, ret);
	*ret = check_version(version, firstlineno, field(s, code, l->code_qualname),
			     field(s, code, l->code_linetable));
	return 0;
}

static int check_same(const struct source *s, const struct py_code *code)
{
	uint64_t check;
	int r = check_now(s, code->addr, &check);

	if (r)
		return r;
	return check == code->check ? 0 : -ESTALE;
}

/* The head is read again too: what was unreadable at first sight may have been just that. */
static int fill_text(const struct source *s, struct py_code *code, enum code_text which)
{
	_cleanup_free_ uint8_t *buf = NULL;
	bool is_table = which == CODE_LINETABLE;
	uint32_t most = is_table ? MAX_LINETABLE_BYTES : ABI_NAME_BYTES;
	struct wire_text w;
	uint64_t data, hash, n;
	int r;

	r = read_head(s, code->text[which].addr, is_table, &w, &data, &hash);
	if (r)
		return r;
	n = MIN(text_raw_bytes(&w), (uint64_t)most);
	r = read_bytes(s, data, n, &buf);
	if (!r)
		r = check_same(s, code);
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
	struct source s = {pid, layout};
	int r;

	if (!code->missing)
		return 0;
	r = check_same(&s, code);
	for (int i = 0; !r && i < CODE_TEXT_MAX; i++)
		if (code->missing & 1u << i)
			r = fill_text(&s, code, i);
	return r;
}
