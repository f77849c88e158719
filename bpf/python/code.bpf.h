/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Computes the check of abi/check.h, which tells code objects apart, for every frame of every
 * sample. One read of a code object gets all fields that the check needs. Up to 3.11, its name,
 * file name and line table are also read, unless the function's version (3.11) proves them.
 */
#ifndef BPF_PYTHON_CODE_H
#define BPF_PYTHON_CODE_H

#include "python/near.bpf.h"

/*
 * how many bytes of a code object are read, from layout.code_block on: all fields that its check
 * (check.h) needs
 */
#define CODE_BLOCK_BYTES 96
/* how many bytes of a line table or file name are read together with its head */
#define SHORT_BYTES 176
/*
 * how many bytes of a str or bytes object are read at once: its head (length, hash, state) and
 * SHORT_BYTES
 */
#define HEAD_BYTES (32 + SHORT_BYTES)
/* up to this many bytes of a name or line table are hashed without calling a global function */
#define TINY_BYTES 32

/*
 * Adds @n <= @most bytes of @text to the hash w->acc, eight at a time. Pads the last word with
 * zeros.
 * @most: a constant that bounds the loop.
 */
walk_inline void hash_text(struct walk *w, const __u8 *text, __u64 n, __u32 most)
{
	__u64 h = w->acc;
	__u32 i;

	for (i = 0; i < most && n >= 8; i += 8, n -= 8)
		h = check_mix(h, load_u64(text + i));
	if (n && i < most)
		h = check_mix(h, load_u64(text + i) & ((1ull << (8 * n & 63)) - 1));
	w->acc = h;
}

/*
 * Adds up to TEXT_BYTES of the bytes that hash_bytes() adds. Returns 0 if it has to be called
 * again, 1 if all bytes have been added, negative = the bytes aren't readable.
 */
walk_global int hash_next(__u32 slot)
{
	struct walk *w = walk_state(slot);
	__u64 n;

	if (!w)
		return -1;
	n = w->acc_len;
	if (!n)
		return 1;
	if (n > TEXT_BYTES)
		n = TEXT_BYTES;
	opaque(n);
	if (n > TEXT_BYTES || w->hashed > HASH_BUDGET)
		return -1;
	if (read_user(w->text, n, w->acc_addr)) {
		note_absent(w, ABSENT_CODE, w->acc_addr, w->acc_len);
		return -1;
	}
	w->hashed += n;
	hash_text(w, w->text, n, TEXT_BYTES);
	w->acc_addr += n;
	w->acc_len -= n;
	return 0;
}

/*
 * Adds w->acc_len bytes at w->acc_addr of the target to the hash w->acc. Returns a negative number
 * if the bytes aren't readable. If there are more than ABI_LINETABLE_BYTES, only that many are
 * added; user space does the same.
 */
walk_global int hash_bytes(__u32 slot)
{
	for (int i = 0; i < ABI_LINETABLE_BYTES / TEXT_BYTES; i++) {
		int r = hash_next(slot);

		if (r)
			return r < 0 ? r : 0;
	}
	return 0;
}

/* Adds to the hash w->acc the @n bytes, SHORT_BYTES at most, at offset @off of w->block. */
walk_global int hash_short(__u32 slot, __u64 off, __u64 n)
{
	struct walk *w = walk_state(slot);

	if (!w)
		return 0;
	hash_text(w, &w->block[bounded(off, 2 * BLOCK_BYTES)], n, SHORT_BYTES);
	return 0;
}

/*
 * Adds to the hash w->acc the @n bytes of the target at @addr. At offset @head, w->block holds
 * w->got bytes of the target's memory from @at on.
 */
walk_inline bool hash_data(struct walk *w, __u64 at, __s64 head, __u64 addr, __u64 n)
{
	__u64 off = addr - at;
	__u64 from = head + off;

	if (n <= SHORT_BYTES && off <= w->got && n <= w->got - off) {
		if (n <= TINY_BYTES)
			hash_text(w, &w->block[bounded(from, 2 * BLOCK_BYTES)], n, TINY_BYTES);
		else
			hash_short(w->slot, from, n);
		return true;
	}
	w->acc_addr = addr;
	w->acc_len = n;
	return hash_bytes(w->slot) == 0;
}

