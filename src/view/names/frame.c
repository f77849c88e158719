/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells the kind, the module and the name with the module of single frames; see frame.h. */
#include "view/names/frame.h"

#include "base/error.h"

static const char *const kind_words[KIND_MAX] = {
	[KIND_PYTHON] = "python", [KIND_NATIVE] = "native", [KIND_KERNEL] = "kernel",
	[KIND_JIT] = "jit",	  [KIND_GC] = "gc",	    [KIND_MARK] = "mark",
};

const char *view_kind_word(enum frame_kind kind)
{
	return kind_words[kind];
}

int view_kind_by_word(const char *word)
{
	for (int i = 0; i < KIND_MAX; i++)
		if (streq(kind_words[i], word))
			return i;
	return err_set(-EINVAL,
		       "'%s' is not a kind of frame; there are python, native, kernel, jit, gc "
		       "and mark",
		       word);
}

static enum frame_kind kind_of(const struct profile *p, uint32_t location)
{
	return profile_get_mapping(p, profile_get_location(p, location)->mapping)->kind;
}

enum frame_kind view_stack_kind(const struct profile *p, const uint32_t *stack, size_t n,
				bool inverted)
{
	for (size_t i = 0; i < n; i++)
		if (kind_of(p, stack[i]) == KIND_GC)
			return KIND_GC;
	return kind_of(p, stack[inverted ? n - 1 : 0]);
}

void view_module(struct profile *p, const struct render_names *names, uint32_t location,
		 struct str *b)
{
	const struct profile_location *l = profile_get_location(p, location);
	const char *module = l->function ? render_names_module(names, l->function) : "";

	if (kind_of(p, location) == KIND_PYTHON && *module)
		str_add(b, module);
	else
		str_add(b, render_names_mapping(names, l->mapping));
}

void view_dotted(struct profile *p, const struct render_names *names, uint32_t location,
		 struct str *b)
{
	const struct profile_location *l = profile_get_location(p, location);

	_cleanup_str_ struct str module = {}, name = {};

	render_names_function(names, location, &name);
	if (kind_of(p, location) == KIND_PYTHON && l->function &&
	    *render_names_file(names, l->function))
		view_module(p, names, location, &module);
	/*
	 * with --modules, a frame is a module and has no line; a frame `import NAME` is no function
	 */
	if (module.n && !str_starts(str_cstr(&name), "import ") &&
	    (l->line || profile_get_function(p, l->function)->start_line ||
	     !streq(str_cstr(&module), str_cstr(&name))))
		str_addf(b, "%s.", str_cstr(&module));
	str_add(b, str_cstr(&name));
	b->failed |= module.failed || name.failed;
}
