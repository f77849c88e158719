/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The columns of a frame (about a second's samples) or a segment. Says for each column which member
 * of which table it has. The list has the order in which columns are stored, so new columns go at
 * its end.
 */
#ifndef STORE_COLUMNS_H
#define STORE_COLUMNS_H

#include "store/batch.h"

enum column {
	/*
	 * how many rows each table has, at which number each begins, and the agent's counters
	 * (put_head())
	 */
	COLUMN_HEAD,
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
	/* a run is a series of samples with one label set; this column has the set's number */
	COLUMN_RUN_LABELS,
	COLUMN_RUN_SIZE,
	COLUMN_SAMPLE_TIME,
	COLUMN_SAMPLE_NODE,
	COLUMN_SAMPLE_HAS, /* bit i: value i isn't 0 */
	COLUMN_VALUE,	   /* the samples' first value; value i is in column COLUMN_VALUE + i */
	/*
	 * COLUMN_NODE_UP and COLUMN_NODE_STEP are all that is stored of a block's nodes. The nodes
	 * are in preorder. COLUMN_NODE_UP has how many levels a node's parent is above the
	 * preceding node.
	 */
	COLUMN_NODE_UP = COLUMN_VALUE + PROFILE_MAX_VALUES,
	/*
	 * the number of the node's location, minus that of the preceding sibling's location, or of
	 * the parent's if the node is a first child
	 */
	COLUMN_NODE_STEP,
	/*
	 * COLUMN_SAMPLE_TIME and COLUMN_SAMPLE_NODE have only the first byte of each number. The
	 * number's second byte is in the column with _2, and all its further bytes are in the
	 * column with _3. A column of bytes that mean the same can be compressed better. Formats 2
	 * and 3 have whole numbers in the first column, and none of the columns from COLUMN_SPREAD
	 * on.
	 */
	COLUMN_SPREAD,
	COLUMN_SAMPLE_TIME_2 = COLUMN_SPREAD,
	COLUMN_SAMPLE_TIME_3,
	COLUMN_SAMPLE_NODE_2,
	COLUMN_SAMPLE_NODE_3,
	COLUMNS
};

/*
 * A member of a table's rows that is stored as a column. Each number is stored as its difference
 * from the number in the preceding row.
 */
struct column_member {
	uint8_t column, size; /* size: 4 or 8 bytes */
	uint16_t offset;
	/*
	 * The number may not exceed the size of this table, because it refers to one of the table's
	 * rows. BATCH_TABLES: the number refers to no table.
	 */
	uint8_t of;
	bool needed; /* true: the number may not be 0 */
};

/* How to store the rows of a table as columns. All its rows have the same size. */
struct column_table {
	size_t row; /* bytes of a row */
	const struct column_member *members;
	size_t n;
};

extern const struct column_table column_mappings, column_functions, column_locations, column_labels,
	column_nodes;

/* How a node of a block is reached from the preceding node. */
struct column_step {
	uint32_t parent, up;
	/*
	 * the number that was subtracted from the number of the node's own location when that was
	 * stored: the number of another node's location, or 0
	 */
	uint32_t location;
};

/*
 * Goes up in the tree, from node @from (0: none), until @up steps are made or node @parent is
 * reached.
 */
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

/*
 * Numbers are stored with 7 bits in each byte, the lowest bits first. Signed numbers have their
 * sign in bit 0.
 */
static inline uint64_t column_fold(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t column_unfold(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* The part of a column that hasn't been read yet. */
struct column_cursor {
	const uint8_t *at, *end;
};

/* Reads a number. False: the column ends before the number does, and *ret is 0. */
static inline bool column_get(struct column_cursor *c, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && c->at < c->end; shift += 7) {
		uint8_t byte = *c->at++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = v;
			return true;
		}
	}
	*ret = 0;
	return false;
}

#endif
