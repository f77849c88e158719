/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends requests to the agent's server of queries, for users who can't read the store themselves.
 */
#ifndef QUERY_ASK_H
#define QUERY_ASK_H

#include "query/query.h"

#define ASK_MAX_BYTES ((uint64_t)256 << 20) /* the most bytes of an answer that are read */
#define ASK_SECONDS   60		    /* for how many seconds the server may send nothing */

/*
 * Sends @q to the server at @socket, and appends the answer, which may be any bytes, to *ret.
 * Returns 0, or -errno + message: there is no server, the answer is cut off, or the server refuses,
 * in which case the message is its reason.
 */
_must_use_ int ask(const char *socket, const struct query *q, struct str *ret);

#endif
