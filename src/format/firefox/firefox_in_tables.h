/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares what the source files that read a Firefox profile share. The profile's tables are read
 * column by column. A table belongs to one thread or is shared by all threads; between versions 56
 * and 60, more and more tables became shared. The reader of stacks is declared here too.
 */
#ifndef FORMAT_FIREFOX_FIREFOX_IN_TABLES_H
#define FORMAT_FIREFOX_FIREFOX_IN_TABLES_H

#include "base/text/json_in.h"
#include "base/vec.h"
#include "format/common/viewer_in.h"
#include "profile/profile.h"

#define FF_FORMAT "firefox"
#define FF_NONE	  (-1) /* the value in a column that stands for null */

enum ff_column {
	STACK_FRAME,
	STACK_PREFIX,
	/*
	 * from version 66 on, in place of STACK_PREFIX: by how many rows the row of the prefix (the
	 * caller's stack) is before this row; 0: there is no prefix
	 */
	STACK_OFFSET,
	FRAME_FUNC,
	FRAME_LINE,
	FRAME_COLUMN,
	FRAME_CATEGORY,
	/* from version 70 on; before that, a frame's library was that of its function's resource */
	FRAME_LIB,
	/* from version 71 on: tells which columns of a frame are set, because 0 may be a value */
	FRAME_FLAGS,
	FUNC_NAME,
	FUNC_FILE,
	FUNC_SOURCE, /* the source file of a function, from version 58 on; before that, FUNC_FILE */
	FUNC_LINE,
	FUNC_RESOURCE,
	FUNC_FLAGS, /* from version 75 on: tells which columns of a function are set */
	RESOURCE_LIB,
	RESOURCE_NAME,
	SOURCE_FILE,
	FF_COLUMNS,
};

/* Bits in the columns FRAME_FLAGS and FUNC_FLAGS: the cell of that name is set. */
enum {
	FRAME_HAS_LIB = 2,
	FRAME_HAS_CATEGORY = 4,
	FUNC_HAS_RESOURCE = 4,
	FUNC_HAS_SOURCE = 8,
};

typedef VEC(int32_t) ff_numbers;

struct ff_texts {
	struct str bytes; /* the texts, each with a NUL at its end */
	VEC(size_t) starts;
};

struct ff_tables {
	struct {
		bool there;
		struct json_in at;
		ff_numbers v;
	} columns[FF_COLUMNS];
	bool has_strings, any;
	struct ff_texts strings;
};

/* What a row of the file's table of stacks has become in the profile. */
struct ff_node {
	/* .node, .stack: ids in the profile, 0: not made yet; .depth: number of frames */
	uint32_t node, depth, stack;
	/*
	 * number of the last thread for which this row's frames were subtracted from .steps, the
	 * work that may still be done
	 */
	uint32_t thread;
};

struct ff_reader {
	struct profile *p;
	struct viewer_counts counts;
	/*
	 * .n_no_stack: how many samples were left out because their stack isn't in the file;
	 * .n_no_number: how many weights and times of samples aren't numbers
	 */
	uint64_t n_no_stack, n_no_number;
	size_t budget;
	uint64_t steps;
	/*
	 * where the members "meta", "libs", "shared" and "threads" are in the file; .at is NULL if
	 * the file doesn't have the member
	 */
	struct json_in meta, libs, shared_at, threads;
	bool of_krait;
	struct ff_texts lib_paths, categories;
	/* .shared: the tables for all threads; .own: the tables of the thread that is being read */
	struct ff_tables shared, own;
	/* by row of the table of frames: id of the location that was made; 0: not made yet */
	VEC(uint32_t) locations;
	VEC(struct ff_node) nodes; /* by row of the table of stacks: what was made of the row */
	/* rows of the table of stacks, from the innermost frame's to the outermost frame's */
	VEC(int32_t) path;
	bool shared_checked[FF_COLUMNS];
	uint32_t thread; /* number of the thread that is being read, from 1 */
	struct str key, text;
	const struct json_in *at; /* the place in the file that error messages name */
};

static inline int ff_bad(const struct json_in *in, const char *field, const char *what)
{
	return viewer_in_bad(FF_FORMAT, in, field, what);
}

static inline int ff_in_field(int r, const char *field)
{
	return viewer_in_wrap(FF_FORMAT, r, field);
}

/* Functions of firefox_in_tables.c. They return 0 or -errno + message unless they say otherwise. */
_must_use_ int ff_add_text(struct ff_texts *to, const struct str *text);
/* returns NULL if there is no text number @i */
const char *ff_text(const struct ff_texts *t, int64_t i);
void ff_texts_fini(struct ff_texts *t);
void ff_tables_fini(struct ff_tables *t);

/*
 * If the member r->key is one of the tables, reads the table and returns 1. Otherwise returns 0, or
 * -errno + message.
 */
_must_use_ int ff_take_table(struct ff_reader *r, struct json_in *in, struct ff_tables *to);
_must_use_ int ff_read_shared(struct ff_reader *r);

/*
 * Checks that the rows to which the tables refer exist. To be called once a thread's tables were
 * read.
 */
_must_use_ int ff_check_tables(struct ff_reader *r);

/* Skips blanks before the next value, so that an error message names the byte of the value. */
void ff_skip_blanks(struct json_in *in);

/* Reads a number of a list: an integer of 31 bits; null and -1 give FF_NONE. */
_must_use_ int ff_read_number(struct json_in *in, const char *field, int32_t *ret);

/*
 * Returns the cell in column @c and row @row: that of the thread's own table if the thread has the
 * column, else that of the shared table. FF_NONE: there is no such row.
 */
int32_t ff_cell(const struct ff_reader *r, enum ff_column c, int64_t row);
/* Returns what ff_cell() returns, or FF_NONE if @bit isn't set in column @flags of the row. */
int32_t ff_flagged(const struct ff_reader *r, enum ff_column c, int64_t row, enum ff_column flags,
		   int bit);
const char *ff_string(const struct ff_reader *r, int64_t i);

/*
 * Finds the stack of a sample: row @stack of the table, or FF_NONE for a stack without frames. If
 * the table has no such row, counts the sample in .n_no_stack and sets *ret to 0. (In
 * firefox_in_stacks.c.)
 */
_must_use_ int ff_stack(struct ff_reader *r, int32_t stack, uint32_t *ret);

#endif
