/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to the agent's server of queries, and the first line of its answers. A request is lines
 * of text and an empty line, QUERY_MAX_BYTES at most:
 *
 *	krait 1 profile
 *	since 1795979851967
 *	until 1795979951967
 *	label pid=4711
 *	outline
 *
 * The last line says that functions by service and version are enough, as they are kept for long;
 * who may see only one user's samples gets these as they are. Lines may come in any order.
 *
 * Times are ms since the epoch. The answer is the line `krait 1 ok BYTES` and that number of bytes,
 * or the line `krait 1 refused REASON`. After that, the connection ends. Number 1 is the protocol's
 * version: a server refuses others. The same socket answers HTTP (http.h).
 *
 * A new kind of request, such as a mark: a row in QUERY_KINDS, its members in struct query and in
 * the table of src/query/query.c, and its function in the table of src/agent/serve/answer.c. The
 * server can't write to the store; a kind that changes something has to hand it to the writer.
 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include "base/text/str.h"
#include "base/vec.h"
#include "profile/profile.h"

#define QUERY_SOCKET	 "/run/krait/agent.sock" /* where the server listens by default */
#define QUERY_MAX_BYTES	 8192
#define QUERY_MAX_LABELS 64
#define QUERY_HEAD_BYTES 1200 /* the most bytes of an answer's first line */

/* The kinds of requests: X(NAME, word, whether since and until are needed) */
#define QUERY_KINDS(X)                                                                             \
	X(PROFILE, "profile", true)  /* a window as pprof */                                       \
	X(STATUS, "status", false)   /* docs/schema/agent-status.schema.json */                    \
	X(METRICS, "metrics", false) /* Prometheus' text format */

enum query_kind {
#define X(name, word, window) QUERY_##name,
	QUERY_KINDS(X)
#undef X
		QUERY_N_KINDS
};

struct query {
	enum query_kind kind;
	int64_t since_ms, until_ms;
	VEC(struct profile_label_text) labels; /* a sample must have; refers to .text */
	bool outline;			       /* OUTLINE_SERVICES will do */
	char *text;			       /* owned */
};

void query_fini(struct query *q);

/*
 * Reads a request of @n bytes, with or without the empty line. The request may contain anything. 0;
 * -EINVAL + message; -ENOMEM + message. Call query_fini() in any case.
 */
_must_use_ int query_parse(const char *text, size_t n, struct query *ret);

/* Appends the request as text. 0; -EINVAL + message if a label can't be sent; -ENOMEM + message. */
_must_use_ int query_write(const struct query *q, struct str *ret);

/*
 * Reads an answer's first line, without its newline. 0 and *bytes; -EREMOTEIO + message: the server
 * refuses; -EPROTO + message: it isn't such a line.
 */
_must_use_ int query_read_head(const char *line, size_t n, uint64_t *bytes);

#endif
