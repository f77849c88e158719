/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends records to user space. A code object or a stack is sent with the first sample that has it.
 * A code object's names, file and line table are copied then, while they certainly exist. Each
 * sample is a small record. Only what the ring accepted counts as sent.
 */
#ifndef BPF_SEND_H
#define BPF_SEND_H

#include "module.bpf.h"
#include "native/unwind.bpf.h"
#include "slot.bpf.h"
#include "sent.h"

/*
 * Functions that each program with the walkers defines for itself; see "The seam" in state.bpf.h.
 * send_bytes() returns 0 if the ring accepted the record. code_seen(id) tells whether code_mark(id)
 * was called before, stack_seen(id) whether stack_mark(id) was.
 */
walk_inline long send_bytes(const void *data, __u64 n);
walk_inline bool code_seen(__u64 key);
walk_inline void code_mark(__u64 key);
walk_inline bool stack_seen(__u64 id);
walk_inline void stack_mark(__u64 id);

/*
 * Appends text @which (enum code_text) of the code object in w->object to the staging buffer, and
 * describes the text in the record's head. If the text can't be read, or SEND_BUDGET is spent,
 * .bytes in the head is 0, and user space reads the text later.
 */
walk_global int copy_text(__u32 slot, __u32 which)
{
	struct walk *w = walk_state(slot);
	struct staging *s = walk_staging(slot);
	const struct py_layout *l;
	struct wire_text *t;
	__u64 n, data = 0;
	__u32 field;

	if (!w || !s)
		return 0;
	which = bounded(which, CODE_TEXT_MAX);
	l = walk_layout(w->where.layout);
	if (!l)
		return 0;
	t = &((struct rec_code *)s->bytes)->text[which];
	__builtin_memset(t, 0, sizeof(*t));
	field = text_field(l, which);
	if (!field)
		return 0;
	t->addr = object_u64(w, field - l->code_block);
	if (which == CODE_NAME && l->code_qualname)
		/* the name's address is enough, because the qualified name contains the name */
		return 0;
	n = read_text_head(l, which, t, &data);
	t->bytes = stage_bytes(w, s, data, n,
			       which == CODE_LINETABLE ? ABI_LINETABLE_BYTES : ABI_NAME_BYTES);
	return 0;
}

/*
 * Did this sample send so many code objects that it sends no more? (When all code objects are new,
 * even looking up whether they were sent takes 0.1 ms.)
 */
walk_inline bool has_sent_enough(const struct walk *w)
{
	return w->codes_sent >= SEND_CODES ||
	       (w->codes_sent >= SEND_LEAST && walk_clock() - w->began_ns > SEND_NS);
}

walk_inline __u64 code_key(const struct walk *w, const struct wire_frame *f)
{
	return sent_code_id(&w->proc, f->code, f->check);
}

/* Fills the head of the record: everything of the code object in w->object except its texts. */
walk_inline void fill_code(struct rec_code *rec, const struct walk *w, const struct py_layout *l,
			   const struct wire_frame *f, __u64 frame)
{
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->type = REC_CODE;
	rec->layout = w->where.layout;
	rec->code = f->code;
	rec->check = f->check;
	rec->proc = w->proc;
	rec->firstlineno = (__s32)object_u32(w, l->code_firstlineno - l->code_block);
	if (l->code_version)
		rec->version = object_u32(w, l->code_version - l->code_block);
	if (l->code_firsttraceable)
		read_user(&rec->firsttraceable, sizeof(rec->firsttraceable),
			  f->code + l->code_firsttraceable);
	if (!l->code_qualname)
		read_user(&rec->self_obj, sizeof(rec->self_obj), frame + l->frame_locals);
	if (rec->self_obj)
		read_user(&rec->self_type, sizeof(rec->self_type), rec->self_obj + l->ob_type);
	read_user(&rec->globals, sizeof(rec->globals), frame + l->frame_globals);
}

