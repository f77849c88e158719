/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the tables of a Firefox profile, column by column: strings, sources, functions, frames,
 * stacks. Each location of the profile becomes a frame, and each node of its tree of stacks becomes
 * a stack. Ids in the file are lower by one than the profile's, because the profile counts from 1.
 * See firefox.h.
 */
#include "format/firefox/firefox.h"

#include "base/text/json.h"

/*
 * One category for each enum frame_kind. The Firefox Profiler takes the first grey category as the
 * default.
 */
const char firefox_categories[] =
	"{\"name\":\"Python\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Native\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"JIT code\",\"color\":\"green\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Garbage collector\",\"color\":\"red\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}";

_Static_assert(KIND_PYTHON == 0 && KIND_NATIVE == 1 && KIND_KERNEL == 2 && KIND_JIT == 3 &&
		       KIND_GC == 4 && KIND_MARK == 5 && KIND_MAX == 6,
	       "enum frame_kind must be in the order of firefox_categories");

static const struct profile_mapping *mapping_of(const struct firefox *f, uint32_t location)
{
	return profile_get_mapping(f->p, profile_get_location(f->p, location)->mapping);
}

/*
 * Writes "libs". breakpadId stays empty, because it only serves to look up the names of symbols,
 * which the file has already.
 */
void firefox_put_libs(const struct firefox *f)
{
	const char *comma = "";

	fputs("\"libs\":[", f->out);
	for (uint32_t id = 1; id <= profile_n_mappings(f->p); id++) {
		const struct profile_mapping *m = profile_get_mapping(f->p, id);
		const char *name = render_names_mapping(f->names, id);
		const char *path = profile_get_string(f->p, m->name);

		if (f->lib_of[id] == UINT32_MAX)
			continue;
		fprintf(f->out, "%s\n{\"arch\":\"\",\"breakpadId\":\"\",\"codeId\":", comma);
		if (m->build_id)
			json_put_string(f->out, profile_get_string(f->p, m->build_id));
		else
			fputs("null", f->out);
		fputs(",\"name\":", f->out);
		json_put_string(f->out, name);
		fputs(",\"debugName\":", f->out);
		json_put_string(f->out, name);
		fputs(",\"path\":", f->out);
		json_put_string(f->out, path);
		fputs(",\"debugPath\":", f->out);
		json_put_string(f->out, path);
		fputc('}', f->out);
		comma = ",";
	}
	fputs("],\n", f->out);
}

/* Writes a number as an item of a column. */
static void number(const struct firefox *f, bool first, int64_t v)
{
	fprintf(f->out, "%s%lld", first ? "" : ",", (long long)v);
}

/* Writes a number, or null if the number isn't above 0. */
static void number_or_null(const struct firefox *f, bool first, int64_t v)
{
	if (v > 0)
		number(f, first, v);
	else
		fprintf(f->out, "%snull", first ? "" : ",");
}

/* Writes an index, or null if the index is -1. */
static void index_or_null(const struct firefox *f, bool first, int64_t v)
{
	if (v >= 0)
		number(f, first, v);
	else
		fprintf(f->out, "%snull", first ? "" : ",");
}

/* Writes the column "name":[expression, ...], with an item for each i from @from to below @to. */
#define COLUMN(name, from, to, put, expression)                                                    \
	do {                                                                                       \
		fputs("\"" name "\":[", f->out);                                                   \
		for (size_t i = (from); i < (to); i++)                                             \
			put(f, i == (from), (expression));                                         \
		fputs("],\n", f->out);                                                             \
	} while (0)

static void constant(const struct firefox *f, bool first, const char *word)
{
	fprintf(f->out, "%s%s", first ? "" : ",", word);
}

static int64_t stack_frame(const struct firefox *f, size_t i)
{
	uint32_t parent, location;

	profile_get_node(f->p, (uint32_t)i, &parent, &location);
	return (int64_t)location - 1;
}

static int64_t stack_prefix(const struct firefox *f, size_t i)
{
	uint32_t parent, location;

	profile_get_node(f->p, (uint32_t)i, &parent, &location);
	return (int64_t)parent - 1;
}

