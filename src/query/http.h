/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of HTTP/1.1 that Prometheus needs: GET /metrics, with one request per connection. At a
 * Unix socket there is also POST /mark, whose body is the words of a mark.
 *
 * A page of any web site can make a browser send requests over TCP. The page can't read the
 * answer, because it is of another site, unless the site's name was made to lead to this machine
 * (DNS rebinding). Against that, the header Host must name this machine.
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
	 * the token in the header "Authorization: Bearer" that permits asking everything; NULL:
	 * none does
	 */
	const char *token;
};

struct http_verdict {
	unsigned status; /* 200, or another status if the request is refused */
	bool has_token;
	bool is_mark;		    /* POST /mark; else GET /metrics */
	size_t body_at, body_bytes; /* of a mark: where its words begin and how long they are */
	char reason[128];	    /* why the request is refused, for the answer's body */
};

/* Tells whether the text may be the beginning of an HTTP request. */
bool http_is(const char *text, size_t n);

/*
 * Judges a request of @n bytes, with its empty line. The request may contain anything. What follows
 * the empty line isn't looked at.
 */
void http_judge(const char *text, size_t n, const struct http_rules *rules,
		struct http_verdict *ret);

/* Appends the head of an answer whose body has @bytes bytes. */
void http_head(unsigned status, uint64_t bytes, struct str *ret);

#endif
