/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a table of struct live is shown: its columns, its rows in order, their texts. The screen,
 * --plain and --json use it.
 */
#ifndef LIVE_TABLE_H
#define LIVE_TABLE_H

#include "base/text/str.h"
#include "live/live.h"

enum table_unit { UNIT_PERCENT, UNIT_VALUE, UNIT_TEXT };

#define TABLE_OF(table) (1u << (table))
#define TABLE_OF_CODE	(TABLE_OF(LIVE_FUNCTIONS) | TABLE_OF(LIVE_LINES) | TABLE_OF(LIVE_MODULES))
#define TABLE_OF_WHO	(TABLE_OF(LIVE_THREADS) | TABLE_OF(LIVE_PROCESSES) | TABLE_OF(LIVE_BY))

struct table;

struct table_column {
	const char *name;    /* the column's name for --sort and JSON: "self" */
	const char *heading; /* the column's heading: "OWN%" */
	const char *meaning; /* what the help says of the column */
	unsigned tables;     /* which tables have the column: bits TABLE_OF() */
	/* width in characters, including the space before the column; 0: the rest of the line */
	int width;
	int from_width; /* the column is shown on terminals of at least this width */
	enum table_unit unit;
	/*
	 * Returns the number that the column shows for a row; below 0: not known. NULL: the column
	 * is text.
	 */
	double (*value)(const struct table *v, const struct live_row *row);
	bool of_waits; /* the column is shown only while waiting time is shown */
};

/* all columns, in order; the last entry has no name */
extern const struct table_column table_columns[];

struct table {
	struct live *live;
	struct profile *p;
	bool clock;			 /* the shown value is time */
	const struct table_column *sort; /* the column that rows are sorted by */
	bool ascending;
	/*
	 * How tables were sorted when a table of the other kind was chosen last: tables of code
	 * ([1]), all other tables ([0]). .sort NULL: no table of that kind was shown yet.
	 */
	struct table_order {
		const struct table_column *sort;
		bool ascending;
	} orders[2];
	/* a row is shown if it has this text, in upper or lower case; "": all rows are shown */
	char filter[128];
	VEC(uint32_t) rows; /* the rows that are shown, in order, as indexes into live->rows */
};

void table_init(struct table *v, struct live *l);
/* Shows another of the profile's values. @wall: the value shown is that value plus waiting time. */
void table_show_value(struct table *v, unsigned value, bool wall);

void table_fini(struct table *v);

/* Tells whether the table has this column at present, on a terminal of @width columns. */
bool table_has(const struct table *v, const struct table_column *c, int width);

/* Fills .rows. To be called after each tick and each change. 0 or -ENOMEM + message. */
_must_use_ int table_refresh(struct table *v);

/*
 * Shows another table. Tables of code are one kind of table, all other tables the second kind. The
 * table is sorted as the last shown table of its kind was. If none of its kind was shown, it is
 * sorted by the column that has the same name as the present one.
 */
void table_switch(struct table *v, enum live_table table);

/*
 * Sorts by a column of the table: @name is a column's name, such as "self" or "total". Returns
 * false if the table has no such column.
 */
bool table_sort(struct table *v, const char *name);
/* Sorts by the next column to the right (@step 1) or to the left (-1). */
void table_sort_step(struct table *v, int step);

/* Appends the name of a row as it is shown: "qualname (file:line)", "MainThread (tid 12)". */
void table_name(struct table *v, const struct live_row *row, struct str *ret);
/*
 * If the row is a thread that waits now: appends for what, since when and where, as in
 * "  lock 12.30s in take (app.py:9)".
 */
void table_wait_now(struct table *v, const struct live_row *row, struct str *ret);
/* Appends the name of a location's function, line or module, as the tables show it. */
void table_location_name(struct table *v, enum live_table table, uint32_t location,
			 struct str *ret);

/*
 * Appends lines that say who kept whom from the GIL in the last interval, each with its newline;
 * none if threads waited too little. (In gil.c.)
 */
void table_gil_lines(struct table *v, struct str *ret);
/*
 * Appends lines that say whose waits for locks ended in the last interval, each with its newline;
 * none if threads waited too little. (In locks.c.)
 */
void table_lock_lines(struct table *v, struct str *ret);

/* Returns what selects the samples of a row of threads, processes or label values. */
struct live_only table_only(const struct table *v, const struct live_row *row);

/* Formats a number as a column shows it: "12.3", "1:02:03", "-". */
void table_number(const struct table *v, enum table_unit unit, double value, struct str *ret);

/*
 * table_cpu() returns a count as a percentage of one CPU in a span. table_share() returns it as a
 * percentage of all that is shown, table_gil() returns what percentage of it was with the GIL,
 * table_gc() what percentage in the garbage collector. -1: not known.
 */
double table_cpu(const struct table *v, const struct live_count *n, enum live_span span);
double table_share(const struct table *v, const struct live_count *n, enum live_span span);
double table_gil(const struct live_count *n);
double table_gc(const struct live_count *n);

/* Returns the word for a table, such as "functions". */
const char *table_word(enum live_table table);
/* Returns the table that is @step tables to the right of the current one; below 0: to the left. */
enum live_table table_beside(const struct table *v, int step);

#endif
