/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks the agent's server of queries, for whoever can't read the store. */
#ifndef QUERY_ASK_H
#define QUERY_ASK_H

#include "query/query.h"

#define ASK_MAX_BYTES ((uint64_t)256 << 20) /* the most bytes of an answer that are taken */
#define ASK_SECONDS   60		    /* how long the server may say nothing */

/*
 * Sends @q to the server at @socket, and appends what it answers to *ret: any bytes. 0; -errno +
 * message: nobody answers, the answer is cut, or the server's reason to refuse.
 */
_must_use_ int ask(const char *socket, const struct query *q, struct str *ret);

#endif
