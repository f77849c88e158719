/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of HTTP/1.1 that Prometheus needs: GET /metrics, with one request per connection. A
 * Unix socket also takes POST /mark, which asks to keep the samples of the time around now; its
 * body has words that say why.
 *
 * A page of any web site can make a browser send requests over TCP. The browser doesn't let the
 * page read an answer of another site. But a site's name can be made to lead to this machine (DNS
 * rebinding). Therefore the header Host must name this machine.
 */
#ifndef QUERY_HTTP_H
#define QUERY_HTTP_H

#include "base/text/str.h"

struct http_rules {
	/*
	 * the port that header Host must have after 127.0.0.1, localhost or [::1]; 0: Host isn't
	 * checked
	 */
	unsigned port;
	/*
	 * who sends this token in the header "Authorization: Bearer" may ask everything; NULL:
	 * there is no token
	 */
	const char *token;
};

struct http_verdict {
	unsigned status; /* 200, or the HTTP status with which the request is refused */
	bool has_token;
	bool is_mark; /* POST /mark; else GET /metrics */
	/*
	 * if the request is a mark (POST /mark): where the mark's words begin in the request, and
	 * how long they are
	 */
	size_t body_at, body_bytes;
	char reason[128]; /* why the request is refused; the answer's body says it */
};

/* Tells whether the text may be the beginning of an HTTP request. */
bool http_is(const char *text, size_t n);

/*
 * Judges a request of @n bytes, which may be any bytes. The request includes its empty line; what
 * follows that line isn't looked at.
 */
void http_judge(const char *text, size_t n, const struct http_rules *rules,
		struct http_verdict *ret);

/* Appends the status line and headers of an answer whose body has @bytes bytes. */
void http_head(unsigned status, uint64_t bytes, struct str *ret);

#endif
