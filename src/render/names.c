/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of frames in text. A path is cut to what tells a reader which module it is: the part after
 * site-packages/, lib/pythonX.Y/ or the process's directory. The cut is decided for a whole profile
 * at once, because two files may coincide after it; those keep their full paths.
 */
#include "render/render.h"

#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "render/rank.h"

struct name {
	const char *file; /* points into the profile's string */
	enum render_origin origin;
};

struct render_names {
	struct profile *p;
	struct name *of_string; /* by string id; filled for file names only */
};

/* The process's directories: values of the label "cwd" and comments "cwd: DIR". */
typedef VEC(const char *) dirs_t;

static int collect_dirs(struct profile *p, dirs_t *dirs)
{
	const struct profile_meta *meta = profile_meta(p);

	for (uint32_t id = 1; id <= profile_n_labels(p); id++) {
		size_t n;
		const struct profile_label *l = profile_get_labels(p, id, &n);

		for (size_t i = 0; i < n; i++) {
			if (!streq(profile_get_string(p, l[i].key), "cwd"))
				continue;
			const char *dir = profile_get_string(p, l[i].value);

			if (dirs->n && streq(dirs->v[dirs->n - 1], dir))
				continue;
			if (vec_push(dirs, dir))
				return -ENOMEM;
		}
	}
	for (unsigned i = 0; i < meta->n_comments; i++) {
		if (str_starts(meta->comment[i], "cwd: ") &&
		    vec_push(dirs, (const char *)meta->comment[i] + strlen("cwd: ")))
			return -ENOMEM;
	}
	return 0;
}

/* Bytes up to and including the last "/NAME/" of @path, or 0. Debian's is "dist-packages". */
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

static size_t after_own(const char *path, const dirs_t *dirs)
{
	size_t cut = 0;

	for (size_t i = 0; i < dirs->n; i++) {
		size_t n = strlen(dirs->v[i]);

		while (n && dirs->v[i][n - 1] == '/')
			n--;
		if (n && !strncmp(path, dirs->v[i], n) && path[n] == '/')
			cut = MAX(cut, n + 1);
	}
	return cut;
}

static struct name shorten(const char *path, const dirs_t *dirs)
{
	size_t site =
		MAX(after_directory(path, "site-packages"), after_directory(path, "dist-packages"));
	size_t stdlib = after_stdlib(path), own = after_own(path, dirs);
	size_t library = MAX(site, stdlib), cut = MAX(library, own);
	struct name name = {.file = path + (path[cut] ? cut : 0)};

	/* As the script of `python ./app.py` is called. */
	while (str_starts(name.file, "./") && name.file[2])
		name.file += 2;
	/* A virtual environment often lies inside the project: origin is by the longest cut too. */
	if (site && site == cut)
		name.origin = ORIGIN_PACKAGE;
	else if ((stdlib && stdlib == cut) || str_starts(path, "<frozen "))
		name.origin = ORIGIN_STDLIB;
	return name;
}

/*
 * One round: full paths for all files of which two came out equal. Returns how many were changed,
 * or -ENOMEM. Ends because a path is lengthened once, and full paths differ.
 */
static int separate(struct render_names *names, const uint32_t *files, size_t n)
{
	_cleanup_(rank_fini) struct rank r = {};
	_cleanup_free_ uint32_t *count = calloc(n + 1, sizeof(*count));
	int changed = 0;

	if (!count)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (rank_add(&r, names->of_string[files[i]].file))
			return -ENOMEM;
	}
	if (rank_finish(&r))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		count[r.of[i]]++;
	for (size_t i = 0; i < n; i++) {
		const char *full = profile_get_string(names->p, files[i]);

		if (count[r.of[i]] < 2 || names->of_string[files[i]].file == full)
			continue;
		names->of_string[files[i]].file = full;
		changed++;
	}
	return changed;
}

