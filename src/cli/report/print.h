/* SPDX-License-Identifier: BSD-2-Clause */
/* What text.c, head.c and tree.c share: they print the report as text and as Markdown. */
#ifndef CLI_REPORT_PRINT_H
#define CLI_REPORT_PRINT_H

#include "cli/report/report.h"

/* how many columns a name may take in Markdown, so that a summary stays readable */
#define MD_COLUMNS 200

struct report_printer {
	const struct report_facts *f;
	const struct report_style *style;
	FILE *out;
	/* .row: the row that is being composed; .shares: lines that are printed after the tables */
	struct str row, shares;
	/*
	 * how many rows were printed so far; the remaining rows of the screen are for further
	 * tables
	 */
	unsigned above;
	bool md;
};

/* Prints .row without blanks at its end, and empties it. */
void report_end_row(struct report_printer *p);

/*
 * Tells whether a name that is too long keeps its end. Python functions differ at the end of their
 * names, C++ functions at the beginning.
 */
bool report_keeps_end(const struct report_printer *p, uint32_t location);

/* head.c: print how much was recorded, and which values the report doesn't show. */
void report_print_head(struct report_printer *p);
void report_print_other_values(struct report_printer *p);

/*
 * head.c: print the first sentence; how long the program ran and waited; the notes on reading the
 * file.
 */
void report_print_lede(struct report_printer *p);
void report_print_use(struct report_printer *p);
void report_print_notes(struct report_printer *p);

/*
 * gil_matrix.c: with --by gil, prints a table of which threads waited for which holders of the GIL,
 * if that was recorded. 0 or -errno + message.
 */
_must_use_ int report_print_gil_matrix(struct report_printer *p);

/*
 * wakers.c: with --by waiter, prints a table of which threads ended which threads' waits for locks,
 * if that was recorded. 0 or -errno + message.
 */
_must_use_ int report_print_wakers(struct report_printer *p);

/* tree.c: prints the call paths that cost most, as a tree. 0 or -errno + message. */
_must_use_ int report_print_tree(struct report_printer *p);

#endif
