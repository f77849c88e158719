/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose code a file is; see origin.h. */
#include "render/origin.h"

#include "base/str.h"

/* Bytes up to and including the last "/NAME/" of @path, or 0. */
static size_t after_directory(const char *path, const char *name)
{
	size_t n = strlen(name), cut = 0;

	for (const char *s = strchr(path, '/'); s; s = strchr(s + 1, '/')) {
		if (!strncmp(s + 1, name, n) && s[1 + n] == '/')
			cut = s + 1 + n + 1 - path;
	}
	return cut;
}

static const char *skip_digits(const char *s)
{
	while (*s >= '0' && *s <= '9')
		s++;
	return s;
}

/* The end of "pythonX.Y/", with the "t" or "d" that some builds add, at @s; NULL if it isn't there.
 */
static const char *python_directory(const char *s)
{
	const char *major, *minor;

	if (!str_starts(s, "python"))
		return NULL;
	major = s + strlen("python");
	s = skip_digits(major);
	if (s == major || *s != '.')
		return NULL;
	minor = s + 1;
	s = skip_digits(minor);
	if (s == minor)
		return NULL;
	s += *s == 't' || *s == 'd';
	return *s == '/' ? s + 1 : NULL;
}

/* Bytes up to and including the last "/lib/pythonX.Y/" (also lib64), or 0. */
static size_t after_stdlib(const char *path)
{
	size_t cut = 0;

	for (const char *s = strstr(path, "/lib"); s; s = strstr(s + 1, "/lib")) {
		const char *t = s + strlen("/lib");

		if (str_starts(t, "64"))
			t += 2;
		t = *t == '/' ? python_directory(t + 1) : NULL;
		if (t)
			cut = t - path;
	}
	return cut;
}

struct origin_cuts origin_cuts(const char *path)
{
	return (struct origin_cuts){
		/* The second one is Debian's. */
		.site = MAX(after_directory(path, "site-packages"),
			    after_directory(path, "dist-packages")),
		.stdlib = after_stdlib(path),
	};
}

/* `python -c` is a process's name, see proc/name.c; workers of multiprocessing have another one. */
void origin_init(struct origin *o, const struct profile *p)
{
	*o = (struct origin){};
	for (uint32_t id = 1; !o->typed && id <= profile_n_labels(p); id++)
		o->typed = str_ends(profile_label_text(p, id, "process"), " -c");
}

/* Code without a file that somebody typed: at a prompt, into a notebook, as a docstring's example. */
static bool is_typed(const struct origin *o, const char *path)
{
	static const char *const begins[] = {
		"<stdin",    "<python-input-", "<ipython-input-", "<console>",
		"<doctest ", "<command-",      "<input>",
	};

	if (streq(path, "<string>"))
		return o->typed;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (str_starts(path, begins[i]))
			return true;
	return false;
}

enum render_origin origin_of(const struct origin *o, const char *path, size_t own)
{
	struct origin_cuts cuts = origin_cuts(path);
	size_t library = MAX(cuts.site, cuts.stdlib), cut = MAX(library, own);

	if (str_starts(path, "<frozen "))
		return ORIGIN_STDLIB;
	/* What a library makes of a text at run time: <string>, <attrs generated init a.B>. */
	if (path[0] == '<' && str_ends(path, ">") && !is_typed(o, path))
		return ORIGIN_PACKAGE;
	/* A virtual environment often lies inside the project: by the longest cut. */
	if (cuts.site && cuts.site == cut)
		return ORIGIN_PACKAGE;
	return cuts.stdlib && cuts.stdlib == cut ? ORIGIN_STDLIB : ORIGIN_OWN;
}

bool origin_may_be_launcher(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash || str_ends(path, ".py"))
		return false;
	for (size_t n = 3; n <= 4; n++) {
		const char *folder = slash - path >= (ptrdiff_t)n ? slash - n : NULL;

		if (folder && !strncmp(folder, n == 3 ? "bin" : "sbin", n) &&
		    (folder == path || folder[-1] == '/'))
			return true;
	}
	return false;
}

bool origin_is_start(const char *function)
{
	/* The second one is of setuptools' scripts. */
	return streq(function, "<module>") || streq(function, "importlib_load_entry_point");
}
