/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends requests to the agent's server of queries, for users who can't read the store themselves.
 */
#ifndef QUERY_ASK_H
#define QUERY_ASK_H

#include "query/query.h"

#define ASK_MAX_BYTES ((uint64_t)256 << 20) /* how many bytes of an answer are read at most */
/* if the server sends nothing for this time, krait gives up */
#define ASK_SECONDS 60

/*
 * Sends @q to the server at socket @socket, and appends the answer to *ret. The answer may have any
 * bytes. Returns 0, or -errno + message if there is no server, if the answer is cut off, or if the
 * server refuses; then the message is the server's reason.
 */
_must_use_ int ask(const char *socket, const struct query *q, struct str *ret);

#endif