/* Which strings are file names, each once; @names gets their short forms. */
static int shorten_all(struct render_names *names, const dirs_t *dirs)
{
	struct profile *p = names->p;
	VEC(uint32_t) files = {};
	int r = 0;

	for (uint32_t id = 1; !r && id <= profile_n_functions(p); id++) {
		uint32_t file = profile_get_function(p, id)->file;

		if (!file || names->of_string[file].file)
			continue;
		names->of_string[file] = shorten(profile_get_string(p, file), dirs);
		r = vec_push(&files, file);
	}
	if (!r) {
		do {
			r = separate(names, files.v, files.n);
		} while (r > 0);
	}
	vec_fini(&files);
	return r;
}

struct render_names *render_names_new(struct profile *p)
{
	struct render_names *names = calloc(1, sizeof(*names));
	dirs_t dirs = {};
	int r = -ENOMEM;

	if (!names)
		goto out;
	names->p = p;
	names->of_string = calloc(profile_n_strings(p) + 1, sizeof(*names->of_string));
	if (!names->of_string)
		goto out;
	r = collect_dirs(p, &dirs);
	if (!r)
		r = shorten_all(names, &dirs);
out:
	vec_fini(&dirs);
	if (r) {
		err_set(-ENOMEM, "out of memory");
		render_names_free(names);
		return NULL;
	}
	return names;
}

void render_names_free(struct render_names *n)
{
	if (!n)
		return;
	free(n->of_string);
	free(n);
}

const char *render_names_file(const struct render_names *n, uint32_t function)
{
	uint32_t file = profile_get_function(n->p, function)->file;

	return file && n->of_string[file].file ? n->of_string[file].file : "";
}

enum render_origin render_names_origin(const struct render_names *n, uint32_t function)
{
	uint32_t file = profile_get_function(n->p, function)->file;

	return file ? n->of_string[file].origin : ORIGIN_OWN;
}

const char *render_names_mapping(const struct render_names *n, uint32_t mapping)
{
	const char *name = profile_get_string(n->p, profile_get_mapping(n->p, mapping)->name);
	const char *slash = strrchr(name, '/');

	return slash && slash[1] && name[0] != '[' ? slash + 1 : name;
}

/*
 * krait's addresses are the file's own. Other tools' are the process's: what they mapped where
 * gives the place in the file, for most files the same. No file's own bias reaches 4 GiB.
 */
static uint64_t address_in_file(const struct profile_mapping *m, uint64_t address)
{
	uint64_t bias = m->start - m->offset;

	return bias >> 32 && address >= m->start && address < m->limit ? address - bias : address;
}

void render_names_function(const struct render_names *n, uint32_t location, struct str *b)
{
	const struct profile_location *l = profile_get_location(n->p, location);
	const char *file = render_names_mapping(n, l->mapping), *name = "";

	if (l->function)
		name = profile_get_string(n->p, profile_get_function(n->p, l->function)->name);
	if (*name) {
		str_add(b, name);
	} else if (l->function) {
		str_addf(b, "0x%llx", (unsigned long long)l->address);
	} else {
		file += *file == '[';
		str_addf(b, "[%.*s+0x%llx]", (int)strcspn(file, "]"), file,
			 (unsigned long long)address_in_file(profile_get_mapping(n->p, l->mapping),
							     l->address));
	}
}

/* A frame that stands for its whole mapping. */
static bool is_name(const struct render_names *n, uint32_t function, const char *mapping)
{
	return streq(profile_get_string(n->p, profile_get_function(n->p, function)->name), mapping);
}

void render_names_frame(const struct render_names *n, uint32_t location, struct str *b)
{
	const struct profile_location *l = profile_get_location(n->p, location);
	const char *file = l->function ? render_names_file(n, l->function) : "";
	const char *mapping = render_names_mapping(n, l->mapping);

	render_names_function(n, location, b);
	if (!l->function || profile_get_mapping(n->p, l->mapping)->kind == KIND_MARK)
		return;
	if (*file && l->line > 0)
		str_addf(b, " (%s:%d)", file, l->line);
	else if (*file)
		str_addf(b, " (%s)", file);
	else if (*mapping && !streq(mapping, "[unknown]") && !is_name(n, l->function, mapping))
		str_addf(b, " (%s)", mapping);
}
