/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads fields of text lines that begin with hexadecimal numbers (kallsyms, perf maps). */
#ifndef SYMBOL_TEXT_LINE_H
#define SYMBOL_TEXT_LINE_H

#include "base/util.h"

/*
 * Reads 1 to 16 hexadecimal digits, with or without 0x before them, and the character @blank that
 * must follow.
 */
static inline bool take_hex(const char **p, const char *end, char blank, uint64_t *ret)
{
	const char *s = *p;
	int digits = 0;

	if (end - s > 2 && s[0] == '0' && (s[1] | 0x20) == 'x')
		s += 2;
	for (*ret = 0; s < end && digits <= 16; s++, digits++) {
		char c = *s | 0x20;

		if (*s >= '0' && *s <= '9')
			*ret = *ret << 4 | (uint64_t)(*s - '0');
		else if (c >= 'a' && c <= 'f')
			*ret = *ret << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	if (digits < 1 || digits > 16 || s == end || *s != blank)
		return false;
	*p = s + 1;
	return true;
}

#endif
