/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads symbols of numba (numba/core/itanium_mangler.py, 0.55 to 0.68), which have the form of C++
 * symbols. Modules of Python become namespaces, and the number of the compilation becomes an ABI
 * tag, "v7". A symbol of f in module app: _ZN3app1fB2v7B38c8tJTIeFIjxB2...E5ArrayIdLi1E1C. A prefix
 * that ends in a dot says what the function was compiled for ("cfunc.", "__gufunc__.").
 */
#include "symbol/madecode/numba_name.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/text/str.h"

#define IDENTIFIER_MAX 4096

/*
 * Returns the text of an identifier like "4leaf" at *@p, and moves *@p to its end. NULL: there is
 * no identifier.
 */
static const char *take_identifier(const char **p, size_t *n)
{
	const char *text;
	char *end;

	if (!isdigit((unsigned char)**p))
		return NULL;
	*n = strtoul(*p, &end, 10);
	text = end;
	if (!*n || *n > IDENTIFIER_MAX || strnlen(text, *n) < *n)
		return NULL;
	*p = text + *n;
	return text;
}

/*
 * numba writes a character that isn't a letter, digit or underscore as _XX. It doesn't escape
 * underscores, so _XX may also be part of the name itself. Only _3c and _3e around a whole
 * identifier certainly stand for < and >.
 */
static void add_identifier(struct str *out, const char *text, size_t n)
{
	if (n > 6 && !strncmp(text, "_3c", 3) && !strncmp(text + n - 3, "_3e", 3)) {
		str_add_c(out, '<');
		str_add_n(out, text + 3, n - 6);
		str_add_c(out, '>');
	} else {
		str_add_n(out, text, n);
	}
}

/* Does @p begin with an ABI tag that has the number of a compilation? */
static bool has_number(const char *p)
{
	size_t n;
	const char *tag = *p++ == 'B' ? take_identifier(&p, &n) : NULL;

	return tag && n > 1 && tag[0] == 'v' && strspn(tag + 1, "0123456789") >= n - 1;
}

char *numba_name(const char *symbol)
{
	_cleanup_str_ struct str out = {};
	const char *p = strstr(symbol, "_Z"), *text;
	size_t n;

	if (!p || (p > symbol && p[-1] != '.'))
		return NULL;
	str_add_n(&out, symbol, (size_t)(p - symbol));
	p += p[2] == 'N' ? 3 : 2;
	for (size_t i = 0; (text = take_identifier(&p, &n)); i++) {
		if (i)
			str_add_c(&out, '.');
		add_identifier(&out, text, n);
	}
	return has_number(p) ? str_take(&out) : NULL;
}