static void put_stacks(const struct firefox *f)
{
	size_t n = profile_n_nodes(f->p);

	fputs("\"stackTable\":{", f->out);
	COLUMN("frame", 1, n + 1, number, stack_frame(f, i));
	COLUMN("prefix", 1, n + 1, index_or_null, stack_prefix(f, i));
	fprintf(f->out, "\"length\":%zu},\n", n);
}

static void put_frames(const struct firefox *f)
{
	size_t n = profile_n_locations(f->p);

#define LOCATION (profile_get_location(f->p, (uint32_t)i))
	fputs("\"frameTable\":{", f->out);
	COLUMN("address", 1, n + 1, constant, "-1");
	COLUMN("inlineDepth", 1, n + 1, constant, "0");
	COLUMN("category", 1, n + 1, number, mapping_of(f, (uint32_t)i)->kind);
	COLUMN("subcategory", 1, n + 1, constant, "0");
	COLUMN("func", 1, n + 1, number, f->func_of[i]);
	COLUMN("nativeSymbol", 1, n + 1, constant, "null");
	COLUMN("innerWindowID", 1, n + 1, constant, "null");
	COLUMN("line", 1, n + 1, number_or_null, LOCATION->line);
	COLUMN("column", 1, n + 1, number_or_null, LOCATION->column);
	fprintf(f->out, "\"length\":%zu},\n", n);
#undef LOCATION
}

static int64_t func_line(const struct firefox *f, size_t i)
{
	const struct profile_location *l = profile_get_location(f->p, f->funcs.v[i].location);

	return l->function ? profile_get_function(f->p, l->function)->start_line : 0;
}

static int64_t func_resource(const struct firefox *f, size_t i)
{
	const struct profile_location *l = profile_get_location(f->p, f->funcs.v[i].location);

	return f->lib_of[l->mapping] == UINT32_MAX ? -1 : (int64_t)f->lib_of[l->mapping];
}

/*
 * Returns the item of func @i in column "isJS", which is true for Python functions. So the Firefox
 * Profiler, which takes Python functions for JavaScript, can show them without native frames.
 */
static const char *func_is_python(const struct firefox *f, size_t i)
{
	return mapping_of(f, f->funcs.v[i].location)->kind == KIND_PYTHON ? "true" : "false";
}

static void put_funcs(const struct firefox *f)
{
	size_t n = f->funcs.n;

	fputs("\"funcTable\":{", f->out);
	COLUMN("name", 0, n, number, f->funcs.v[i].name);
	COLUMN("isJS", 0, n, constant, func_is_python(f, i));
	COLUMN("relevantForJS", 0, n, constant, "false");
	COLUMN("resource", 0, n, number, func_resource(f, i));
	COLUMN("source", 0, n, index_or_null, f->funcs.v[i].source);
	COLUMN("lineNumber", 0, n, number_or_null, func_line(f, i));
	COLUMN("columnNumber", 0, n, constant, "null");
	fprintf(f->out, "\"length\":%zu},\n", n);
}

static void put_strings(const struct firefox *f)
{
	fputs("\"stringArray\":[\"\"", f->out);
	for (uint32_t id = 1; id <= profile_n_strings(f->p); id++) {
		fputs(",\n", f->out);
		json_put_string(f->out, profile_get_string(f->p, id));
	}
	fprintf(f->out, "%s]", str_cstr(&f->made));
}

void firefox_put_shared(const struct firefox *f)
{
	fputs("\"shared\":{\n", f->out);
	put_stacks(f);
	put_frames(f);
	put_funcs(f);
	fputs("\"resourceTable\":{", f->out);
	COLUMN("lib", 0, f->n_libs, number, (int64_t)i);
	COLUMN("name", 0, f->n_libs, number, (int64_t)(f->first_lib_name + i));
	COLUMN("host", 0, f->n_libs, constant, "null");
	/* in the table of resources, type 1 stands for a library */
	COLUMN("type", 0, f->n_libs, constant, "1");
	fprintf(f->out, "\"length\":%u},\n", f->n_libs);
	fputs("\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],"
	      "\"length\":0},\n\"sources\":{",
	      f->out);
	COLUMN("id", 0, f->sources.n, constant, "null");
	COLUMN("filename", 0, f->sources.n, number, f->sources.v[i]);
	fprintf(f->out, "\"length\":%zu},\n", f->sources.n);
	put_strings(f);
	fputs("},\n", f->out);
}
