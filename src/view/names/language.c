/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guesses the language of a native function from its symbol, because a recording has nothing else
 * that tells the language (docs/format.md).
 */
#include "view/names/names.h"

/*
 * C++ names begin with _Z (Itanium C++ ABI, section 5.1.2). Rust's older names also begin with _Z,
 * but end with a hash.
 */
static bool is_old_rust(const char *symbol)
{
	enum { HASH = 16 };
	const char *h = NULL;

	for (const char *s = strstr(symbol, "17h"); s; s = strstr(s + 1, "17h"))
		h = s + 3;
	return str_starts(symbol, "_ZN") && h && strspn(h, "0123456789abcdef") == HASH &&
	       h[HASH] == 'E';
}

/*
 * Tells whether @suffix is one that GCC gives to copies of a function for several processors:
 * f.avx2.0, f.arch_haswell, f.resolver.
 */
static bool is_clone(const char *suffix)
{
	static const char *const starts[] = {"avx", "sse",    "arch_",	  "default", "fma",
					     "bmi", "popcnt", "resolver", "aes",     "pclmul"};

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		if (str_starts(suffix, starts[i]))
			return true;
	}
	return false;
}

/*
 * Tells whether the name is Go's, with a package and a dot: runtime.mallocgc, main.(*T).Run,
 * github.com/a/b.F.
 */
static bool is_go(const char *symbol)
{
	const char *slash = strrchr(symbol, '/'), *package = slash ? slash + 1 : symbol;
	size_t n = strspn(package, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return n && package[n] == '.' && package[n + 1] && (slash || !is_clone(package + n + 1));
}

const char *render_language(const char *name, const char *symbol)
{
	if (!*symbol)
		return "";
	if (str_starts(symbol, "_R") || is_old_rust(symbol))
		return "Rust";
	if (str_starts(symbol, "_Z"))
		return "C++";
	/*
	 * if @name and @symbol differ, @name lacks a suffix that the compiler added, such as .cold
	 * or .part.0
	 */
	return streq(name, symbol) && is_go(symbol) ? "Go" : "C";
}
