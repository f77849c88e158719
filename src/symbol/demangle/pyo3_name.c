/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For a method NAME of a class, PyO3 (0.15 to 0.27) makes an associated function __pymethod_NAME__
 * of the class's type: "<polars_python::series::PySeries>::__pymethod_to_list__". Rust's older
 * mangling also has "a::_::<impl a::Class>::..." and "a::Class::...". The class keeps its Rust
 * path. Python may know the class by another name (#[pyclass(name)]), but no symbol has that name.
 * The functions of a property are get_NAME and set_NAME; a method could also have such a name, so
 * these names aren't changed.
 */
#include "symbol/demangle/pyo3_name.h"

#include <ctype.h>
#include <stdlib.h>
#include "base/text/str.h"

#define BEGIN "::__pymethod_"

static size_t identifier(const char *s)
{
	size_t n = 0;

	if (isdigit((unsigned char)*s))
		return 0;
	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

/*
 * Is @s the path of a type, like "a::b::Class"? The answer is no for "a::_", where macros put their
 * code.
 */
static bool is_path(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_' && s[i] != ':')
			return false;
	return n && s[n - 1] != ':' && !(n >= 3 && !strncmp(s + n - 3, "::_", 3));
}

/*
 * Returns the type in "<a::Class>" or "<impl a::Class<T>>" that ends at @end. NULL: no such type
 * ends at @end.
 */
static const char *type_in(const char *s, const char *end, size_t *n)
{
	const char *begin = end, *arguments;
	int depth = 0;

	do {
		begin--;
		depth += *begin == '>' ? 1 : *begin == '<' ? -1 : 0;
	} while (depth && begin > s);
	if (depth)
		return NULL;
	begin++;
	if (str_starts(begin, "impl "))
		begin += strlen("impl ");
	arguments = memchr(begin, '<', (size_t)(end - begin));
	*n = (size_t)((arguments ? arguments : end - 1) - begin);
	return begin;
}

char *pyo3_name(const char *rust)
{
	const char *found = strstr(rust, BEGIN), *method, *type = rust;
	size_t method_n, type_n;
	struct str name = {};

	if (!found || found == rust)
		return NULL;
	method = found + strlen(BEGIN);
	method_n = strlen(method);
	if (method_n <= 2 || identifier(method) != method_n || !str_ends(method, "__"))
		return NULL;
	type_n = (size_t)(found - rust);
	if (found[-1] == '>')
		type = type_in(rust, found, &type_n);
	if (!type || !is_path(type, type_n))
		return NULL;
	str_add_n(&name, type, type_n);
	str_addf(&name, ".%.*s", (int)method_n - 2, method);
	return str_take(&name);
}
