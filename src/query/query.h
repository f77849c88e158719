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
 * The line `outline` says that functions by service and version are enough, because these are kept
 * longer. A user who may see only their own samples gets full samples all the same. Lines may come
 * in any order.
 *
 * A mark has its words in a line `words deploy 1.2.3`.
 *
 * Times are ms since the epoch. The answer is the line `krait 1 ok BYTES` and that number of bytes,
 * or the line `krait 1 refused REASON`. After that, the connection ends. Number 1 is the protocol's
 * version: a server refuses others. The same socket answers HTTP (http.h).
 *
 * To add a kind of request, add a row to QUERY_KINDS, members to struct query and to the table of
 * src/query/query.c, and a function to the table of src/agent/serve/answer.c. The server doesn't
 * write to the store. A kind that changes something has to hand it to the agent, as a mark does
 * (store/pins/marks.h).
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

/* The kinds of requests: X(NAME, word in the request, whether it needs since and until) */
#define QUERY_KINDS(X)                                                                             \
	X(PROFILE, "profile", true)  /* a window as pprof */                                       \
	X(STATUS, "status", false)   /* docs/schema/agent-status.schema.json */                    \
	X(METRICS, "metrics", false) /* Prometheus' text format */                                 \
	X(PINS, "pins", false)	     /* pins_write(): all pins, for who may see everything */      \
	X(MARK, "mark", false)	     /* pins_write(): the new pin, once the agent has made it */

enum query_kind {
#define X(name, word, window) QUERY_##name,
	QUERY_KINDS(X)
#undef X
		QUERY_N_KINDS
};

struct query {
	enum query_kind kind;
	int64_t since_ms, until_ms;
	/* labels that a sample must have; they point into .text */
	VEC(struct profile_label_text) labels;
	bool outline;	   /* true: an outline is enough (OUTLINE_SERVICES) */
	const char *words; /* words of a mark; in .text, or owned by the caller */
	char *text;	   /* owned */
};

void query_fini(struct query *q);

/*
 * Reads a request of @n bytes, with or without the empty line at its end. The bytes may be
 * anything. Returns 0, -EINVAL + message or -ENOMEM + message. Call query_fini() in any case.
 */
_must_use_ int query_parse(const char *text, size_t n, struct query *ret);

/*
 * Appends the request as text. Returns 0; -EINVAL + message if a label can't be sent; -ENOMEM +
 * message.
 */
_must_use_ int query_write(const struct query *q, struct str *ret);

/*
 * Reads an answer's first line, without its newline. Returns 0 and the body's length in *bytes;
 * -EREMOTEIO + message if the server refuses; -EPROTO + message if the line is no such line.
 */
_must_use_ int query_read_head(const char *line, size_t n, uint64_t *bytes);

#endif
