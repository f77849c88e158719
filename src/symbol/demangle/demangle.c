/* SPDX-License-Identifier: BSD-2-Clause */
/* Demangles with libiberty; see demangle.h. */
#include "symbol/demangle/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>

#include "base/text/str.h"
#include "symbol/demangle/cython_name.h"
#include "symbol/demangle/pyo3_name.h"

/*
 * Names of this many bytes or more aren't demangled, because libiberty keeps the parts of a name on
 * the stack. libiberty itself refuses C++ names of more than 1,024 bytes.
 */
#define MANGLED_MAX 4096

struct output {
	struct str s;
	jmp_buf full;
};

/*
 * Is this piece of output an identifier in punycode (Rust)? libiberty prints such an identifier as
 * a whole, from memory that it frees afterwards.
 */
static bool is_borrowed(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)s[i] >= 0x80)
			return true;
	}
	return false;
}

/*
 * Takes a piece of libiberty's output. Because of back references, a short name may print
 * gigabytes. A callback can't refuse output, so this function jumps out of libiberty (longjmp). A
 * jump would leak memory only while libiberty prints an identifier in punycode. In that case the
 * function jumps only at the next piece.
 */
static void append(const char *s, size_t n, void *opaque)
{
	struct output *out = opaque;

	str_add_n(&out->s, s, MIN(n, SYMBOL_SHOWN_MAX - out->s.n));
	if (out->s.n >= SYMBOL_SHOWN_MAX && !is_borrowed(s, n))
		longjmp(out->full, 1);
}

typedef int demangle_fn(const char *mangled, int options, demangle_callbackref cb, void *opaque);

static bool run(demangle_fn *fn, const char *name, struct output *out)
{
	if (!setjmp(out->full) && !fn(name, DMGL_ANSI, append, out))
		return false;
	if (out->s.n >= SYMBOL_SHOWN_MAX)
		str_add(&out->s, "...");
	return out->s.n;
}

/*
 * Returns @name as demangled by @fn. NULL: @name isn't mangled in that way, or memory has run out.
 */
static char *demangle_by(demangle_fn *fn, const char *name)
{
	struct output out = {};

	if (run(fn, name, &out))
		return str_take(&out.s);
	str_fini(&out.s);
	return NULL;
}

/*
 * Returns the length of @name without one suffix ".WORD[.NUMBER]". Compilers add such a suffix to a
 * part or copy of a function.
 */
static size_t without_suffix(const char *name, size_t n)
{
	static const char *const words[] = {"cold",	  "part", "constprop", "isra",	 "lto_priv",
					    "localalias", "llvm", "warm",      "__uniq", "local"};
	size_t end = n, at;

	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	if (end == n || !end || name[end - 1] != '.')
		end = n + 1;
	for (at = --end; at && name[at - 1] != '.';)
		at--;
	if (at < 2)
		return n;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strlen(words[i]) == end - at && !memcmp(name + at, words[i], end - at))
			return at - 1;
	}
	return n;
}

static char *shown_linkage(const char *name)
{
	size_t n = strcspn(name, "@"), shorter;

	n = n ? n : strlen(name);
	while ((shorter = without_suffix(name, n)) < n)
		n = shorter;
	return strndup(name, n);
}

/*
 * Does @name look like a name of Go? Such a name is a path, a package, a dot and a name:
 * runtime.goexit, main.(*T).Run, github.com/a/b.F.
 */
static bool looks_go(const char *name)
{
	const char *package = path_base(name);
	const char *dot = package + strspn(package, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return dot > package && dot[0] == '.' && (isalpha((unsigned char)dot[1]) || dot[1] == '(');
}

static enum symbol_language plain_language(const char *name)
{
	if (!name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$")])
		return name[0] ? LANGUAGE_C : LANGUAGE_UNKNOWN;
	return looks_go(name) ? LANGUAGE_GO : LANGUAGE_UNKNOWN;
}

char *symbol_demangle(const char *name, enum symbol_language *language)
{
	_cleanup_free_ char *linkage = shown_linkage(name);
	enum symbol_language ignored;
	char *shown = NULL;

	language = language ? language : &ignored;
	*language = LANGUAGE_UNKNOWN;
	if (!linkage)
		return NULL;
	if (linkage[0] == '_' && strnlen(linkage, MANGLED_MAX) < MANGLED_MAX) {
		*language = LANGUAGE_RUST;
		shown = demangle_by(rust_demangle_callback, linkage);
		if (!shown) {
			*language = LANGUAGE_CPP;
			shown = demangle_by(cplus_demangle_v3_callback, linkage);
		}
	}
	if (shown && *language == LANGUAGE_RUST) {
		char *python = pyo3_name(shown);

		if (python) {
			free(shown);
			shown = python;
		}
	}
	if (shown)
		return shown;
	*language = plain_language(linkage);
	shown = cython_name(linkage);
	if (shown)
		return shown;
	return TAKE_PTR(linkage);
}
