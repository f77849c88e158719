/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol of the agent's server of queries: requests, and the first line of answers. A request
 * is some lines of text and an empty line, at most QUERY_MAX_BYTES, such as:
 *
 *	krait 1 profile
 *	since 1795979851967
 *	until 1795979951967
 *	label pid=4711
 *	outline
 *
 * The line `outline` says that the client needs only the functions of each service and version,
 * which the store keeps longer than full samples. A user who may see only their own samples gets
 * full samples all the same. The lines after the first may come in any order.
 *
 * A mark (a request to keep the samples of the time around now) has its words in a line `words
 * deploy 1.2.3`.
 *
 * Times are ms since the epoch. The answer is the line `krait 1 ok BYTES` and that number of bytes,
 * or the line `krait 1 refused REASON`. After that, the connection ends. Number 1 is the protocol's
 * version: a server refuses others. The same socket answers HTTP (http.h).
 *
 * To add a kind of request, add a row to QUERY_KINDS, members to struct query and to the table of
 * src/query/query.c, and a function to the table of src/agent/serve/answer.c. The server doesn't
 * write to the store: if a kind of request changes something, the server must hand the change to
 * the agent, as it does with a mark (store/pins/marks.h).
 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include "base/text/str.h"
#include "base/vec.h"
#include "profile/profile.h"

/* path of the socket at which the server listens by default */
#define QUERY_SOCKET	 "/run/krait/agent.sock"
#define QUERY_MAX_BYTES	 8192
#define QUERY_MAX_LABELS 64
#define QUERY_HEAD_BYTES 1200 /* how many bytes the first line of an answer has at most */

/* The kinds of requests: X(NAME, word in the request, whether it needs since and until) */
#define QUERY_KINDS(X)                                                                             \
	X(PROFILE, "profile", true)  /* a window as pprof */                                       \
	X(STATUS, "status", false)   /* JSON, as docs/schema/agent-status.schema.json says */      \
	X(METRICS, "metrics", false) /* Prometheus' text format */                                 \
	X(PINS, "pins", false)	     /* all pins (kept windows of time), by pins_write() */        \
	X(MARK, "mark", false)	     /* the pin (kept window of time) made for the mark */

enum query_kind {
#define X(name, word, window) QUERY_##name,
	QUERY_KINDS(X)
#undef X
		QUERY_N_KINDS
};

struct query {
	enum query_kind kind;
	int64_t since_ms, until_ms;
	/* the labels that a sample must have to be in the answer; they point into .text */
	VEC(struct profile_label_text) labels;
	/* true: the client needs only the functions of each service (OUTLINE_SERVICES) */
	bool outline;
	/*
	 * words of a mark (they say why samples are to be kept); they lie in .text, or the caller
	 * owns them
	 */
	const char *words;
	char *text; /* owned */
};

void query_fini(struct query *q);

/*
 * Parses a request of @n bytes, which may be any bytes. The empty line at its end may be missing.
 * Returns 0, -EINVAL + message or -ENOMEM + message. Call query_fini() in any case.
 */
_must_use_ int query_parse(const char *text, size_t n, struct query *ret);

/*
 * Appends the request as text. Returns 0; -EINVAL + message if a label can't be sent; -ENOMEM +
 * message.
 */
_must_use_ int query_write(const struct query *q, struct str *ret);

/*
 * Parses an answer's first line, which has no newline. Returns 0, and the body's length in *bytes;
 * -EREMOTEIO + message if the server refuses; -EPROTO + message if the line isn't one of this
 * protocol.
 */
_must_use_ int query_read_head(const char *line, size_t n, uint64_t *bytes);

#endif
