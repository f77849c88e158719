/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides by a file's path whose code the file has; see origin.h. */
#include "view/names/origin.h"

#include "base/cleanup.h"
#include "base/text/str.h"

/* Returns the length of @path up to and including its last "/NAME/", or 0. */
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

/*
 * Returns the end of "pythonX.Y/" at @s, with the "t" or "d" that some builds add; NULL if @s
 * doesn't begin with it.
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

/*
 * Returns the length of @path up to and including its last "/lib/pythonX.Y/" (or lib64); 0 if it
 * has none.
 */
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
		/* Debian has dist-packages in place of site-packages. */
		.site = MAX(after_directory(path, "site-packages"),
			    after_directory(path, "dist-packages")),
		.stdlib = after_stdlib(path),
	};
}

const char *origin_below_archive(const char *file)
{
	static const char *const ends[] = {".zip/", ".pyz/", ".whl/", ".egg/", ".pex/"};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		for (const char *end; (end = strstr(file, ends[i]));)
			file = end + strlen(ends[i]);
	return file;
}

/*
 * Tells whether the file may be a console script, such as pip writes, which only starts a package.
 */
static bool may_be_launcher(const char *path)
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

/* Tells whether a console script starts the program in a function of this name. */
static bool is_start(const char *function)
{
	/* setuptools' scripts start the program from importlib_load_entry_point */
	return streq(function, "<module>") || streq(function, "importlib_load_entry_point");
}

static int find_launchers(struct origin *o)
{
	const struct profile *p = o->p;
	_cleanup_free_ bool *seen = calloc(profile_n_strings(p) + 1, sizeof(*seen));

	o->launcher = calloc(profile_n_strings(p) + 1, sizeof(*o->launcher));
	if (!seen || !o->launcher)
		return -ENOMEM;
	for (uint32_t id = 1; id <= profile_n_functions(p); id++) {
		const struct profile_function *f = profile_get_function(p, id);

		if (!f->file)
			continue;
		if (!seen[f->file])
			o->launcher[f->file] = may_be_launcher(profile_get_string(p, f->file));
		seen[f->file] = true;
		o->launcher[f->file] &= is_start(profile_get_string(p, f->name));
	}
	return 0;
}

static int find_packages(struct origin *o)
{
	int r = 0;

	vec_foreach(text, &profile_meta((struct profile *)o->p)->comments.list) {
		bool entry = str_starts(*text, COMMENTS_ENTRY ": ");
		const char *name = *text + strlen(entry ? COMMENTS_ENTRY ": " : COMMENTS_MINE ": ");

		if (!r && (entry || str_starts(*text, COMMENTS_MINE ": ")))
			r = vec_push(&o->packages,
				     (struct origin_package){name, strlen(name), entry, false});
	}
	return r;
}

/*
 * Tells whether one of @names is the package, or is inside the package, or is a package that
 * contains it.
 */
static bool has_name(const char *names, const struct origin_package *package)
{
	for (const char *s = names; *s; s += *s == ' ') {
		size_t k = strcspn(s, " "), n = MIN(k, package->n);

		if (!strncmp(s, package->name, n) &&
		    (k == package->n || (k > n ? s[n] : package->name[n]) == '.'))
			return true;
		s += k;
	}
	return false;
}

static int add_names(struct origin *o, const char *names)
{
	int r = 0;

	for (const char *s = names; !r && *s; s += *s == ' ') {
		size_t k = strcspn(s, " ");

		r = origin_add_package(o, s, k, true);
		s += k;
	}
	return r;
}

/*
 * Adds the packages that were installed together with one of the user's packages, because they are
 * the user's too.
 */
static int find_together(struct origin *o)
{
	size_t n = o->packages.n;
	int r = 0;

	vec_foreach(text, &profile_meta((struct profile *)o->p)->comments.list) {
		const char *names = *text + strlen(COMMENTS_TOGETHER ": ");
		bool theirs = false;

		if (!str_starts(*text, COMMENTS_TOGETHER ": "))
			continue;
		for (size_t i = 0; i < n; i++)
			theirs |= has_name(names, &o->packages.v[i]);
		r = r || !theirs ? r : add_names(o, names);
	}
	return r;
}

int origin_init(struct origin *o, const struct profile *p)
{
	int r;

	*o = (struct origin){.p = p};
	/*
	 * the name of a process that runs `python -c` ends with "-c" (proc/name.c); the names of
	 * multiprocessing's workers don't
	 */
	for (uint32_t id = 1; !o->typed && id <= profile_n_labels(p); id++)
		o->typed = str_ends(profile_label_text(p, id, "process"), " -c");
	r = find_launchers(o);
	r = r ? r : find_packages(o);
	r = r ? r : origin_find_started(o);
	return r ? r : find_together(o);
}

void origin_fini(struct origin *o)
{
	free(o->launcher);
	vec_fini(&o->packages);
}

/*
 * Tells whether @path is the name of code without a file that somebody typed: at a prompt, in a
 * notebook, or in a docstring's example.
 */
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

/*
 * Tells whether the file @path, relative to the directory from which it is imported, is in the
 * package.
 */
static bool is_in(const struct origin_package *package, const char *path)
{
	for (size_t i = 0; i < package->n; i++)
		if (path[i] != (package->name[i] == '.' ? '/' : package->name[i]))
			return false;
	path += package->n;
	return package->n && (*path == '/' || streq(path, ".py"));
}

static bool is_theirs(const struct origin *o, const char *path, bool stdlib)
{
	path = origin_below_archive(path);
	vec_foreach(package, &o->packages)
		if (!(stdlib && package->entry) && is_in(package, path))
			return true;
	return false;
}

bool origin_is_there(const struct profile *p, const char *package)
{
	const struct origin_package wanted = {.name = package, .n = strlen(package)};

	for (uint32_t id = 1; id <= profile_n_functions(p); id++) {
		const char *path = profile_get_string(p, profile_get_function(p, id)->file);
		struct origin_cuts cuts = origin_cuts(path);

		for (const char *at = path + MAX(cuts.site, cuts.stdlib); at;
		     at = strchr(at, '/')) {
			at += *at == '/';
			if (is_in(&wanted, at))
				return true;
		}
	}
	return false;
}

enum render_origin origin_of(const struct origin *o, uint32_t file, size_t own)
{
	const char *path = profile_get_string(o->p, file);
	struct origin_cuts cuts = origin_cuts(path);
	size_t library = MAX(cuts.site, cuts.stdlib), cut = MAX(library, own);
	bool site = cuts.site && cuts.site == cut;

	if (str_starts(path, "<frozen "))
		return ORIGIN_STDLIB;
	/*
	 * the name is that of code that a library makes from a text at run time: <string>, <attrs
	 * generated init a.B>
	 */
	if (path[0] == '<' && str_ends(path, ">") && !is_typed(o, path))
		return ORIGIN_PACKAGE;
	if (o->launcher[file])
		return ORIGIN_PACKAGE;
	/*
	 * A virtual environment is often inside the project. So the library's directory decides,
	 * unless the project's is deeper in the path.
	 */
	if (!library || library != cut || is_theirs(o, path + cut, !site))
		return ORIGIN_OWN;
	return site ? ORIGIN_PACKAGE : ORIGIN_STDLIB;
}
