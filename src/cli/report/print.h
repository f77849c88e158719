/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the report's text and Markdown share: text.c, tree.c. */
#ifndef CLI_REPORT_PRINT_H
#define CLI_REPORT_PRINT_H

#include "cli/report/report.h"

struct report_printer {
	const struct report_facts *f;
	const struct report_style *style;
	FILE *out;
	struct str row, shares; /* shares: the lines behind the tables */
	unsigned above;		/* rows printed, where that counts */
	bool md;
};

/* Prints the row that was added up, without blanks at its end. */
void report_end_row(struct report_printer *p);

/* Where a name is too long: a Python function's end tells it, a C++ one's beginning. */
bool report_keeps_end(const struct report_printer *p, uint32_t location);

/* The heaviest paths. 0 or -errno + message. */
_must_use_ int report_print_tree(struct report_printer *p);

#endif
