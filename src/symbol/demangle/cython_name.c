/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the symbols that Cython (0.29 to 3.1, Compiler/Symtab.py) gives to functions. A symbol has
 * a prefix for the function's kind, then each module, class and outer function with the length of
 * its name, "6uvloop_4loop_4Loop_", then the function's name. The wrappers that Python calls (pw)
 * and the bodies that these call (pf) have a serial number before the name, which counts within the
 * enclosing scope. The first body in a scope has no number. cdef functions (f) have no number.
 */
#include "symbol/demangle/cython_name.h"

#include <ctype.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/text/str.h"

enum { MOST_PARTS = 16 };

static bool starts_name(const char *s)
{
	return isalpha((unsigned char)*s) || *s == '_';
}

/*
 * Returns the length of the part at @s, such as "4Loop_". A part is a number, a text of that
 * length, and "_". 0: no part is at @s.
 */
static size_t part_at(const char *s, size_t *number_n)
{
	char *end;
	unsigned long n = strtoul(s, &end, 10);

	*number_n = (size_t)(end - s);
	if (!isdigit((unsigned char)*s) || *s == '0' || n > 256 || strnlen(end, n + 1) <= n ||
	    end[n] != '_' || !starts_name(end))
		return 0;
	return *number_n + n + 1;
}

struct parts {
	/*
	 * where each part of the name begins; after the last part comes one more entry, where the
	 * rest of the symbol begins
	 */
	const char *at[MOST_PARTS + 1];
	size_t number[MOST_PARTS];
	size_t n;
};

static void split(const char *s, struct parts *ret)
{
	size_t n;

	ret->n = 0;
	while (ret->n < MOST_PARTS && (n = part_at(s, &ret->number[ret->n]))) {
		ret->at[ret->n++] = s;
		s += n;
	}
	ret->at[ret->n] = s;
}

/*
 * Returns the part of a name that comes after its serial number; NULL: the name has no serial
 * number.
 */
static const char *behind_number(const char *s)
{
	const char *name = s;

	while (isdigit((unsigned char)*name))
		name++;
	return name > s && starts_name(name) ? name : NULL;
}

static char *join(const struct parts *parts, const char *name)
{
	_cleanup_str_ struct str b = {};

	if (!parts->n || !starts_name(name) || str_starts(name, "__pyx_"))
		return NULL;
	for (size_t i = 0; i < parts->n; i++) {
		const char *from = parts->at[i] + parts->number[i];

		str_add_n(&b, from, (size_t)(parts->at[i + 1] - 1 - from));
		str_add_c(&b, '.');
	}
	str_add(&b, name);
	return b.failed ? NULL : str_take(&b);
}

char *cython_name(const char *symbol)
{
	struct parts parts;
	const char *name;

	if (!str_starts(symbol, "__pyx_pw_") && !str_starts(symbol, "__pyx_pf_") &&
	    !str_starts(symbol, "__pyx_f_"))
		return NULL;
	split(strchr(symbol + strlen("__pyx_"), '_') + 1, &parts);
	if (str_starts(symbol, "__pyx_f_"))
		return join(&parts, parts.at[parts.n]);
	name = behind_number(parts.at[parts.n]);
	/*
	 * a wrapper that Python calls always has a serial number: 3abc_def is the third function,
	 * abc_def, and not a function def of a class abc
	 */
	if (!name && parts.n && str_starts(symbol, "__pyx_pw_"))
		name = behind_number(parts.at[--parts.n]);
	return name ? join(&parts, name) : NULL;
}
