/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growing arrays. VEC(T) is a struct { T *v; size_t n, cap; }. A zero-initialised VEC is empty. The
 * elements move when the array grows, so keep indices, not pointers.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <errno.h>
#include <stdlib.h>
#include "base/util.h"

#define VEC(T)                                                                                     \
	struct {                                                                                   \
		T *v;                                                                              \
		size_t n, cap;                                                                     \
	}

/* Makes room for @need elements of @size bytes; 0 or -ENOMEM. */
_must_use_ static inline int vec_grow(void **v, size_t *cap, size_t need, size_t size)
{
	size_t want = *cap ? *cap : 8;
	void *p;

	if (need <= *cap)
		return 0;
	while (want < need)
		want += want / 2 + 1;
	p = reallocarray(*v, want, size);
	if (!p)
		return -ENOMEM;
	*v = p;
	*cap = want;
	return 0;
}

#define vec_reserve(vec, need) vec_grow((void **)&(vec)->v, &(vec)->cap, (need), sizeof(*(vec)->v))

/* Appends one element, @..., to @vec; 0 or -ENOMEM. */
#define vec_push(vec, ...)                                                                         \
	({                                                                                         \
		int _r = vec_reserve(vec, (vec)->n + 1);                                           \
		if (!_r)                                                                           \
			(vec)->v[(vec)->n++] = (__VA_ARGS__);                                      \
		_r;                                                                                \
	})

#define vec_foreach(it, vec)                                                                       \
	for (__typeof__(*(vec)->v) *it = (vec)->v; it && it < (vec)->v + (vec)->n; it++)

/*
 * Returns how many of the @n elements of @list have a @member at or below @key. The list is sorted
 * by @member, the lowest first.
 */
#define count_upto(list, n, member, key)                                                           \
	({                                                                                         \
		size_t _low = 0, _high = (n);                                                      \
		while (_low < _high) {                                                             \
			size_t _mid = _low + (_high - _low) / 2;                                   \
			if ((list)[_mid].member <= (key))                                          \
				_low = _mid + 1;                                                   \
			else                                                                       \
				_high = _mid;                                                      \
		}                                                                                  \
		_low;                                                                              \
	})

/*
 * Frees the memory that @vec has for further elements. For arrays that are kept for long and don't
 * grow any more.
 */
#define vec_shrink(vec)                                                                            \
	do {                                                                                       \
		void *_v = (vec)->n ? realloc((vec)->v, (vec)->n * sizeof(*(vec)->v)) : NULL;      \
		if (_v) {                                                                          \
			(vec)->v = _v;                                                             \
			(vec)->cap = (vec)->n;                                                     \
		}                                                                                  \
	} while (0)

#define vec_fini(vec)                                                                              \
	do {                                                                                       \
		free((vec)->v);                                                                    \
		(vec)->v = NULL;                                                                   \
		(vec)->n = (vec)->cap = 0;                                                         \
	} while (0)

#endif
