/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A 64-bit value that proves that the code object at an address is still the code object whose name
 * krait has read. It is computed from everything that the name, the file and the lines of the code
 * object come from. The functions in this file are pure. The kernel program calls them for every
 * frame of a sample. User space calls them when it reads a code object later.
 * docs/decisions/0002-code-identity.md says why this proof can't be wrong.
 */
#ifndef ABI_CHECK_H
#define ABI_CHECK_H

#include "layout.h"

/*
 * Adds @word to the proof @h, with one multiplication and one shift. A proof has 64 bits, so that
 * even 2^32 objects hardly collide.
 */
static inline __attribute__((always_inline)) __u64 check_mix(__u64 h, __u64 word)
{
	h = (h ^ word) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

#ifndef __bpf__
/*
 * Adds the @n bytes at @p to the proof @h, eight at a time, with zeros after the last byte up to a
 * multiple of eight.
 */
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
 * Returns the proof of a code object that has a co_version (3.12+). Within one interpreter, a
 * co_version is given to one code object only, and never again. From 3.13 on each interpreter of a
 * process counts versions for itself. So two interpreters may have code objects with the same
 * version, which differ in the addresses @qualname and @linetable.
 */
static inline __attribute__((always_inline)) __u64 check_version(__u32 version, __u32 firstlineno,
								 __u64 qualname, __u64 linetable)
{
	__u64 h = check_mix((__u64)version << 32 | firstlineno, qualname);

	return check_mix(h, linetable) | 1;
}

/*
 * Adds a str or bytes object, as its length and its cached hash, to the proof @h. The proof of a
 * code object that has no co_version (all up to 3.11) includes such objects. The cached hash is
 * SipHash (in 2.7 FNV) over all bytes. An object without a cached hash is added as its length and
 * all its bytes, eight at a time, with zeros after the last byte up to a multiple of eight.
 */
static inline __attribute__((always_inline)) __u64 check_hashed(__u64 h, __u64 len, __u64 hash)
{
	return check_mix(check_mix(h, len), hash);
}

/*
 * Adds an entry of the dynamic section of a library to @h, the value that identifies the build of
 * the library. Only offsets of names and sizes of tables are added: they differ from build to
 * build. Entries whose value the loader changes are left out (glibc adds the load bias to the
 * addresses of tables).
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
