/* SPDX-License-Identifier: BSD-2-Clause */
/* How a frame is called in options and tables: its module, and its name with that before it. */
#include "base/error.h"
#include "base/str.h"
#include "render/render.h"
#include "view/view.h"

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

/* What lies in an archive is imported from there: of app.pyz/pkg/core.py that is pkg/core.py. */
static const char *below_archive(const char *file)
{
	static const char *const ends[] = {".zip/", ".pyz/", ".whl/", ".egg/", ".pex/"};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		for (const char *end; (end = strstr(file, ends[i]));)
			file = end + strlen(ends[i]);
	return file;
}

/*
 * "json/decoder.py" as Python imports it. A path from / or from above the process's directory says nothing
 * of packages: its last part.
 */
static void add_module_of_file(const char *file, struct str *b)
{
	const char *slash;
	size_t n;

	if (str_starts(file, "<frozen ")) {
		file += strlen("<frozen ");
		str_add_n(b, file, strcspn(file, ">"));
		return;
	}
	file = below_archive(file);
	n = strlen(file);
	if (str_ends(file, ".py"))
		n -= 3;
	else if (str_ends(file, ".pyx"))
		n -= 4;
	if (n > strlen("/__init__") && !strncmp(file + n - strlen("/__init__"), "/__init__", 9))
		n -= strlen("/__init__");
	slash = memrchr(file, '/', n);
	if (slash && (file[0] == '/' || str_starts(file, "../"))) {
		n -= (size_t)(slash + 1 - file);
		file = slash + 1;
	}
	for (size_t i = 0; i < n; i++)
		str_add_c(b, file[i] == '/' ? '.' : file[i]);
}

void view_module(struct profile *p, const struct render_names *names, uint32_t location,
		 struct str *b)
{
	const struct profile_location *l = profile_get_location(p, location);
	const char *file = l->function ? render_names_module(names, l->function) : "";

	if (profile_get_mapping(p, l->mapping)->kind == KIND_PYTHON && *file)
		add_module_of_file(file, b);
	else
		str_add(b, render_names_mapping(names, l->mapping));
}

void view_dotted(struct profile *p, const struct render_names *names, uint32_t location,
		 struct str *b)
{
	const struct profile_location *l = profile_get_location(p, location);

	_cleanup_str_ struct str module = {}, name = {};

	render_names_function(names, location, &name);
	if (profile_get_mapping(p, l->mapping)->kind == KIND_PYTHON && l->function &&
	    *render_names_file(names, l->function))
		view_module(p, names, location, &module);
	/* With --modules it is a module itself, which is nowhere in its file. `import NAME` is no function. */
	if (module.n && !str_starts(str_cstr(&name), "import ") &&
	    (l->line || profile_get_function(p, l->function)->start_line ||
	     !streq(str_cstr(&module), str_cstr(&name))))
		str_addf(b, "%s.", str_cstr(&module));
	str_add(b, str_cstr(&name));
	b->failed |= module.failed || name.failed;
}
