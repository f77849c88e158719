/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shows an import as one frame. An import statement runs five to ten functions of importlib and of
 * the interpreter before the module's body (top-level code) runs. If krait knows which module the
 * body belongs to, these functions are shown as one frame, `import NAME`. If krait doesn't know the
 * module (while a file is searched for, or if a program runs a loader itself), their frames stay,
 * and _call_with_frames_removed() gets the name of the builtin that it runs.
 */
#include <errno.h>

#include "base/text/str.h"
#include "collect/stack/stack.h"
#include "symbol/pytables/machinery.h"

#define BOOTSTRAP "<frozen importlib._bootstrap>"
#define EXTERNAL  "<frozen importlib._bootstrap_external>"

struct folding {
	struct collect *c;
	/* profile id of the mapping of the process's Python functions */
	uint32_t python;
	uint32_t bootstrap, external; /* profile ids of the file names BOOTSTRAP and EXTERNAL */
	const uint32_t *loc;
	size_t n;
};

static const struct profile_function *function_of(const struct folding *f,
						  const struct profile_location *loc)
{
	return loc && loc->function ? profile_get_function(f->c->profile, loc->function) : NULL;
}

/* Returns the function of frame @i if it belongs to importlib, else NULL. */
static const struct profile_function *importlib_at(const struct folding *f, size_t i)
{
	const struct profile_location *loc = profile_get_location(f->c->profile, f->loc[i]);
	const struct profile_function *fn = function_of(f, loc);

	return fn && loc->mapping == f->python &&
			       (fn->file == f->bootstrap || fn->file == f->external)
		       ? fn
		       : NULL;
}

static bool is_interpreter(const struct collect *c, uint32_t mapping)
{
	vec_foreach(file, &c->natives->files)
		if ((*file)->interpreter && (*file)->mapping == mapping)
			return true;
	return false;
}

/*
 * Is frame @i a native function of the interpreter that takes part in imports? In a stripped
 * interpreter such a function may have no name.
 */
static bool is_native_at(const struct folding *f, size_t i)
{
	const struct profile_location *loc = profile_get_location(f->c->profile, f->loc[i]);
	const struct profile_function *fn = function_of(f, loc);

	if (!loc || loc->mapping == f->python || !is_interpreter(f->c, loc->mapping))
		return false;
	return !fn || machinery_is_import(profile_get_string(f->c->profile, fn->name));
}

/*
 * Frame @from - 1 is the body (top-level code) of an imported module. The frames of the import
 * system that called it begin at @from. Returns the index after them; @from: there are none. If a
 * package is imported because one of its modules is, _find_and_load() is in the stack twice, and
 * both calls belong to one import.
 */
static size_t end_of_import(const struct folding *f, size_t from)
{
	size_t end = from;

	for (size_t i = from; i < f->n; i++) {
		const struct profile_function *fn = importlib_at(f, i);
		const char *name = fn ? profile_get_string(f->c->profile, fn->name) : "";

		if (!fn && !is_native_at(f, i))
			break;
		if (streq(name, "_find_and_load") || end > from)
			end = i + 1;
	}
	return end;
}

static uint32_t import_location(const struct folding *f, const char *module)
{
	struct profile *p = f->c->profile;
	_cleanup_str_ struct str text = {};
	struct profile_function fn = {.file = f->bootstrap};

	str_addf(&text, "import %s", module);
	fn.name = profile_string(p, str_cstr(&text));
	return profile_location(p,
				&(struct profile_location){.mapping = f->python,
							   .function = profile_function(p, &fn)});
}

static struct folding folding_of(struct collect *c, uint32_t python, const struct merged *merged)
{
	return (struct folding){.c = c,
				.python = python,
				.bootstrap = profile_string(c->profile, BOOTSTRAP),
				.external = profile_string(c->profile, EXTERNAL),
				.loc = merged->loc.v,
				.n = merged->loc.n};
}

