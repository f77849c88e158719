/* SPDX-License-Identifier: BSD-2-Clause */
/* UTF-8 by Unicode's table 3-7 (well-formed byte sequences); see utf8.h. */
#include "base/text/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

/*
 * Returns the length of the well-formed character at @s. 0: @s has no such character, and one
 * U+FFFD is to stand for *bad bytes.
 */
static size_t character(const unsigned char *s, size_t n, size_t *bad)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t len;

	*bad = 1;
	if (s[0] < 0x80)
		return s[0] != 0;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		lo = 0xa0; /* a lower second byte would make an overlong form */
	else if (s[0] == 0xed)
		hi = 0x9f; /* a higher second byte would make a surrogate */
	else if (s[0] == 0xf0)
		lo = 0x90;
	else if (s[0] == 0xf4)
		hi = 0x8f; /* a higher second byte would make a character above U+10FFFF */
	for (size_t i = 1; i < len; i++, lo = 0x80, hi = 0xbf) {
		if (i >= n || s[i] < lo || s[i] > hi) {
			*bad = i;
			return 0;
		}
	}
	return len;
}

size_t utf8_valid(const char *s, size_t n)
{
	size_t i = 0, len, bad;

	while (i < n && (len = character((const unsigned char *)s + i, n - i, &bad)))
		i += len;
	return i;
}

size_t utf8_valid_one(const char *s, size_t n)
{
	size_t bad;

	return n ? character((const unsigned char *)s, n, &bad) : 0;
}

size_t utf8_invalid(const char *s, size_t n)
{
	size_t bad;

	character((const unsigned char *)s, n, &bad);
	return bad;
}

void utf8_clean(struct str *out, const char *s, size_t n)
{
	while (n) {
		size_t good = utf8_valid(s, n);

		str_add_n(out, s, good);
		s += good;
		n -= good;
		if (!n)
			return;
		str_add(out, REPLACEMENT);
		good = utf8_invalid(s, n);
		s += good;
		n -= good;
	}
}
