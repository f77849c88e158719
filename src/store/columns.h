/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The columns of a frame or segment, and which member of which table each of them has. The order of
 * the list is that in the file: columns are only added at its end.
 */
#ifndef STORE_COLUMNS_H
#define STORE_COLUMNS_H

#include "store/batch.h"

enum column {
	COLUMN_HEAD, /* numbers and bases of the tables, time, figures */
	COLUMN_META,
	COLUMN_STRING_BYTES,
	COLUMN_STRING_LENGTH,
	COLUMN_MAPPING_NAME,
	COLUMN_MAPPING_BUILD_ID,
	COLUMN_MAPPING_START,
	COLUMN_MAPPING_LIMIT,
	COLUMN_MAPPING_OFFSET,
	COLUMN_FUNCTION_NAME,
	COLUMN_FUNCTION_FILE,
	COLUMN_FUNCTION_SYSTEM_NAME,
	COLUMN_FUNCTION_MADE_IN,
	COLUMN_FUNCTION_START_LINE,
	COLUMN_LOCATION_MAPPING,
	COLUMN_LOCATION_FUNCTION,
	COLUMN_LOCATION_OUTER,
	COLUMN_LOCATION_LINE,
	COLUMN_LOCATION_COLUMN,
	COLUMN_LOCATION_END_LINE,
	COLUMN_LOCATION_END_COLUMN,
	COLUMN_LOCATION_ADDRESS,
	COLUMN_SET_NUMBER,
	COLUMN_SET_SIZE,
	COLUMN_LABEL_KEY,
	COLUMN_LABEL_VALUE,
	COLUMN_NODE_PARENT,
	COLUMN_NODE_LOCATION,
	COLUMN_RUN_LABELS, /* a run: samples of one label set */
	COLUMN_RUN_SIZE,
	COLUMN_SAMPLE_TIME,
	COLUMN_SAMPLE_NODE,
	COLUMN_SAMPLE_HAS, /* bit i: value i isn't 0 */
	COLUMN_VALUE,	   /* of value 0; value i has column COLUMN_VALUE + i */
	/* the nodes of a block, which are in preorder; they have no other column */
	COLUMN_NODE_UP =
		COLUMN_VALUE + PROFILE_MAX_VALUES, /* steps from the node before to the parent */
	COLUMN_NODE_STEP, /* location less that of the sibling before, or of the parent */
	COLUMNS
};

/* A member that is a column: each number is the difference from the row before. */
struct column_member {
	uint8_t column, size; /* size: 4 or 8 bytes */
	uint16_t offset;
	/* the table whose numbers the member has: it must not be above that table's; else TABLES */
	uint8_t of;
	bool needed; /* must not be 0 */
};

/* A table whose rows have one size. */
struct column_table {
	size_t row; /* bytes of a row */
	const struct column_member *members;
	size_t n;
};

extern const struct column_table column_mappings, column_functions, column_locations, column_labels,
	column_nodes;

/* Where a node of a block is, as seen from the one before it. */
struct column_step {
	uint32_t parent, up;
	uint32_t location; /* what its location is compared with; 0: nothing */
};

/* Goes up from node @from (0: none) until @up steps are done, or @parent is reached. */
static inline struct column_step column_step(const struct batch_node *nodes, uint32_t from,
					     uint32_t up, uint32_t parent)
{
	struct column_step to = {.parent = from};
	uint32_t sibling = 0;

	while (to.parent && to.parent != parent && to.up < up) {
		sibling = to.parent;
		to.parent = nodes[to.parent - 1].parent;
		to.up++;
	}
	if (sibling || to.parent)
		to.location = nodes[(sibling ? sibling : to.parent) - 1].location;
	return to;
}

/* Numbers are little-endian, 7 bits a byte; signed ones have their sign in bit 0. */
static inline uint64_t column_fold(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t column_unfold(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