int import_fold(struct collect *c, uint32_t python, const import_bodies *bodies,
		struct merged *merged)
{
	struct folding f = folding_of(c, python, merged);
	size_t kept = 0, next = 0;

	for (size_t i = 0; i < f.n; i++) {
		size_t end;

		merged->loc.v[kept++] = f.loc[i];
		if (next == bodies->n || bodies->v[next].at != i)
			continue;
		end = end_of_import(&f, i + 1);
		if (end > i + 1) {
			merged->loc.v[kept] = import_location(&f, bodies->v[next].module);
			if (!merged->loc.v[kept++])
				return -ENOMEM;
			i = end - 1;
		}
		next++;
	}
	merged->loc.n = kept;
	return 0;
}

/*
 * The callers of _call_with_frames_removed(), and for each caller the builtin that it makes this
 * function run. Callers and builtins are the same from Python 3.6 to 3.15. Up to 3.10 a caller's
 * class isn't always known. exec_module() isn't listed without a class, because several classes
 * have a method of that name.
 */
static const struct {
	const char *caller, *builtin;
} removed[] = {
	{"SourceLoader.source_to_code", "compile"},
	{"_LoaderBasics.exec_module", "exec"},
	{"ExtensionFileLoader.create_module", "_imp.create_dynamic"},
	{"ExtensionFileLoader.exec_module", "_imp.exec_dynamic"},
	{"BuiltinImporter.create_module", "_imp.create_builtin"},
	{"BuiltinImporter.exec_module", "_imp.exec_builtin"},
	{"FrozenImporter.find_spec", "_imp.find_frozen"},
	{"FrozenImporter.exec_module", "_imp.get_frozen_object"},
};

/* Returns the next Python frame after frame @i. @step: 1 to look outwards, -1 to look inwards. */
static const struct profile_location *next_python(const struct folding *f, size_t i, int step)
{
	while ((i += (size_t)step) < f->n) {
		const struct profile_location *loc = profile_get_location(f->c->profile, f->loc[i]);

		if (loc && loc->mapping == f->python)
			return loc;
	}
	return NULL;
}

static const char *name_of(const struct folding *f, const struct profile_location *loc)
{
	const struct profile_function *fn = function_of(f, loc);

	return fn && (fn->file == f->bootstrap || fn->file == f->external)
		       ? profile_get_string(f->c->profile, fn->name)
		       : "";
}

/*
 * Returns the builtin that _call_with_frames_removed(), which is frame @i, runs; NULL: not known.
 */
static const char *removed_builtin(const struct folding *f, size_t i)
{
	const char *caller = name_of(f, next_python(f, i, 1));
	const char *callee = name_of(f, next_python(f, i, -1));

	for (size_t k = 0; k < ARRAY_SIZE(removed); k++)
		if (streq(caller, removed[k].caller))
			return removed[k].builtin;
	/*
	 * The other callers make _call_with_frames_removed() run the builtin __import__(), which
	 * first calls one of the functions below.
	 */
	return streq(callee, "_find_and_load") || str_starts(callee, "import ") ||
			       streq(callee, "_handle_fromlist")
		       ? "__import__"
		       : NULL;
}

int import_name_builtins(struct collect *c, uint32_t python, struct merged *merged)
{
	struct folding f = folding_of(c, python, merged);
	struct profile *p = c->profile;

	for (size_t i = 0; i < f.n; i++) {
		const struct profile_function *fn = importlib_at(&f, i);
		const char *builtin = NULL;
		struct profile_function named;
		struct profile_location loc;

		if (fn && streq(profile_get_string(p, fn->name), "_call_with_frames_removed"))
			builtin = removed_builtin(&f, i);
		if (!builtin)
			continue;
		loc = *profile_get_location(p, f.loc[i]);
		named = *fn;
		named.name = profile_string(p, builtin);
		loc.function = profile_function(p, &named);
		merged->loc.v[i] = profile_location(p, &loc);
		if (!merged->loc.v[i])
			return -ENOMEM;
	}
	return 0;
}
