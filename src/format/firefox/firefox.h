/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the Firefox Profiler's "processed profile" in version 60, the first version in which all
 * threads share tables. The Firefox Profiler reads all older versions too
 * (src/profile-logic/processed-profile-versioning of firefox-devtools/profiler), so the version
 * that krait writes needn't change.
 */
#ifndef FORMAT_FIREFOX_FIREFOX_H
#define FORMAT_FIREFOX_FIREFOX_H

#include "base/map.h"
#include "base/vec.h"
#include "format/common/options.h"
#include "view/names/names.h"

/*
 * What the Firefox Profiler calls a "func": all functions with the same name, file, mapping and
 * first line. A location without a name is a func of its own.
 */
struct firefox_func {
	uint32_t location; /* id of one of the locations of this func */
	uint32_t name;	   /* index of the func's name in the file's strings */
	int64_t source;	   /* index of the func's source file in .sources; -1: no file is known */
};

struct firefox {
	struct profile *p;
	FILE *out;
	const struct render_options *opt;
	struct render_names *names;
	unsigned value;
	/*
	 * The strings of the file are, in this order: "", the profile's strings by id, and the
	 * strings in .made.
	 */
	/* the strings that the file has and the profile hasn't, as JSON, each after ",\n" */
	struct str made;
	uint32_t n_made;
	uint32_t *func_of; /* by location id: index of the location's func in .funcs */
	VEC(struct firefox_func) funcs;
	VEC(uint32_t) sources; /* names of source files, as indexes in the file's strings */
	/* by mapping id: index of the mapping's library in the file's "libs"; UINT32_MAX: none */
	uint32_t *lib_of;
	uint32_t n_libs;
	/*
	 * index, in the file's strings, of the first library's name; the other libraries' names
	 * follow it
	 */
	uint32_t first_lib_name;
};

/*
 * Numbers functions, source files and libraries. Call firefox_tables_fini() afterwards. 0 or -errno
 * + message.
 */
_must_use_ int firefox_tables_init(struct firefox *f);
void firefox_tables_fini(struct firefox *f);

/*
 * Write the members "libs" and "shared", which have everything that doesn't belong to a single
 * thread.
 */
void firefox_put_libs(const struct firefox *f);
void firefox_put_shared(const struct firefox *f);

/*
 * The profile's categories as JSON, for "meta". They are the kinds of frames, in the order of enum
 * frame_kind.
 */
extern const char firefox_categories[];

#endif