/*
 * Returns the address of a str's characters. They come after the str's head or, if the str isn't
 * compact (an instance of a subclass, or made by an old C API), the str has a pointer to them.
 */
walk_inline __u64 str_data(const struct py_layout *l, __u64 addr, __u32 state)
{
	__u64 data = 0;

	if (state >> 3 & 1)
		return addr + (state >> 4 & 1 ? l->str_ascii : l->str_compact);
	read_user(&data, sizeof(data), addr + l->str_compact);
	return data;
}

/*
 * Adds to w->acc the length and the hash of a str or bytes object, which lie at @head in w->block.
 * If the hash isn't cached (-1), adds the length alone and returns false.
 */
walk_inline bool hash_head(struct walk *w, __s64 head, __u64 *length)
{
	__u64 hash = block_u64(w, head + 8);

	*length = block_u64(w, head);
	w->acc = hash == ~0ull ? check_mix(w->acc, *length) : check_hashed(w->acc, *length, hash);
	return hash != ~0ull;
}

#define STR_BYTES 24 /* size in bytes of the length, hash and state of a str */

/*
 * Adds a str to w->acc: its length and, if it has a cached hash, that hash, else (-1) all its
 * bytes. str and bytes have length and hash at the same offsets in every version. @most: how many
 * bytes are read at once.
 */
walk_inline bool hash_str(struct walk *w, const struct py_layout *l, __u64 addr, __u32 most)
{
	__u64 at = addr + l->str_length, data = addr + l->bytes_data, length;
	__s64 head = addr ? load_near(w, NEAR_NAME, at, STR_BYTES, most) : -1;
	__u32 kind = 1;

	if (head < 0)
		return false;
	if (hash_head(w, head, &length))
		return true;
	if (l->str_state) {
		__u32 state = (__u32)block_u64(w, head + 16) >> l->str_kind_shift;

		kind = state & 7;
		data = str_data(l, addr, state);
	}
	return hash_data(w, at, head, data, length * kind);
}

/*
 * Adds a bytes object to w->acc, as hash_str() does a str. (In 2.7 a str has the same layout.) Most
 * line tables are short, and line tables from a .pyc have no cached hash, so one read gets both
 * head and data.
 */
walk_inline bool hash_object(struct walk *w, const struct py_layout *l, __u64 addr)
{
	__u64 at = addr + l->str_length, length;
	__s64 head = addr ? load_near(w, NEAR_TABLE, at, 16, HEAD_BYTES) : -1;

	if (head < 0)
		return false;
	if (hash_head(w, head, &length))
		return true;
	return hash_data(w, at, head, addr + l->bytes_data, length);
}

/*
 * Returns the memo for the file name at @addr, which keeps the hash of the name during one sample.
 * A code object and its file name can't be freed while a frame refers to the code object. So during
 * a sample an address always belongs to the same object.
 */
walk_inline struct memo *memo_of(struct walk *w, __u64 addr)
{
	return &w->files[bounded(check_mix(0, addr) >> 58, MEMO_FILES)];
}

walk_inline bool remembers(const struct walk *w, const struct memo *m, __u64 addr)
{
	return m->addr == addr && m->sample == w->sample;
}

walk_inline void remember(const struct walk *w, struct memo *m, __u64 addr, __u64 check)
{
	m->addr = addr;
	m->check = check;
	m->sample = w->sample;
}

/* Adds the name of a file, the str at @file, to the hash w->acc. */
walk_inline bool hash_filename(struct walk *w, const struct py_layout *l, __u64 file)
{
	struct memo *m = memo_of(w, file);
	__u64 outer = w->acc;

	if (!file || !remembers(w, m, file)) {
		w->acc = 0;
		/*
		 * mostly the object has no cached hash, because nothing in CPython needs the hash
		 * of a file name
		 */
		if (!(l->str_state ? hash_str(w, l, file, HEAD_BYTES) : hash_object(w, l, file)))
			return false;
		remember(w, m, file, w->acc);
	}
	w->acc = check_mix(outer, m->check);
	return true;
}

/*
 * Computes the check (check.h), which identifies a code object, from the code object's contents,
 * into w->acc. @at: where offset 0 of the code object would be in w->block. This is a global
 * function. If it were inlined, it would be verified for each frame of a group and each path that
 * leads to it. That would take 54,000 of the verifier's 170,000 instructions and half of its time.
 */
