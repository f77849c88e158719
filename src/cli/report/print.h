/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the report share for text and Markdown: text.c, tree.c. */
#ifndef CLI_REPORT_PRINT_H
#define CLI_REPORT_PRINT_H

#include "cli/report/report.h"

struct report_printer {
	const struct report_facts *f;
	const struct report_style *style;
	FILE *out;
	struct str row, shares; /* shares: lines that follow the tables */
	unsigned above;		/* rows printed so far, if that matters */
	bool md;
};

/* Prints the row that was composed, without trailing blanks. */
void report_end_row(struct report_printer *p);

/*
 * Which part of a name that is too long is kept? A Python function's end is distinctive, a C++
 * function's beginning.
 */
bool report_keeps_end(const struct report_printer *p, uint32_t location);

/* Prints the heaviest paths. 0 or -errno + message. */
_must_use_ int report_print_tree(struct report_printer *p);

#endif
