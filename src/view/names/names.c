/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the names of frames as text. A path is cut to the part that shows which module it is: the
 * part after site-packages/, lib/pythonX.Y/ or the process's directory. Paths of a whole profile
 * are cut together: files whose cut paths would be equal keep their full paths.
 */
#include "view/names/names.h"

#include "base/error.h"
#include "base/nomem.h"
#include "view/names/dirs.h"
#include "view/names/origin.h"
#include "view/names/rank.h"

/*
 * The names of a file and of its module. .file and .from point into the string of the profile that
 * is the file's full path.
 */
struct name {
	const char *file;
	const char *from; /* the part of the path that begins where the module's name begins */
	char *module;	  /* name of the module, owned */
	enum render_origin origin;
	/* the file is in a directory of libraries, even if the library is the user's own */
	bool library;
};

struct render_names {
	struct profile *p;
	/* by string id; filled only for strings that are names of files */
	struct name *of_string;
	size_t n;
};

size_t render_after_kernel(const char *path)
{
	const char *cell = strrchr(path, '/');

	return cell && str_starts(cell, "/In [") && memmem(path, cell - path, "/ipykernel_", 11)
		       ? (size_t)(cell + 1 - path)
		       : 0;
}

static struct name shorten(const struct origin *o, uint32_t file, const struct dirs *dirs)
{
	const char *path = profile_get_string(o->p, file);
	struct origin_cuts cuts = origin_cuts(path);
	size_t own = MAX(dirs_after(dirs, path), render_after_kernel(path));
	size_t library = MAX(cuts.site, cuts.stdlib);
	size_t cut = MAX(library, own);
	struct name name = {.file = path + (path[cut] ? cut : 0),
			    .origin = origin_of(o, file, own)};

	/* `python ./app.py` gives the script's file a name that begins with "./" */
	while (str_starts(name.file, "./") && name.file[2])
		name.file += 2;
	name.library = str_starts(path, "<frozen ") || (cut && cut == library);
	name.from = name.file;
	return name;
}

/*
 * Returns the text that must differ between files: with @module the part of the path that becomes
 * the module's name, otherwise the path that is shown.
 */
static const char **text_of(struct name *name, bool module)
{
	return module ? &name->from : &name->file;
}

/*
 * Returns a longer text for a file whose text is equal to another file's. The module of a library
 * keeps its name, because the other file may be the same library in another Python or virtual
 * environment.
 */
static const char *longer(const struct render_names *names, uint32_t file, bool module)
{
	const struct name *name = &names->of_string[file];

	if (!module)
		return profile_get_string(names->p, file);
	return name->library ? name->from : name->file;
}

/*
 * Gives all files with equal texts a longer text, once. Returns how many texts were changed, or
 * -ENOMEM. The caller calls it again until nothing changes. That comes to an end, because each text
 * is lengthened only once and full paths differ.
 */
static int separate(struct render_names *names, const dirs_files *files, bool module)
{
	_cleanup_(rank_fini) struct rank r = {};
	_cleanup_free_ uint32_t *count = calloc(files->n + 1, sizeof(*count));
	int changed = 0;

	if (!count)
		return err_nomem();
	vec_foreach(file, files)
		if (rank_add(&r, *text_of(&names->of_string[*file], module)))
			return err_nomem();
	if (rank_finish(&r))
		return err_nomem();
	for (size_t i = 0; i < files->n; i++)
		count[r.of[i]]++;
	for (size_t i = 0; i < files->n; i++) {
		const char **text = text_of(&names->of_string[files->v[i]], module);
		const char *full = longer(names, files->v[i], module);

		if (count[r.of[i]] < 2 || *text == full)
			continue;
		*text = full;
		changed++;
	}
	return changed;
}

static int separate_all(struct render_names *names, const dirs_files *files, bool module)
{
	int r;

	do {
		r = separate(names, files, module);
	} while (r > 0);
	return r;
}

/*
 * Appends the name by which Python imports a file: "json.decoder" for "json/decoder.py". A path
 * that begins with / or ../ doesn't show packages, so only its last part is used.
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
	file = origin_below_archive(file);
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

static int name_module(struct name *name)
{
	_cleanup_str_ struct str b = {};

	add_module_of_file(name->from, &b);
	name->module = str_take(&b);
	return name->module ? 0 : err_nomem();
}

/*
 * Python looks for modules in the script's directory first. So `python old/app.py` runs module app,
 * not old.app, and imports its neighbours in the same way.
 */