walk_global int check_contents(__u32 slot, __u64 at)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);
	__u32 name;

	if (!l)
		return -1;
	name = l->code_qualname ? l->code_qualname : l->code_name;
	w->acc = check_mix(0, block_u32(w, at + l->code_firstlineno));
	if (!hash_filename(w, l, block_u64(w, at + l->code_filename)) ||
	    !hash_str(w, l, block_u64(w, at + name), STR_BYTES) ||
	    !hash_object(w, l, block_u64(w, at + l->code_linetable)))
		return -1;
	w->acc |= 1;
	return 0;
}

/*
 * Has this sample spent so much time on the checks of code objects (check.h) that it computes no
 * more of them? After PROVE_NS, PROVE_LATE more checks are still computed, unless HASH_LEAST bytes
 * have been hashed. In a deep recursion, only the few outermost functions have no check by then,
 * because a walk comes to them last.
 */
walk_inline bool is_late(struct walk *w)
{
	return w->proving_ns > PROVE_NS &&
	       (w->hashed >= HASH_LEAST || ++w->proved_late > PROVE_LATE);
}

/*
 * Computes the check of the code object at @code, a value that identifies it (check.h). False: the
 * code object isn't readable.
 */
walk_inline bool compute_check(struct walk *w, const struct py_layout *l, __u64 code, __u64 *check)
{
	__s64 block =
		load_near(w, NEAR_CODE, code + l->code_block, CODE_BLOCK_BYTES, CODE_BLOCK_BYTES);
	__u64 at = block - l->code_block;
	__u32 version;

	if (block < 0)
		return false;
	version = l->code_version ? block_u32(w, at + l->code_version) : 0;
	if (!version || version >= w->codes_made)
		/*
		 * this code object has a version that isn't below codes_made, so codes_made wasn't
		 * read from the counter of versions
		 */
		w->codes_made = 0;
	if (version) {
		*check = check_version(version, block_u32(w, at + l->code_firstlineno),
				       block_u64(w, at + l->code_qualname),
				       block_u64(w, at + l->code_linetable));
		return true;
	}
	if (check_contents(w->slot, at))
		return false;
	*check = w->acc;
	return true;
}

/*
 * Sets w->acc to the check (check.h) of the code object at @code, unless the earlier checks of this
 * sample took too long. Returns -1 if the code object isn't readable, or if there is no time.
 */
walk_global int prove_late(__u32 slot, __u64 code)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);
	__u64 check = 0;
	bool done;

	if (!l)
		return -1;
	if (is_late(w)) {
		w->hashed = HASH_BUDGET + 1;
		return -1;
	}
	w->proving_ns -= (__u32)walk_clock();
	done = compute_check(w, l, code, &check);
	w->proving_ns += (__u32)walk_clock();
	w->acc = check;
	return done ? 0 : -1;
}

/*
 * Computes the check of the code object at @code, a value that identifies it (check.h). If this
 * fails, returns false, and check_outcome() says why.
 */
walk_inline bool prove(struct walk *w, const struct py_layout *l, __u64 code, __u64 *check)
{
	if (w->n < PROVE_LEAST && w->hashed < HASH_LEAST)
		return compute_check(w, l, code, check);
	if (prove_late(w->slot, code))
		return false;
	*check = w->acc;
	return true;
}

/*
 * 3.12+: reads how many code objects the process has made, before the sample looks at any. As long
 * as that number stays the same, an address where a live code object was found still has the same
 * code object (docs/decisions/0002). The number isn't used if the process ever had a second
 * interpreter. It isn't used either if the thread state may belong to another libpython's
 * interpreter: two libpythons in one process may have the same pthread key.
 */
walk_inline void count_codes(struct walk *w)
{
	__u64 list[3] = {}; /* for the members head, main, next_id of the list of interpreters */

	w->codes_made = 0;
	if (!w->where.codes_made || read_user(list, sizeof(list), w->where.interp_head) ||
	    list[PY_NEXT_ID / 8] != 1 || list[0] != w->interp ||
	    read_user(&w->codes_made, sizeof(w->codes_made), w->where.codes_made))
		return;
	w->made_hash = check_mix(w->proc_hash ^ w->interp, w->codes_made);
}

/*
 * how many bytes of a function are read from func_code on; func_version lies 80 bytes after
 * func_code
 */
#define FUNCTION_BYTES 88

