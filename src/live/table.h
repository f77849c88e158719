/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a table of struct live is shown: its columns, the order of its rows, their texts. `krait top`
 * uses it for the screen, --plain and --json.
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
	const char *meaning; /* what the help says about the column */
	unsigned tables;     /* which tables have the column: bits made by TABLE_OF() */
	/* width in characters, including the space before the column; 0: the rest of the line */
	int width;
	int from_width; /* the column is shown if the terminal has at least this width */
	enum table_unit unit;
	/*
	 * Returns the number that the column shows for a row. A negative number: not known. .value
	 * is NULL if the column shows text.
	 */
	double (*value)(const struct table *v, const struct live_row *row);
	bool of_waits; /* the column is shown only while waiting time is shown */
};

/* all columns, from left to right; the last entry has no name */
extern const struct table_column table_columns[];

struct table {
	struct live *live;
	struct profile *p;
	bool clock;			 /* the shown value is time */
	const struct table_column *sort; /* the column that rows are sorted by */
	bool ascending;
	/*
	 * How the last table of each kind was sorted when a table of the other kind was chosen: [1]
	 * is for tables of code, [0] for all other tables. If .sort is NULL, no table of that kind
	 * was shown yet.
	 */
	struct table_order {
		const struct table_column *sort;
		bool ascending;
	} orders[2];
	/*
	 * only rows that contain this text are shown, no matter whether in upper or lower case; "":
	 * all rows
	 */
	char filter[128];
	VEC(uint32_t) rows; /* the shown rows in their order, as indexes into live->rows */
};

void table_init(struct table *v, struct live *l);
/* Shows value @value of the profile. With @wall, shows the sum of that value and waiting time. */
void table_show_value(struct table *v, unsigned value, bool wall);

void table_fini(struct table *v);

/* Tells whether the table has column @c at present, on a terminal of @width columns. */
bool table_has(const struct table *v, const struct table_column *c, int width);

/*
 * Fills .rows. Call it after each interval (live_tick()) and each change. 0 or -ENOMEM + message.
 */
_must_use_ int table_refresh(struct table *v);

/*
 * Shows table @table. Tables of code are one kind of table, all other tables are the second kind.
 * The table is sorted as the table of its kind that was shown last. If none was shown yet, it is
 * sorted by the column that has the same name as the present sort column.
 */
void table_switch(struct table *v, enum live_table table);

/*
 * Sorts by the column of the table that is named @name, such as "self" or "total". Returns false if
 * the table has no such column.
 */
bool table_sort(struct table *v, const char *name);
/* Sorts by the column to the right of the present sort column (@step 1) or to its left (-1). */
void table_sort_step(struct table *v, int step);

/* Appends the name of a row as it is shown: "qualname (file:line)", "MainThread (tid 12)". */
void table_name(struct table *v, const struct live_row *row, struct str *ret);
/*
 * If the row is a thread that waits now, appends what it waits for, how long it has waited and
 * where, as in " lock 12.30s in take (app.py:9)".
 */
void table_wait_now(struct table *v, const struct live_row *row, struct str *ret);
/* Appends the name of a location's function, line or module, as table @table shows it. */
void table_location_name(struct table *v, enum live_table table, uint32_t location,
			 struct str *ret);

/*
 * gil.c: appends lines that say which threads waited for which holders of the GIL in the last
 * interval. Each line ends with a newline. Appends nothing if threads waited too little.
 */
void table_gil_lines(struct table *v, struct str *ret);
/*
 * locks.c: appends lines that say which threads' waits for locks ended in the last interval. Each
 * line ends with a newline. Appends nothing if threads waited too little.
 */
void table_lock_lines(struct table *v, struct str *ret);

/*
 * Returns the choice that shows only the samples of @row, which is a thread, process or label
 * value.
 */
struct live_only table_only(const struct table *v, const struct live_row *row);

/* Formats a number as a column shows it: "12.3", "1:02:03", or "-" if it isn't known. */
void table_number(const struct table *v, enum table_unit unit, double value, struct str *ret);

/*
 * table_cpu() returns a count as a percentage of one CPU in a span of time. table_share() returns
 * it as a percentage of all that is shown. table_gil() returns in which percentage of the count's
 * CPU time the GIL was held, table_gc() which percentage was spent in the garbage collector. -1:
 * not known.
 */
double table_cpu(const struct table *v, const struct live_count *n, enum live_span span);
double table_share(const struct table *v, const struct live_count *n, enum live_span span);
double table_gil(const struct live_count *n);
double table_gc(const struct live_count *n);

/* Returns the word for a table, such as "functions". */
const char *table_word(enum live_table table);
/*
 * Returns the table that is @step places to the right of the current table; a negative @step: to
 * the left.
 */
enum live_table table_beside(const struct table *v, int step);

#endif
