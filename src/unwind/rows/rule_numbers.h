/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives numbers to the distinct rules of a file's rows. A row holds the number of its rule, because
 * a few rules serve many rows.
 */
#ifndef UNWIND_ROWS_RULE_NUMBERS_H
#define UNWIND_ROWS_RULE_NUMBERS_H

#include "base/map.h"
#include "unwind/rows/rows.h"

struct rule_numbers {
	/*
	 * the rows whose rules are numbered (the memory belongs to the caller); new rules are added
	 * to their .rules
	 */
	struct unwind_rows *rows;
	struct map by_hash; /* hash of a rule -> the rule's number */
};

/*
 * Gives numbers to the rules that @rows has; if @rows has none, adds UNWIND_UNKNOWN. 0 or -ENOMEM.
 * Call rule_numbers_fini() also after a failure.
 */
_must_use_ int rule_numbers_init(struct rule_numbers *n, struct unwind_rows *rows);
void rule_numbers_fini(struct rule_numbers *n);

/*
 * Gets the number of @rule. Adds the rule if it is new. If there is no room for another rule, gets
 * the number of UNWIND_UNKNOWN. 0 or -ENOMEM.
 */
_must_use_ int rule_number(struct rule_numbers *n, const struct unwind_rule *rule, uint32_t *ret);

#endif