static int name_modules(struct render_names *names, const dirs_files *files)
{
	struct dirs dirs = {};
	int r = dirs_of_scripts(&dirs, names->p, files);

	vec_foreach(file, files) {
		const char *path = profile_get_string(names->p, *file);
		struct name *name = &names->of_string[*file];

		if (!name->library)
			name->from = MAX(name->file, path + dirs_after(&dirs, path));
	}
	dirs_fini(&dirs);
	r = r ? r : separate_all(names, files, true);
	for (size_t i = 0; !r && i < files->n; i++)
		r = name_module(&names->of_string[files->v[i]]);
	return r;
}

/* Finds the strings that are names of files, each once, and stores their short forms in @names. */
static int shorten_all(struct render_names *names, const struct dirs *dirs)
{
	struct profile *p = names->p;
	dirs_files files = {};
	struct origin origin;
	int r = origin_init(&origin, p);

	for (uint32_t id = 1; !r && id <= profile_n_functions(p); id++) {
		const struct profile_function *f = profile_get_function(p, id);
		const uint32_t of[] = {f->file, f->made_in};

		for (size_t i = 0; !r && i < ARRAY_SIZE(of); i++) {
			if (!of[i] || names->of_string[of[i]].file)
				continue;
			names->of_string[of[i]] = shorten(&origin, of[i], dirs);
			r = vec_push(&files, of[i]);
		}
	}
	origin_fini(&origin);
	r = r ? r : separate_all(names, &files, false);
	r = r ? r : name_modules(names, &files);
	vec_fini(&files);
	return r;
}

struct render_names *render_names_new(struct profile *p)
{
	struct render_names *names = calloc(1, sizeof(*names));
	struct dirs dirs = {};
	int r = -ENOMEM;

	if (!names)
		goto out;
	names->p = p;
	names->n = profile_n_strings(p) + 1;
	names->of_string = calloc(names->n, sizeof(*names->of_string));
	if (!names->of_string)
		goto out;
	r = dirs_of_processes(&dirs, p);
	if (!r)
		r = shorten_all(names, &dirs);
out:
	dirs_fini(&dirs);
	if (r) {
		(void)err_nomem();
		render_names_free(names);
		return NULL;
	}
	return names;
}

void render_names_free(struct render_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; n->of_string && i < n->n; i++)
		free(n->of_string[i].module);
	free(n->of_string);
	free(n);
}

const char *render_names_file(const struct render_names *n, uint32_t function)
{
	uint32_t file = profile_get_function(n->p, function)->file;

	return file && n->of_string[file].file ? n->of_string[file].file : "";
}

/*
 * Returns the string that is the file of a function's module. Code without a file belongs to the
 * module in which it runs.
 */
static uint32_t file_of_module(const struct profile_function *f)
{
	return f->made_in ? f->made_in : f->file;
}

const char *render_names_module(const struct render_names *n, uint32_t function)
{
	uint32_t file = file_of_module(profile_get_function(n->p, function));

	return file && n->of_string[file].module ? n->of_string[file].module : "";
}

enum render_origin render_names_origin(const struct render_names *n, uint32_t function)
{
	uint32_t file = file_of_module(profile_get_function(n->p, function));

	return file ? n->of_string[file].origin : ORIGIN_OWN;
}

const char *render_names_mapping(const struct render_names *n, uint32_t mapping)
{
	const char *name = profile_get_string(n->p, profile_get_mapping(n->p, mapping)->name);
	const char *slash = strrchr(name, '/');

	return slash && slash[1] && name[0] != '[' ? slash + 1 : name;
}

/*
 * Returns an address as addr2line takes it: in the file. krait stores such addresses, but other
 * tools store addresses in the process's memory. These are converted by their mapping, which is
 * right for most files. They are recognized by .start - .offset of the mapping, which is 4 GiB or
 * more only for addresses in memory.
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

/* Tells whether the function stands for a whole mapping, because it has the mapping's name. */
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