/*
 * Returns the key in w->proofs that the version of function @func gives; 0: there is none. On 3.11
 * a function gets a version when a call of the function is specialized. No other function ever gets
 * the same version. The function loses its version when its code is replaced or it is freed
 * (Objects/funcobject.c, _PyFunction_GetVersionForCurrentState(), func_set_code(), func_clear()).
 * So as long as a function has this version and this code object, the code object is the same.
 */
walk_inline __u64 function_key(struct walk *w, const struct py_layout *l, __u64 func, __u64 code)
{
	__u32 version;

	if (!l->func_version || !func ||
	    read_user(w->object, FUNCTION_BYTES, func + l->func_code) || object_u64(w, 0) != code)
		return 0;
	version = object_u32(w, l->func_version - l->func_code);
	if (!version)
		return 0;
	return check_mix(check_mix(w->proc_hash ^ w->interp, version), code) | 1;
}

walk_inline struct proof *proofs_of(struct walk *w, __u64 key)
{
	return &w->proofs[bounded(key >> 50, PROOF_SETS) * PROOF_WAYS];
}

walk_inline bool is_proved(struct walk *w, __u64 key, __u64 *check)
{
	const struct proof *p = proofs_of(w, key);

	if (p[0].key == key)
		*check = p[0].check;
	else if (p[1].key == key)
		*check = p[1].check;
	else if (p[2].key == key)
		*check = p[2].check;
	else if (p[3].key == key)
		*check = p[3].check;
	else
		return false;
	return true;
}

walk_inline void keep_proof(struct walk *w, __u64 key, __u64 check)
{
	struct proof *p = proofs_of(w, key);

	p[3] = p[2];
	p[2] = p[1];
	p[1] = p[0];
	p[0] = (struct proof){key, check};
}

walk_inline __u32 *seen_of(struct walk *w, __u64 code)
{
	return &w->seen[bounded(check_mix(0, code) >> 56, SEEN_SETS)];
}

/*
 * If a frame of this sample, whose index is in @seen, has the code object at @code, sets *@check to
 * the check (check.h) that was computed for that frame. Without this, a deep recursion of a
 * function with a long line table would take tens of milliseconds. In @seen, indices of this sample
 * come before indices of earlier samples. So only the first index that leads to @code has to be
 * looked at.
 */
walk_inline bool find_seen(const struct walk *w, const struct walk_out *out, __u32 seen, __u64 code,
			   __u64 *check)
{
	__u32 at = seen & (ABI_MAX_FRAMES - 1);

	for (int i = 1; i < SEEN_WAYS && out->frame[at].code != code; i++) {
		seen >>= SEEN_BITS;
		at = seen & (ABI_MAX_FRAMES - 1);
	}
	if (out->frame[at].code != code || at >= w->n)
		return false;
	*check = out->frame[at].check;
	return true;
}

/*
 * Sets *@check to the check (check.h) of the code object at @code, the code of function @func,
 * which the next frame that is added to @out runs. The check is computed once per sample, or not at
 * all if w->proofs has it from an earlier sample. False: check_outcome() says why.
 */
walk_inline bool load_check(struct walk *w, const struct walk_out *out, const struct py_layout *l,
			    __u64 func, __u64 code, __u64 *check)
{
	bool counted = w->codes_made;
	__u32 *seen = w->seen; /* this value is never used: it is replaced before each use */

	if (!counted) {
		seen = seen_of(w, code);
		if (find_seen(w, out, *seen, code, check))
			return true;
	}
	w->proof_key = counted ? check_mix(w->made_hash, code) | 1 : function_key(w, l, func, code);
	if (!w->proof_key || !is_proved(w, w->proof_key, check)) {
		if (!prove(w, l, code, check))
			return false;
		if (w->proof_key && counted == !!w->codes_made)
			keep_proof(w, w->proof_key, *check);
	}
	if (!counted)
		*seen = *seen << SEEN_BITS | (w->n & (ABI_MAX_FRAMES - 1));
	return true;
}

/* Returns the outcome that says why load_check() failed. */
walk_inline __u8 check_outcome(const struct walk *w, __u64 code)
{
	if (!code)
		return WALK_NOT_CODE;
	return w->hashed > HASH_BUDGET ? WALK_CODE_HUGE : WALK_CODE_FAULT;
}

#endif
