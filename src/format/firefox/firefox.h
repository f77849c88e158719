/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Firefox Profiler's "processed profile", version 60: the first with tables that all threads
 * share. The profiler reads older versions than its own (src/profile-logic/
 * processed-profile-versioning of firefox-devtools/profiler), so this stays as it is.
 */
#ifndef FORMAT_FIREFOX_FIREFOX_H
#define FORMAT_FIREFOX_FIREFOX_H

#include "base/map.h"
#include "base/vec.h"
#include "format/common/options.h"
#include "view/names/names.h"

/* What the profiler calls func: functions of one name, file and mapping, or a location without. */
struct firefox_func {
	uint32_t location; /* one of its locations */
	uint32_t name;	   /* string */
	int64_t source;	   /* index, -1 = none */
};

struct firefox {
	struct profile *p;
	FILE *out;
	const struct render_options *opt;
	struct render_names *names;
	unsigned value;
	/* String 0 is "", then come the profile's by id, then those made here. */
	struct str made; /* as JSON, ",\n" before each */
	uint32_t n_made;
	uint32_t *func_of; /* by location id */
	VEC(struct firefox_func) funcs;
	VEC(uint32_t) sources; /* strings */
	uint32_t *lib_of;      /* by mapping id: index of the library, UINT32_MAX = none */
	uint32_t n_libs;
	uint32_t first_lib_name; /* string: the names of libraries come one after the other */
};

/* Numbers functions, source files and libraries; undone by firefox_tables_fini(). 0 or -errno +
 * message. */
_must_use_ int firefox_tables_init(struct firefox *f);
void firefox_tables_fini(struct firefox *f);

/* Writes "libs" and "shared": everything that isn't of one thread. */
void firefox_put_libs(const struct firefox *f);
void firefox_put_shared(const struct firefox *f);

/* Categories are kinds of frames, in their order; the list for the profile's meta data. */
extern const char firefox_categories[];

#endif
