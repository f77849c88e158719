/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers functions, source files and libraries for a Firefox profile; see firefox.h. */
#include "format/firefox/firefox.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/text/json.h"

static uint32_t make_string(struct firefox *f, const char *s)
{
	str_add(&f->made, ",\n");
	json_string(&f->made, s);
	return (uint32_t)profile_n_strings(f->p) + 1 + f->n_made++;
}

static uint32_t func_name(struct firefox *f, uint32_t location)
{
	const struct profile_location *l = profile_get_location(f->p, location);
	uint32_t name = l->function ? profile_get_function(f->p, l->function)->name : 0;
	_cleanup_str_ struct str made = {};

	if (name)
		return name;
	render_names_function(f->names, location, &made);
	f->made.failed |= made.failed;
	return make_string(f, str_cstr(&made));
}

static int source_of(struct firefox *f, struct map *at, uint32_t location, int64_t *ret)
{
	const struct profile_location *l = profile_get_location(f->p, location);
	uint32_t file = l->function ? profile_get_function(f->p, l->function)->file : 0;
	uint64_t *found = map_get(at, file);

	*ret = -1;
	if (!file)
		return 0;
	*ret = found ? (int64_t)*found : (int64_t)f->sources.n;
	if (found)
		return 0;
	return map_put(at, file, f->sources.n) ? -ENOMEM : vec_push(&f->sources, file);
}

/*
 * The key of a function: what a reader of the file sees of it. If the compiler put parts of a
 * function in different places of the executable (f and f.cold), the parts have the same key.
 */
struct func_key {
	uint32_t name, file, mapping;
	uint32_t unnamed; /* id of the location if it has no name; else 0 */
	int32_t start_line;
};

static struct func_key func_key(const struct firefox *f, uint32_t location)
{
	const struct profile_location *l = profile_get_location(f->p, location);
	const struct profile_function *fn;
	struct func_key key = {.mapping = l->mapping, .unnamed = location};

	fn = l->function ? profile_get_function(f->p, l->function) : NULL;
	if (!fn || !fn->name)
		return key;
	return (struct func_key){fn->name, fn->file, l->mapping, 0, fn->start_line};
}

/*
 * Makes a func (a function in the file) for a new key. Keys and funcs have the same numbers, from
 * 1.
 */
static int add_func(struct firefox *f, struct intern *keys, struct map *source_at, uint32_t id)
{
	struct func_key key = func_key(f, id);
	struct firefox_func func = {.location = id};
	uint32_t number = intern_put(keys, &key, 0);
	int r;

	if (!number)
		return -ENOMEM;
	f->func_of[id] = number - 1;
	if (number <= f->funcs.n)
		return 0;
	func.name = func_name(f, id);
	r = source_of(f, source_at, id, &func.source);
	return r ? r : vec_push(&f->funcs, func);
}

static int add_funcs(struct firefox *f)
{
	struct intern keys;
	struct map source_at;
	int r = 0;

	intern_init(&keys, sizeof(struct func_key));
	map_init(&source_at);
	for (uint32_t id = 1; id <= profile_n_locations(f->p) && !r; id++)
		r = add_func(f, &keys, &source_at, id);
	intern_fini(&keys);
	map_fini(&source_at);
	return r;
}

static void add_libs(struct firefox *f)
{
	f->first_lib_name = (uint32_t)profile_n_strings(f->p) + 1 + f->n_made;
	for (uint32_t id = 1; id <= profile_n_mappings(f->p); id++) {
		enum frame_kind kind = profile_get_mapping(f->p, id)->kind;

		f->lib_of[id] = UINT32_MAX;
		if (kind == KIND_PYTHON || kind == KIND_MARK)
			continue;
		f->lib_of[id] = f->n_libs++;
		make_string(f, render_names_mapping(f->names, id));
	}
}

int firefox_tables_init(struct firefox *f)
{
	int r;

	f->func_of = calloc(profile_n_locations(f->p) + 1, sizeof(*f->func_of));
	f->lib_of = calloc(profile_n_mappings(f->p) + 1, sizeof(*f->lib_of));
	f->names = render_names_new(f->p);
	r = f->func_of && f->lib_of && f->names ? add_funcs(f) : -ENOMEM;
	if (!r)
		add_libs(f);
	return r || f->made.failed ? err_set(-ENOMEM, "out of memory for the functions") : 0;
}

void firefox_tables_fini(struct firefox *f)
{
	free(f->func_of);
	free(f->lib_of);
	render_names_free(f->names);
	str_fini(&f->made);
	vec_fini(&f->funcs);
	vec_fini(&f->sources);
}
