/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The middle layer of the pprof reader: turns a file's tables into a struct profile. The tables may
 * come in any order, and after the samples that use them. Ids in a file may be any numbers. A
 * location with inlined calls becomes one location of the profile for each of its lines.
 */
#ifndef FORMAT_PPROF_PPROF_TABLES_H
#define FORMAT_PPROF_PPROF_TABLES_H

#include "base/map.h"
#include "base/vec.h"
#include "format/pprof/pprof_in.h"
#include "profile/profile.h"

/*
 * Entries of the file's tables, as they were read: entries to which they refer may not be read yet.
 * The members are those of profile.proto.
 */
struct pprof_raw_mapping {
	uint64_t id, start, limit, offset, filename, build_id, off;
};
struct pprof_raw_function {
	uint64_t id, name, system_name, filename, start_line, ran_before, made_in, off;
};
struct pprof_raw_line {
	uint64_t function_id, line, column, end_line, end_column;
};
struct pprof_raw_location {
	uint64_t id, mapping_id, address, off;
	size_t first_line, n_lines;
};

struct pprof_raw_value_type {
	uint64_t type, unit;
};

struct pprof_id_range {
	uint32_t first, n; /* a range of pprof_tables.expanded: first index and length */
};

struct pprof_tables {
	struct profile *p;
	size_t budget;	       /* how many bytes .p and these tables may take together */
	VEC(uint32_t) strings; /* by index of a string in the file: id of the string in .p */
	VEC(struct pprof_raw_mapping) mappings;
	VEC(struct pprof_raw_function) functions;
	VEC(struct pprof_raw_location) locations;
	VEC(struct pprof_raw_line) lines;
	VEC(struct pprof_raw_value_type) value_types;
	pb_numbers comments;
	struct pprof_raw_value_type period_type;
	struct {
		uint64_t time_ns, duration_ns, period, default_type;
	} meta;

	/*
	 * Valid after pprof_tables_resolve(). .mapping_ids and .function_ids: from the id in the
	 * file to the id in .p. .location_ids: from the id in the file to the index in .ranges.
	 */
	struct map mapping_ids, function_ids, location_ids;
	VEC(struct pprof_id_range) ranges;
	/*
	 * ids in .p of the locations that were made of each location of the file, innermost line
	 * first
	 */
	VEC(uint32_t) expanded;
	/* by index of a value in the profile: index of the value in the file */
	unsigned value_at[PROFILE_MAX_VALUES];
};

void pprof_tables_init(struct pprof_tables *t, struct profile *p, size_t budget);
void pprof_tables_fini(struct pprof_tables *t);

/*
 * Reads one top-level field that isn't a sample. Unknown fields are ignored. 0 or -errno + message.
 */
_must_use_ int pprof_tables_take(struct pprof_tables *t, const struct pb_field *f);

/*
 * Sets everything in the profile except its samples. To be called after the file's last field. 0 or
 * -errno + message.
 */
_must_use_ int pprof_tables_resolve(struct pprof_tables *t);

/* Finds the profile's id for string number @index of the file. 0 or -errno + message. */
_must_use_ int pprof_tables_string(const struct pprof_tables *t, uint64_t index, uint64_t off,
				   const char *name, uint32_t *ret);

/*
 * Checks how much memory the tables and the profile take. 0, or -E2BIG + message if that is more
 * than .budget.
 */
_must_use_ int pprof_tables_check(const struct pprof_tables *t, uint64_t off);

#endif
