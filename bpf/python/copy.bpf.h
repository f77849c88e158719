/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds which instruction a frame is at, in free-threaded builds since 3.14. In these builds each
 * thread specializes its own copy of a function's bytecode. The code object's co_tlbc points to a
 * _PyCodeArray {Py_ssize_t size; char *entries[size]}, which has the copies, all of the same
 * length. A frame has the index of its copy, tlbc_index. Entry 0 is the main copy, which lies in
 * the code object.
 *
 * A thread that has no copy of a function yet enters the function in the main copy. RESUME then
 * makes the thread's copy and moves the frame there. RESUME does the same in a generator that
 * another thread ran before. RESUME sets tlbc_index and instr_ptr one after the other, so for a
 * moment they may disagree (Python/bytecodes.c, _LOAD_BYTECODE). So the offset is counted from the
 * beginning of the copy in which the instruction lies.
 *
 * The addresses of copies are kept in w->proofs. A thread's copies stay where they are until it has
 * ended (Objects/codeobject.c, _Py_ClearUnusedTLBC()). When a thread begins or ends, the
 * interpreter counts tlbc_generation up.
 */
#ifndef BPF_PYTHON_COPY_H
#define BPF_PYTHON_COPY_H

#include "python/code.bpf.h"
#include "python/thread.bpf.h"

/* how many entries of the array are tried if the instruction isn't in the frame's own copy */
#define COPIES_TRIED 15
/*
 * An instruction within this many bytes from the beginning of the main copy is in that copy;
 * is_in_main() needs no read to know that.
 */
#define MAIN_BYTES 4096
/* no code object can have more instructions than this, so a larger number was misread */
#define MOST_UNITS (1u << 29)
/*
 * A word in w->proofs has the address of a copy in its COPY_ADDR_BITS low bits. Above these it has
 * the number of the copy's instructions (2 bytes each).
 */
#define COPY_ADDR_BITS 48

walk_inline bool is_in(__u64 copy, __u64 units, __u64 instr)
{
	return instr - copy < units * 2;
}

/*
 * Sets w->copies_hash, which depends on tlbc_generation. False: the generation isn't readable, or
 * the build has no generation.
 */
walk_inline bool load_generation(struct walk *w, const struct py_layout *l)
{
	__u32 generation;

	if (w->copies_hash)
		return true;
	if (!l->interp_tlbc_generation ||
	    read_user(&generation, sizeof(generation), w->interp + l->interp_tlbc_generation))
		return false;
	w->copies_hash = check_mix(w->made_hash, generation) | 1;
	return true;
}

/*
 * Returns the key in w->proofs of copy @index of @code. If the copy may be moved later, the key is
 * valid in this sample only. (This and the functions below are global, so that the verifier goes on
 * from one state.)
 */
walk_global __u64 copy_key(__u32 slot, __u64 code, __u32 index)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);
	__u64 h;

	if (!l)
		return 0;
	h = w->codes_made && load_generation(w, l) ? w->copies_hash
						   : check_mix(w->proc_hash, w->sample);
	return check_mix(check_mix(h, index), code) | 1;
}

/*
 * Returns the address of the copy that has instruction @instr of @code, whose copies have @units
 * instructions each; 0: the copy isn't found. @index is the frame's tlbc_index.
 */
walk_global __u64 search_copies(__u32 slot, __u64 code, __u64 instr, __u32 index, __u64 units)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);
	__u64 array, n, entry;

	if (!l || units > MOST_UNITS)
		return 0;
	entry = code + l->code_adaptive;
	if (is_in(entry, units, instr))
		return entry;
	array = read_u64(code + l->code_tlbc);
	n = array ? read_u64(array) : 0;
	entry = index < n ? read_u64(array + 8 + 8 * (__u64)index) : 0;
	if (entry && is_in(entry, units, instr))
		return entry;
	n = n > COPIES_TRIED ? COPIES_TRIED : n;
	opaque(n);
	if (n > COPIES_TRIED || read_user(w->object, (__u32)n * 8, array + 8))
		return 0;
	for (__u32 i = 0; i < COPIES_TRIED; i++) {
		if (i >= n)
			break;
		entry = object_u64(w, 8 * i);
		if (is_in(entry, units, instr))
			return entry;
	}
	return 0;
}

/*
 * Returns what search_copies() returns, and keeps the copy in w->proofs with @key. Like proving a
 * code object, the search is limited in time, except for the innermost frames.
 */
walk_global __u64 search_in_time(__u32 slot, __u64 code, __u64 instr, __u32 index, __u64 key)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);
	__u64 units, copy;
	bool limited;

	if (!l)
		return 0;
	limited = w->n >= PROVE_LEAST;
	if (limited && w->proving_ns > PROVE_NS)
		return 0;
	if (limited)
		w->proving_ns -= (__u32)walk_clock();
	/* PyVarObject.ob_size, the number of instructions */
	units = read_u64(code + l->str_length);
	copy = search_copies(slot, code, instr, index, units);
	if (limited)
		w->proving_ns += (__u32)walk_clock();
	if (copy && !(copy >> COPY_ADDR_BITS) && !(units >> (64 - COPY_ADDR_BITS)))
		keep_proof(w, key, copy | units << COPY_ADDR_BITS);
	return copy;
}

/*
 * Is the frame at offset @off in w->block at one of the first instructions of the main copy of
 * @code? For most frames the answer is yes, so no read is needed to find the instruction.
 */
walk_inline bool is_in_main(const struct walk *w, const struct py_layout *l, __u64 off, __u64 code)
{
	return !block_u32(w, off + l->frame_tlbc_index) &&
	       is_in(code + l->code_adaptive, MAIN_BYTES / 2, block_u64(w, off + l->frame_lasti));
}

/*
 * Returns wire_frame.lasti of the frame at offset @off in w->block, for which is_in_main() is
 * false. (User space knows the end of
 * the bytecode. It gives an instruction behind the end no line.)
 */
walk_global int find_lasti(__u32 slot, __u64 off)
{
	struct walk *w = walk_state(slot);
	const struct py_layout *l = layout_of(w);
	__u64 code, instr, key, copy = 0;
	__u32 index;

	if (!l)
		return LASTI_UNKNOWN;
	code = block_u64(w, off + l->frame_code) & ~7ull;
	instr = block_u64(w, off + l->frame_lasti);
	index = block_u32(w, off + l->frame_tlbc_index);
	/* an evaluation loop's own frame (its shim) has no code */
	if (block_u8(w, off + l->frame_owner) >= 3)
		return 0;
	key = copy_key(slot, code, index);
	if (is_proved(w, key, &copy)) {
		__u64 at = copy & ((1ull << COPY_ADDR_BITS) - 1);

		if (is_in(at, copy >> COPY_ADDR_BITS, instr))
			return (int)(instr - at);
	}
	copy = search_in_time(slot, code, instr, index, key);
	return copy ? (int)(instr - copy) : LASTI_UNKNOWN;
}

#endif
