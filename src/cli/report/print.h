/* SPDX-License-Identifier: BSD-2-Clause */
/* What text.c, head.c and tree.c share to print the report as text and as Markdown. */
#ifndef CLI_REPORT_PRINT_H
#define CLI_REPORT_PRINT_H

#include "cli/report/report.h"

/* the most columns of a name in Markdown, so that a summary stays readable */
#define MD_COLUMNS 200

struct report_printer {
	const struct report_facts *f;
	const struct report_style *style;
	FILE *out;
	/* .row: the row that is being composed; .shares: lines that follow the tables */
	struct str row, shares;
	/*
	 * how many rows were printed so far; the rest of the screen is for the tables that follow
	 */
	unsigned above;
	bool md;
};

/* Prints the composed row without trailing blanks, and empties it. */
void report_end_row(struct report_printer *p);

/*
 * Is the end of a name kept if the name is too long? Python functions are told apart by the end of
 * their names, C++ functions by the beginning.
 */
bool report_keeps_end(const struct report_printer *p, uint32_t location);

/* head.c: prints how much was recorded, and which values the report doesn't show. */
void report_print_head(struct report_printer *p);
void report_print_other_values(struct report_printer *p);

/*
 * head.c: prints the first sentence, how long the program ran and waited, and the reader's notes.
 */
void report_print_lede(struct report_printer *p);
void report_print_use(struct report_printer *p);
void report_print_notes(struct report_printer *p);

/*
 * With --by gil: prints a table of who waited for whom, if the recording knows. 0 or -errno +
 * message.
 */
_must_use_ int report_print_gil_matrix(struct report_printer *p);

/*
 * With --by waiter: prints a table of who ended whose waits for locks, if the recording knows. 0 or
 * -errno + message.
 */
_must_use_ int report_print_wakers(struct report_printer *p);

/* Prints the tree of the heaviest paths. 0 or -errno + message. */
_must_use_ int report_print_tree(struct report_printer *p);

#endif
