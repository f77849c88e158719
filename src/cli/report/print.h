/* SPDX-License-Identifier: BSD-2-Clause */
/* What text.c and tree.c share to print the report as text and as Markdown. */
#ifndef CLI_REPORT_PRINT_H
#define CLI_REPORT_PRINT_H

#include "cli/report/report.h"

struct report_printer {
	const struct report_facts *f;
	const struct report_style *style;
	FILE *out;
	/* .row: the row that is being composed; .shares: lines that follow the tables */
	struct str row, shares;
	unsigned above; /* how many rows text.c has printed so far: they limit what fits */
	bool md;
};

/* Prints the composed row without trailing blanks, and empties it. */
void report_end_row(struct report_printer *p);

/*
 * Which part of a name that is too long is kept? A Python function's end is distinctive, a C++
 * function's beginning.
 */
bool report_keeps_end(const struct report_printer *p, uint32_t location);

/* Prints the tree of the heaviest paths. 0 or -errno + message. */
_must_use_ int report_print_tree(struct report_printer *p);

#endif
