/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the readers of a Firefox profile share: its tables, read column by column, those of a thread or, from version
 * 56 to 60 on more and more of them, those that all threads share; and the stacks in them.
 */
#ifndef FORMAT_FIREFOX_FIREFOX_IN_TABLES_H
#define FORMAT_FIREFOX_FIREFOX_IN_TABLES_H

#include "base/json_in.h"
#include "base/vec.h"
#include "format/common/viewer_in.h"
#include "profile/profile.h"

#define FF_FORMAT "firefox"
#define FF_NONE	  (-1) /* null in a column */

enum ff_column {
	STACK_FRAME,
	STACK_PREFIX,
	STACK_OFFSET, /* from 66 on instead: how far before it the prefix is, 0 = none */
	FRAME_FUNC,
	FRAME_LINE,
	FRAME_COLUMN,
	FRAME_CATEGORY,
	FRAME_LIB,   /* from 70 on; before it is the function's resource's */
	FRAME_FLAGS, /* from 71 on: which columns hold something, where 0 could be it */
	FUNC_NAME,
	FUNC_FILE,
	FUNC_SOURCE, /* from 58 on instead */
	FUNC_LINE,
	FUNC_RESOURCE,
	FUNC_FLAGS, /* from 75 on */
	RESOURCE_LIB,
	RESOURCE_NAME,
	SOURCE_FILE,
	FF_COLUMNS,
};

/* Bits of the flags. */
enum {
	FRAME_HAS_LIB = 2,
	FRAME_HAS_CATEGORY = 4,
	FUNC_HAS_RESOURCE = 4,
	FUNC_HAS_SOURCE = 8,
};

typedef VEC(int32_t) ff_numbers;

struct ff_texts {
	struct str bytes; /* each with its NUL */
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

/* What a row of the table of stacks became. */
struct ff_node {
	uint32_t node, depth, stack; /* 0 = not yet */
	uint32_t thread;	     /* the last for which its frames were counted */
};

struct ff_reader {
	struct profile *p;
	struct viewer_counts counts;
	uint64_t n_no_stack,
		n_no_number; /* samples left out; their times and weights that are none */
	size_t budget;
	uint64_t steps;
	struct json_in meta, libs, shared_at, threads; /* .at NULL: nowhere */
	bool of_krait;
	struct ff_texts lib_paths, categories;
	struct ff_tables shared, own; /* own: of the thread that is being read */
	VEC(uint32_t) locations;      /* by frame; 0 = not yet */
	VEC(struct ff_node) nodes;    /* by stack */
	VEC(int32_t) path;	      /* stacks, leaf first */
	bool shared_checked[FF_COLUMNS];
	uint32_t thread; /* counted from 1 */
	struct str key, text;
	const struct json_in *at; /* where a message says that something is wrong */
};

static inline int ff_bad(const struct json_in *in, const char *field, const char *what)
{
	return viewer_in_bad(FF_FORMAT, in, field, what);
}

static inline int ff_in_field(int r, const char *field)
{
	return viewer_in_wrap(FF_FORMAT, r, field);
}

/* firefox_tables.c: all return 0 or -errno + message where nothing else is said. */
_must_use_ int ff_add_text(struct ff_texts *to, const struct str *text);
const char *ff_text(const struct ff_texts *t, int64_t i); /* NULL where there is none */
void ff_texts_fini(struct ff_texts *t);
void ff_tables_fini(struct ff_tables *t);

/* Is the member r->key one of the tables? Then it is read: 1; 0 or -errno + message. */
_must_use_ int ff_take_table(struct ff_reader *r, struct json_in *in, struct ff_tables *to);
_must_use_ int ff_read_shared(struct ff_reader *r);

/* Is everything that the tables refer to there? Once a thread's tables are read. */
_must_use_ int ff_check_tables(struct ff_reader *r);

/* To a value, so that its byte is told. */
void ff_skip_blanks(struct json_in *in);

/* A number of a list: whole, of 31 bits; null and -1 are FF_NONE. */
_must_use_ int ff_read_number(struct json_in *in, const char *field, int32_t *ret);

/* The number in a row of a column of the thread's tables or the shared ones; FF_NONE where there is none. */
int32_t ff_cell(const struct ff_reader *r, enum ff_column c, int64_t row);
/* The same of one that flags may say nothing is in. */
int32_t ff_flagged(const struct ff_reader *r, enum ff_column c, int64_t row, enum ff_column flags,
		   int bit);
const char *ff_string(const struct ff_reader *r, int64_t i);

/* firefox_stacks.c: the stack of a sample; FF_NONE has no frames. 0: there is no such one, which is counted. */
_must_use_ int ff_stack(struct ff_reader *r, int32_t stack, uint32_t *ret);

#endif