/* Sends the code object of frame @i unless it was sent before. Returns 1 if it couldn't be sent. */
walk_global int send_code(__u32 slot, __u32 i)
{
	struct walk *w = walk_state(slot);
	struct walk_out *out = walk_out(slot);
	struct walk_addrs *addrs = walk_addrs(slot);
	struct staging *s = walk_staging(slot);
	const struct py_layout *l;
	const struct wire_frame *f;
	struct rec_code *rec;
	__u64 key, n;

	if (!w || !out || !addrs || !s)
		return 1;
	l = walk_layout(w->where.layout);
	if (!l)
		return 1;
	i = bounded(i, ABI_MAX_FRAMES);
	f = &out->frame[i];
	key = code_key(w, f);
	if (code_seen(key))
		return 0;
	w->codes_sent++;
	if (read_user(w->object, CODE_BLOCK_BYTES, f->code + l->code_block))
		return 1;
	rec = (struct rec_code *)s->bytes;
	fill_code(rec, w, l, f, addrs->frame[i]);
	w->staged = sizeof(*rec);
	copy_text(slot, CODE_FILENAME);
	copy_text(slot, CODE_NAME);
	copy_text(slot, CODE_QUALNAME);
	copy_text(slot, CODE_LINETABLE);
	copy_module(slot);
	n = w->staged;
	opaque(n);
	if (n < sizeof(*rec) || n > STAGING_BYTES)
		return 1;
	if (send_bytes(s->bytes, n))
		return 1;
	count(COUNT_CODES_SENT);
	code_mark(key);
	return 0;
}

/*
 * Sends the kernel's and the native frames of stack w->hash, if there are any. False: the ring
 * didn't accept them.
 */
walk_inline bool send_native(const struct walk *w)
{
	const struct native *n = native_state(w->slot);
	struct native_out *no = native_out(w->slot);
	__u64 frames, bytes;

	if (!n || !no || !(n->n + no->head.n_kernel))
		return true;
	frames = (__u64)no->head.n_kernel + n->n;
	no->head.type = REC_NATIVE;
	no->head.outcome = n->outcome;
	no->head.n = (__u16)n->n;
	no->head.reserved16 = 0;
	no->head.stack = w->hash;
	no->head.proc = w->proc;
	no->head.version = n->space.version;
	no->head.reserved = 0;
	bytes = sizeof(no->head) + frames * sizeof(no->pc[0]);
	opaque(bytes);
	if (bytes < sizeof(no->head) || bytes > sizeof(*no))
		return false;
	if (send_bytes(no, bytes))
		return false;
	count(COUNT_NATIVE_SENT);
	return true;
}

#define SEND_GROUP 16

/*
 * Sends the code objects of SEND_GROUP frames, from @first on. Returns 1 if some of them couldn't
 * be sent.
 */
walk_global int send_codes(__u32 slot, __u32 first)
{
	const struct walk *w = walk_state(slot);
	int refused = 0;

	if (!w)
		return 0;
	if (has_sent_enough(w))
		return 1;
	for (__u32 i = 0; i < SEND_GROUP; i++)
		if (first + i < w->n)
			refused |= send_code(slot, first + i);
	return refused;
}

/*
 * Sends the stack in walk_out, which wasn't sent before: first its code objects, then the stack.
 * Returns 1 if all of it was sent.
 */
walk_global int send_new_stack(__u32 slot)
{
	struct walk *w = walk_state(slot);
	struct walk_out *out = walk_out(slot);
	int refused = 0;
	__u64 n;

	if (!w || !out)
		return 0;
	w->copied = w->codes_sent = 0;
	for (__u32 i = 0; i < ABI_MAX_FRAMES && i < w->n; i += SEND_GROUP)
		refused |= send_codes(slot, i);
	if (!send_native(w))
		return 0;
	out->head.type = REC_STACK;
	out->head.outcome = w->outcome;
	out->head.n = (__u16)w->n;
	out->head.reserved = 0;
	out->head.stack = w->hash;
	out->head.proc = w->proc;
	n = sizeof(out->head) + (__u64)w->n * sizeof(out->frame[0]);
	opaque(n);
	if (n < sizeof(out->head) || n > sizeof(*out))
		return 0;
	if (send_bytes(out, n))
		return 0;
	count(COUNT_STACKS_SENT);
	return !refused;
}

/* Sends the stack in walk_out unless it was sent before. */
walk_inline void send_stack(struct walk *w)
{
	/*
	 * Most samples have a stack that an earlier sample had shortly before. For such a stack the
	 * large map isn't searched.
	 */
	__u64 *recent = &w->sent[bounded(w->hash >> 1, SENT_STACKS)];

	if (!w->hash || *recent == w->hash)
		return;
	if (!stack_seen(w->hash)) {
		if (!send_new_stack(w->slot))
			return;
		stack_mark(w->hash);
	}
	*recent = w->hash;
}

#endif
