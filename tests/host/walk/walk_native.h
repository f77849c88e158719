/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builds the data that user space gives to the kernel program's unwinder, as src/sampler does:
 * tables of unwind rows, and mappings.
 */
#ifndef TESTS_HOST_WALK_WALK_NATIVE_H
#define TESTS_HOST_WALK_WALK_NATIVE_H

#include "walk_host.h"

#include "unwind/rows/rows.h"

static inline uint32_t native_new_chunk(void)
{
	struct unwind_chunk *c = malloc(sizeof(*c));

	host_must(c && !vec_push(&host.chunks, c), "out of memory");
	memset(c, 0xff, sizeof(*c));
	return (uint32_t)host.chunks.n - 1;
}

/*
 * Adds a level of the search tree above @n entries: puts the entries into chunks, and replaces them
 * by an entry for each chunk. Returns the number of chunks.
 */
static inline size_t native_add_level(struct unwind_row *entry, size_t n)
{
	size_t up = 0;

	for (size_t i = 0; i < n; i += UNWIND_FANOUT, up++) {
		uint32_t number = native_new_chunk(), first = entry[i].key;
		struct unwind_chunk *c = host.chunks.v[number];

		for (size_t k = 0; k < MIN(n - i, (size_t)UNWIND_FANOUT); k++) {
			c->key[k] = entry[i + k].key;
			c->value[k] = entry[i + k].rule;
		}
		entry[up] = (struct unwind_row){first, number};
	}
	return up;
}

/* Lets numbers begin with 1: table 0 means no table, rule 0 no rule. */
static inline void native_init(void)
{
	host_must(!vec_push(&host.tables, (struct unwind_table){.depth = 0}) &&
			  !vec_push(&host.rules, (struct unwind_rule){.cfa = UNWIND_UNKNOWN}),
		  "out of memory");
}

/*
 * Adds a table with @rows, which it changes. Returns the table's number, or 0 if there are no rows.
 */
static inline uint32_t native_add_table(struct unwind_rows *rows)
{
	uint32_t first_rule = (uint32_t)host.rules.n;
	struct unwind_table t = {.depth = 0};
	size_t n = rows->rows.n;

	if (!n)
		return 0;
	vec_foreach(rule, &rows->rules)
		host_must(!vec_push(&host.rules, *rule), "out of memory");
	vec_foreach(row, &rows->rows)
		row->rule += first_rule;
	do {
		n = native_add_level(rows->rows.v, n);
		t.depth++;
	} while (n > 1);
	host_must(t.depth <= UNWIND_LEVELS, "more rows than three levels hold");
	t.root = rows->rows.v[0].rule;
	host_must(!vec_push(&host.tables, t), "out of memory");
	return (uint32_t)host.tables.n - 1;
}

/* Removes all mappings of the process. */
static inline void native_no_mappings(void)
{
	host.native->space = (struct unwind_space){.version = host.native->space.version + 1};
}

/*
 * Adds mapping number @i of the process. Mappings must be added in the order of their addresses.
 * They are in chunks of the same size as those of unwind rows.
 */
static inline void native_add_mapping(size_t i, struct unwind_mapping m)
{
	struct unwind_space *space = &host.native->space;
	struct space_chunk *c;

	if (i % SPACE_MAPPINGS == 0) {
		host_must(space->chunks < SPACE_CHUNKS, "too many mappings");
		space->chunk[space->chunks++] = native_new_chunk();
		c = (void *)host.chunks.v[space->chunk[space->chunks - 1]];
		for (size_t k = 0; k < SPACE_MAPPINGS; k++)
			c->start[k] = SPACE_UNUSED;
	}
	c = (void *)host.chunks.v[space->chunk[space->chunks - 1]];
	c->start[i % SPACE_MAPPINGS] = m.start;
	c->map[i % SPACE_MAPPINGS] = (struct space_mapping){
		.pages = (uint32_t)((m.end - m.start) >> 12), .table = m.table, .key = m.key};
}

/* Adds mapping number @i: the page at @start, in which @rule holds up to offset @to. */
static inline void native_add_code(size_t i, uint64_t start, struct unwind_rule rule, uint32_t to)
{
	_cleanup_unwind_rows_ struct unwind_rows rows = {};

	host_must(!vec_push(&rows.rules, (struct unwind_rule){}) && !vec_push(&rows.rules, rule) &&
			  !vec_push(&rows.rows, (struct unwind_row){0, 1}) &&
			  !vec_push(&rows.rows, (struct unwind_row){to, 0}),
		  "out of memory");
	native_add_mapping(i, (struct unwind_mapping){.start = start,
						      .end = start + HOST_PAGE,
						      .table = native_add_table(&rows)});
}

#endif
