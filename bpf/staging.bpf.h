/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The buffer in which a code object's record is put together, and how texts of the target get into
 * it.
 */
#ifndef BPF_STAGING_H
#define BPF_STAGING_H

#include "python/code.bpf.h"

/*
 * The staging buffer has a record's head and names (< 64 KiB), followed by a line table (<= 64
 * KiB).
 */
#define STAGING_HALF  65536
#define STAGING_BYTES (2 * STAGING_HALF)

/*
 * Limits of one sample: a stack of new functions may have 1,024 code objects with 64 KiB each. User
 * space reads names and line tables beyond SEND_BUDGET from the process. Code objects beyond
 * SEND_CODES are sent with the next samples.
 */
/* the most bytes of names and line tables that one sample sends: about 40 us */
#define SEND_BUDGET (128 << 10)
#define SEND_CODES  128 /* the most code objects that one sample sends */

struct staging {
	__u8 bytes[STAGING_BYTES + SLACK];
};

/*
 * Returns the staging buffer of @slot. Each program with the walkers defines this function for
 * itself; see "The seam" in state.bpf.h.
 */
walk_inline struct staging *walk_staging(__u32 slot);

/* Limits @n to @cap, in a form that the verifier of 5.10 understands. */
walk_inline __u64 clamp_len(__u64 n, __u64 cap)
{
	if (n > cap)
		n = cap;
	opaque(n);
	return n;
}

walk_inline __u32 text_field(const struct py_layout *l, __u32 which)
{
	return which == CODE_FILENAME	? l->code_filename
	       : which == CODE_NAME	? l->code_name
	       : which == CODE_QUALNAME ? l->code_qualname
					: l->code_linetable;
}

/*
 * Fills @t from the head of the str or bytes object at t->addr. Returns how many bytes its text
 * has, and in *@data where they begin. 0: the head isn't readable.
 */
walk_inline __u64 read_text_head(const struct py_layout *l, __u32 which, struct wire_text *t,
				 __u64 *data)
{
	__u64 head[3] = {}; /* the length, the hash and the state of the str */
	__u32 state;

	t->len = 0xffffffffu; /* the length of the text isn't known */
	if (!t->addr || read_user(head, sizeof(head), t->addr + l->str_length))
		return 0;
	t->len = head[0] > 0xffffffffu ? 0xffffffffu : (__u32)head[0];
	*data = t->addr + l->bytes_data;
	if (which == CODE_LINETABLE || !l->str_state)
		return head[0];
	state = (__u32)head[2] >> l->str_kind_shift;
	t->kind = state & 7;
	t->ascii = state >> 4 & 1;
	*data = str_data(l, t->addr, state);
	return head[0] * t->kind;
}

/*
 * Appends the @n bytes at @data, at most @cap, to the staging buffer. Returns how many bytes were
 * appended; 0: they couldn't be read, or SEND_BUDGET is spent.
 */
walk_inline __u32 stage_bytes(struct walk *w, struct staging *s, __u64 data, __u64 n, __u64 cap)
{
	__u32 off = bounded(w->staged, STAGING_HALF);

	if (!n)
		return 0;
	n = clamp_len(n, cap);
	if (n > ABI_LINETABLE_BYTES || w->copied + n > SEND_BUDGET)
		return 0;
	w->copied += (__u32)n;
	if (read_user(&s->bytes[off], n, data))
		return 0;
	w->staged += (__u32)(n + 7) & ~7u;
	return (__u32)n;
}

#endif
