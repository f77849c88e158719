/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is shown of a live table, whoever shows it: which columns, which rows in which order, their
 * texts. The screen, --plain and --json print the same view.
 */
#ifndef LIVE_TABLE_H
#define LIVE_TABLE_H

#include "base/str.h"
#include "live/live.h"

enum table_unit { UNIT_PERCENT, UNIT_VALUE, UNIT_TEXT };

#define TABLE_OF(table) (1u << (table))
#define TABLE_OF_CODE	(TABLE_OF(LIVE_FUNCTIONS) | TABLE_OF(LIVE_LINES) | TABLE_OF(LIVE_MODULES))
#define TABLE_OF_WHO	(TABLE_OF(LIVE_THREADS) | TABLE_OF(LIVE_PROCESSES) | TABLE_OF(LIVE_BY))

struct table;

struct table_column {
	const char *name;    /* for --sort and JSON: "self" */
	const char *heading; /* "SELF%" */
	const char *meaning; /* a line of the help */
	unsigned tables;     /* TABLE_OF() */
	int width;	     /* with the space before; 0: the rest of the line */
	int from_width;	     /* shown on terminals that are at least so wide */
	enum table_unit unit;
	/* NULL: text. Below 0: not known. */
	double (*value)(const struct table *v, const struct live_row *row);
};

extern const struct table_column table_columns[]; /* ends with one without a name */

struct table {
	struct live *live;
	struct profile *p;
	bool clock;			 /* values are CPU time */
	const struct table_column *sort; /* one of the live table's */
	bool ascending;
	/* The same of tables of code, and of the others, when one was shown last; NULL: none was. */
	struct table_order {
		const struct table_column *sort;
		bool ascending;
	} orders[2];
	char filter[128];   /* rows whose text has this, whatever its case; "" = all */
	VEC(uint32_t) rows; /* of live->rows: those that are shown, in order */
};

void table_init(struct table *v, struct live *l, bool clock);
void table_fini(struct table *v);

/* Is this a column of the table now, where there are @width columns of characters? */
bool table_has(const struct table *v, const struct table_column *c, int width);

/* After a tick and after each change: fills .rows. 0 or -ENOMEM + message. */
_must_use_ int table_refresh(struct table *v);

/*
 * Shows another table, sorted as one of its kind was last; if none was, by the column that means the
 * same there.
 */
void table_switch(struct table *v, enum live_table table);

/* Sorts by this column of the table, by name or "self", "total"; false if the table has none. */
bool table_sort(struct table *v, const char *name);
/* The next column to the right (@step 1) or left (-1). */
void table_sort_step(struct table *v, int step);

/* The name of a row as it is shown: "qualname (file:line)", "MainThread (tid 12)". */
void table_name(struct table *v, const struct live_row *row, struct str *ret);
/* The same of a location: function, line or module, as in the tables. */
void table_location_name(struct table *v, enum live_table table, uint32_t location,
			 struct str *ret);

/* What samples a row of threads, processes or a label's values stands for. */
struct live_only table_only(const struct table *v, const struct live_row *row);

/* A number as a column shows it: "12.3", "1:02:03", "-". */
void table_number(const struct table *v, enum table_unit unit, double value, struct str *ret);

/* Percent of one CPU that a count is in a span; of the samples shown; "-1": not known. */
double table_cpu(const struct table *v, const struct live_count *n, enum live_span span);
double table_share(const struct table *v, const struct live_count *n, enum live_span span);
double table_gil(const struct live_count *n);
double table_gc(const struct live_count *n);

const char *table_word(enum live_table table); /* "functions" */
/* The table @step to the right of this one, or to the left. */
enum live_table table_beside(const struct table *v, int step);

#endif
