/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The distinct rules of a file's rows, by number: a row holds a number, and few rules serve many
 * rows.
 */
#ifndef UNWIND_ROWS_RULE_NUMBERS_H
#define UNWIND_ROWS_RULE_NUMBERS_H

#include "base/map.h"
#include "unwind/rows/rows.h"

struct rule_numbers {
	/*
	 * the rows whose rules are numbered; borrowed; new rules are added to .rules of these rows
	 */
	struct unwind_rows *rows;
	struct map by_hash; /* hash of a rule -> the rule's number */
};

/*
 * Begins with the rules that @rows has; adds UNWIND_UNKNOWN if there are none. 0 or -ENOMEM;
 * rule_numbers_fini() in every case.
 */
_must_use_ int rule_numbers_init(struct rule_numbers *n, struct unwind_rows *rows);
void rule_numbers_fini(struct rule_numbers *n);

/*
 * Gets the number of @rule, which is added if it is new; the number of UNWIND_UNKNOWN if there is
 * no room for another rule. 0 or -ENOMEM.
 */
_must_use_ int rule_number(struct rule_numbers *n, const struct unwind_rule *rule, uint32_t *ret);

#endif
