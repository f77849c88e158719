/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions and their colours; see functions.h. A colour's family shows the kind of frame (svg.css
 * has the colours for light and dark pages). A hash of the module chooses the colour in the family,
 * so that a module has the same colour in every picture.
 */
#include "view/shape/functions.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/util.h"
#include "profile/mark.h"

/* How many colours each family in svg.css has: .p0 to .p9 and so on. */
enum { PYTHON_COLOURS = 10, NATIVE_COLOURS = 4, KERNEL_COLOURS = 3 };

/*
 * Returns a 32-bit FNV-1a hash. Its high bits are folded into the low bits, because the low bits
 * choose a colour.
 */
static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h ^ h >> 16;
}

/* Tells whether the frame is one like `import json`, which src/collect/stack/import.c makes. */
static bool is_import(const struct function *f)
{
	return f->kind == KIND_PYTHON && str_starts(f->name, "import ") &&
	       str_starts(f->path, "<frozen importlib.");
}

static char family(const struct function *f)
{
	static const char by_origin[] = {
		[ORIGIN_OWN] = 'p', [ORIGIN_PACKAGE] = 'q', [ORIGIN_STDLIB] = 's'};
	static const char by_kind[KIND_MAX] = {[KIND_NATIVE] = 'n',
					       [KIND_KERNEL] = 'k',
					       [KIND_JIT] = 'j',
					       [KIND_GC] = 'g',
					       [KIND_MARK] = 'm'};

	if (f->root)
		return 'r';
	if (is_import(f))
		return 'i';
	return f->kind == KIND_PYTHON ? by_origin[f->origin] : by_kind[f->kind];
}

void function_colour(struct function *f)
{
	f->class[0] = family(f);
	f->class[1] = '\0';
	if (f->root || is_import(f))
		return;
	if (f->kind == KIND_PYTHON)
		f->class[1] = '0' + hash(f->file) % PYTHON_COLOURS;
	else if (f->kind == KIND_NATIVE)
		f->class[1] = '0' + hash(f->module) % NATIVE_COLOURS;
	else if (f->kind == KIND_KERNEL)
		f->class[1] = '0' + hash(f->name) % KERNEL_COLOURS;
	f->class[2] = '\0';
}

const char *function_kind_name(const struct function *f)
{
	static const char *const origins[] = {[ORIGIN_OWN] = "your code",
					      [ORIGIN_PACKAGE] = "packages",
					      [ORIGIN_STDLIB] = "standard library"};
	static const char *const kinds[KIND_MAX] = {[KIND_NATIVE] = "native",
						    [KIND_KERNEL] = "kernel",
						    [KIND_JIT] = "JIT code",
						    [KIND_GC] = "garbage collector",
						    [KIND_MARK] = "marks"};

	if (f->root)
		return "";
	if (is_import(f))
		return "imports";
	return f->kind == KIND_PYTHON ? origins[f->origin] : kinds[f->kind];
}

/*
 * Ranks the locations. Two locations belong to the same box if all that readers see of their
 * functions is equal.
 */
static int rank_locations(struct functions *fs)
{
	struct profile *p = fs->p;
	_cleanup_str_ struct str b = {};
	int r = rank_add(&fs->keys, "");

	for (uint32_t id = 1; !r && id <= profile_n_locations(p); id++) {
		const struct profile_location *l = profile_get_location(p, id);

		str_clear(&b);
		if (l->function) {
			const struct profile_function *f = profile_get_function(p, l->function);

			str_addf(&b, "%s\1%s\1%s\1%d\1", profile_get_string(p, f->name),
				 profile_get_string(p, f->file), profile_get_string(p, f->made_in),
				 f->start_line);
		} else {
			str_addf(&b, "%llx\1", (unsigned long long)l->address);
		}
		str_add(&b, profile_get_string(p, profile_get_mapping(p, l->mapping)->name));
		r = b.failed ? -ENOMEM : rank_add(&fs->keys, b.s);
	}
	if (!r)
		r = rank_finish(&fs->keys);
	return r;
}

int functions_init(struct functions *fs, struct profile *p)
{
	int r;

	*fs = (struct functions){.p = p, .names = render_names_new(p)};
	if (!fs->names)
		return -ENOMEM;
	r = rank_locations(fs);
	return r ? err_set(r, "out of memory") : 0;
}

void functions_fini(struct functions *fs)
{
	render_names_free(fs->names);
	rank_fini(&fs->keys);
	vec_foreach(name, &fs->made)
		free(*name);
	vec_fini(&fs->made);
}

/* Makes a name for a location that has no symbol. .made owns the name. */
static int make_name(struct functions *fs, uint32_t id, struct function *f)
{
	const struct profile_location *l = profile_get_location(fs->p, id);
	_cleanup_str_ struct str b = {};
	char *name;

	render_names_function(fs->names, id, &b);
	name = str_take(&b);
	if (!name || vec_push(&fs->made, name)) {
		free(name);
		return -ENOMEM;
	}
	f->name = name;
	f->path = profile_get_string(fs->p, profile_get_mapping(fs->p, l->mapping)->name);
	return 0;
}

static int describe_location(struct functions *fs, uint32_t id, struct function *f)
{
	const struct profile_location *l = profile_get_location(fs->p, id);
	const struct profile_function *pf;

	f->kind = profile_get_mapping(fs->p, l->mapping)->kind;
	f->module = f->mapping = render_names_mapping(fs->names, l->mapping);
	if (!l->function)
		return make_name(fs, id, f);
	pf = profile_get_function(fs->p, l->function);
	f->name = profile_get_string(fs->p, pf->name);
	if (f->kind == KIND_NATIVE)
		f->language = render_language(f->name, profile_get_string(fs->p, pf->system_name));
	f->start_line = pf->start_line;
	f->path = profile_get_string(fs->p, pf->file);
	f->file = render_names_file(fs->names, l->function);
	f->origin = render_names_origin(fs->names, l->function);
	if (f->kind == KIND_PYTHON)
		f->imported = render_names_module(fs->names, l->function);
	return 0;
}

int functions_get(struct functions *fs, uint32_t key, struct function *ret)
{
	size_t made = fs->made.n;
	int r = 0;

	*ret = (struct function){.name = "",
				 .file = "",
				 .path = "",
				 .module = "",
				 .mapping = "",
				 .imported = "",
				 .language = ""};
	if (fs->keys.first[key] == 0) {
		ret->name = mark_text(MARK_NO_STACK);
		ret->kind = KIND_MARK;
	} else {
		r = describe_location(fs, fs->keys.first[key], ret);
	}
	if (!*ret->name)
		ret->name = *ret->module ? ret->module : "[no name]";
	function_colour(ret);
	if (fs->made.n > made)
		ret->module = ""; /* no module is shown, because the name contains it */
	return r;
}
