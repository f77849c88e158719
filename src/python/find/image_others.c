/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recognizes Python interpreters that aren't CPython, and forks of CPython. Such interpreters get
 * names of their own. Else krait would take them for "not Python", or for a CPython with CPython's
 * own structures.
 *
 * If the file has a symbol that only one interpreter defines, that symbol proves which interpreter
 * it is. A stripped program has no such symbol, and is named by its file's name. A wrong name can't
 * make stacks wrong, because no stacks of these programs are read.
 */
#include "base/util.h"
#include "python/find/image_internal.h"

struct other {
	const char *name;
	enum image_symbol symbol;
	/* the interpreter is a fork of CPython, so the file also has CPython's own symbols */
	bool fork;
};

/* Extensions for an ordinary CPython may define a fork's symbols, too. */
static const struct other others[] = {
	{"PyPy", SYM_rpython_startup_code},
	{"PyPy", SYM_pypy_main_startup},
	{"PyPy", SYM_pypy_setup_home},
	{"MicroPython", SYM_mp_execute_bytecode},
	{"Cinder", SYM_Ci_cinderx_initialized, true},
	{"Cinder", SYM__PyEval_ShadowByteCodeEnabled, true},
	{"Pyston", SYM__Py_RecursionLimitLowerWaterMark_Precomputed, true},
};

bool image_has_runtime(const struct image_ctx *c)
{
	return c->sym[SYM__PyRuntime].value || c->sym[SYM__PyThreadState_Current].value;
}

const char *image_other_by_symbol(const struct image_ctx *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (c->sym[others[i].symbol].value && (!others[i].fork || image_has_runtime(c)))
			return others[i].name;
	return NULL;
}

/* Is the file GraalPy's shared library, which GraalVM's native-image makes? */
static bool is_graalpy(const struct image_ctx *c, const char *base)
{
	return str_starts(base, "libpythonvm.so") && c->sym[SYM_graal_create_isolate].value;
}

const char *image_other_by_name(const struct image_ctx *c, const char *path)
{
	static const struct {
		const char *file, *name;
	} programs[] = {
		{"micropython", "MicroPython"},
		{"rustpython", "RustPython"},
		{"graalpy", "GraalPy"},
	};
	const char *base = path_base(path);

	if (is_graalpy(c, base))
		return "GraalPy";
	if (!elf_file_is_program(c->elf))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (str_starts(base, programs[i].file))
			return programs[i].name;
	return NULL;
}
