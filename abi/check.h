/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Proof that a code object is still the one that was named: a 64-bit value that is computed from
 * all that its name, file and lines come from. These are pure functions. The kernel program calls
 * them for every frame of a sample, user space when it reads a code object later. Why this can't be
 * wrong: docs/decisions/0002-code-identity.md.
 */
#ifndef ABI_CHECK_H
#define ABI_CHECK_H

#include "layout.h"

/*
 * One multiplication and one shift per word. The state has 64 bits, so that even 2^32 objects
 * hardly collide.
 */
static inline __attribute__((always_inline)) __u64 check_mix(__u64 h, __u64 word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

#ifndef __bpf__
/* Adds the @n bytes at @p to the proof @h, eight at a time, the last word padded with zeros. */
static inline __u64 check_bytes(__u64 h, const __u8 *p, __u64 n)
{
	for (__u64 i = 0; i < n; i += 8) {
		__u64 word = 0;

		__builtin_memcpy(&word, p + i, n - i < sizeof(word) ? n - i : sizeof(word));
		h = check_mix(h, word);
	}
	return h;
}
#endif

/*
 * 3.12+: within one interpreter co_version is given to one code object only, and never again. From
 * 3.13 on each interpreter of a process counts for itself. Then the pointers tell apart code
 * objects that have the same version in two interpreters.
 */
static inline __attribute__((always_inline)) __u64 check_version(__u32 version, __u32 firstlineno,
								 __u64 qualname, __u64 linetable)
{
	__u64 h = check_mix((__u64)version << 32 | firstlineno, qualname);

	return check_mix(h, linetable) | 1;
}

/*
 * Up to 3.11, and where co_version is 0, the object's contents are the proof. A str or bytes object
 * counts as its length and its cached hash (SipHash or, in 2.7, FNV, over all its bytes) if it has
 * one, else as all its bytes, eight at a time, the last word padded with zeros.
 */
static inline __attribute__((always_inline)) __u64 check_hashed(__u64 h, __u64 len, __u64 hash)
{
	return check_mix(check_mix(h, len), hash);
}

/*
 * Identifies the build of a library, by entries of its dynamic section: offsets of names and sizes
 * of tables, which differ from build to build. Entries that the loader relocates in place are left
 * out (glibc adds the bias to the addresses of tables).
 */
static inline __attribute__((always_inline)) __u64 check_dynamic(__u64 h, __u64 tag, __u64 value)
{
	switch (tag) {
	case 1:	 /* DT_NEEDED */
	case 2:	 /* DT_PLTRELSZ */
	case 8:	 /* DT_RELASZ */
	case 10: /* DT_STRSZ */
	case 14: /* DT_SONAME */
	case 27: /* DT_INIT_ARRAYSZ */
	case 28: /* DT_FINI_ARRAYSZ */
		return check_mix(h, tag << 56 ^ value);
	}
	return h;
}

#endif
