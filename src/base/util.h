/* SPDX-License-Identifier: BSD-2-Clause */
/* Small things that all code needs: attributes, array sizes, MIN and MAX, comparison of strings. */
#ifndef BASE_UTIL_H
#define BASE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define _must_use_     __attribute__((warn_unused_result))
#define _printf_(f, a) __attribute__((format(printf, f, a)))

#define ARRAY_SIZE(a)  (sizeof(a) / sizeof((a)[0]))

#define MIN(a, b)                                                                                  \
	({                                                                                         \
		__typeof__(a) _min_a = (a);                                                        \
		__typeof__(b) _min_b = (b);                                                        \
		_min_a < _min_b ? _min_a : _min_b;                                                 \
	})
#define MAX(a, b)                                                                                  \
	({                                                                                         \
		__typeof__(a) _max_a = (a);                                                        \
		__typeof__(b) _max_b = (b);                                                        \
		_max_a > _max_b ? _max_a : _max_b;                                                 \
	})

static inline bool streq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static inline bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static inline bool str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

/* Tells whether the @n bytes at @s end with @suffix and are longer than @suffix. */
static inline bool str_n_ends(const char *s, size_t n, const char *suffix)
{
	size_t m = strlen(suffix);

	return n > m && memcmp(s + n - m, suffix, m) == 0;
}

/* Returns @a + @b, or INT64_MAX if the sum is larger. @b must not be negative. */
static inline int64_t add_up_to_max(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Returns the value of a hexadecimal digit; -1: @c isn't such a digit. */
static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the part of @path after its last '/'; all of @path if it has no '/'. */
static inline const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#define NSEC_PER_SEC  1000000000ull
#define NSEC_PER_MSEC 1000000ull

#endif
