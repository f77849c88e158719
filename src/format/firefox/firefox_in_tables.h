/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the readers of a Firefox profile share. Its tables are read column by column. A table
 * belongs to a thread or is shared by all threads; between versions 56 and 60, more and more tables
 * became shared. Also the stacks in these tables.
 */
#ifndef FORMAT_FIREFOX_FIREFOX_IN_TABLES_H
#define FORMAT_FIREFOX_FIREFOX_IN_TABLES_H

#include "base/json_in.h"
#include "base/vec.h"
#include "format/common/viewer_in.h"
#include "profile/profile.h"

#define FF_FORMAT "firefox"
#define FF_NONE	  (-1) /* stands for null in a column */

enum ff_column {
	STACK_FRAME,
	STACK_PREFIX,
	/*
	 * from version 66 on, in place of STACK_PREFIX: how far before this row the prefix is; 0:
	 * none
	 */
	STACK_OFFSET,
	FRAME_FUNC,
	FRAME_LINE,
	FRAME_COLUMN,
	FRAME_CATEGORY,
	FRAME_LIB,   /* from version 70 on; before, the library of the function's resource */
	FRAME_FLAGS, /* from version 71 on: which columns are set, since 0 may be a value */
	FUNC_NAME,
	FUNC_FILE,
	FUNC_SOURCE, /* from version 58 on, in place of FUNC_FILE */
	FUNC_LINE,
	FUNC_RESOURCE,
	FUNC_FLAGS, /* from version 75 on */
	RESOURCE_LIB,
	RESOURCE_NAME,
	SOURCE_FILE,
	FF_COLUMNS,
};

/* Bits of FRAME_FLAGS and FUNC_FLAGS. */
enum {
	FRAME_HAS_LIB = 2,
	FRAME_HAS_CATEGORY = 4,
	FUNC_HAS_RESOURCE = 4,
	FUNC_HAS_SOURCE = 8,
};

typedef VEC(int32_t) ff_numbers;

struct ff_texts {
	struct str bytes; /* each text ends with a NUL */
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

/* What a row of the table of stacks became in the profile. */
struct ff_node {
	uint32_t node, depth, stack; /* ids in the profile; 0: not created yet */
	/* the last thread for which the frames of this row were counted */
	uint32_t thread;
};

struct ff_reader {
	struct profile *p;
	struct viewer_counts counts;
	/* Samples that were left out; times and weights of samples that aren't numbers. */
	uint64_t n_no_stack, n_no_number;
	size_t budget;
	uint64_t steps;
	/* where these members are in the file; their .at is NULL if the file doesn't have them */
	struct json_in meta, libs, shared_at, threads;
	bool of_krait;
	struct ff_texts lib_paths, categories;
	/* tables of all threads; tables of the thread that is being read */
	struct ff_tables shared, own;
	/* by row of the table of frames: location id; 0: not created yet */
	VEC(uint32_t) locations;
	VEC(struct ff_node) nodes; /* one for each row of the table of stacks */
	VEC(int32_t) path;	   /* rows of the table of stacks, leaf first */
	bool shared_checked[FF_COLUMNS];
	uint32_t thread; /* number of the current thread, from 1 */
	struct str key, text;
	const struct json_in *at; /* the place that error messages name */
};

static inline int ff_bad(const struct json_in *in, const char *field, const char *what)
{
	return viewer_in_bad(FF_FORMAT, in, field, what);
}

static inline int ff_in_field(int r, const char *field)
{
	return viewer_in_wrap(FF_FORMAT, r, field);
}

/* firefox_in_tables.c. Functions return 0 or -errno + message unless they say otherwise. */
_must_use_ int ff_add_text(struct ff_texts *to, const struct str *text);
const char *ff_text(const struct ff_texts *t, int64_t i); /* NULL if there is no text @i */
void ff_texts_fini(struct ff_texts *t);
void ff_tables_fini(struct ff_tables *t);

/*
 * If the member r->key is one of the tables, reads it and returns 1. Else 0, or -errno + message.
 */
_must_use_ int ff_take_table(struct ff_reader *r, struct json_in *in, struct ff_tables *to);
_must_use_ int ff_read_shared(struct ff_reader *r);

/*
 * Checks that all rows exist that the tables refer to; to be called when a thread's tables were
 * read.
 */
_must_use_ int ff_check_tables(struct ff_reader *r);

/* Skips to the next value, so that a message names its byte. */
void ff_skip_blanks(struct json_in *in);

/* Reads a number of a list: an integer of 31 bits; null and -1 give FF_NONE. */
_must_use_ int ff_read_number(struct json_in *in, const char *field, int32_t *ret);

/*
 * The cell in column @c and row @row: of the thread's own table if that has the column, else of the
 * shared table; FF_NONE if there is no such row.
 */
int32_t ff_cell(const struct ff_reader *r, enum ff_column c, int64_t row);
/* As ff_cell(); but FF_NONE unless @bit is set in the row's column @flags. */
int32_t ff_flagged(const struct ff_reader *r, enum ff_column c, int64_t row, enum ff_column flags,
		   int bit);
const char *ff_string(const struct ff_reader *r, int64_t i);

/*
 * firefox_in_stacks.c: the stack of a sample. FF_NONE: a stack without frames. *ret is 0 if there
 * is no such row, which is counted.
 */
_must_use_ int ff_stack(struct ff_reader *r, int32_t stack, uint32_t *ret);

#endif
