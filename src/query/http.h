/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Those parts of HTTP/1.1 that Prometheus needs: GET /metrics, one request a connection. A browser
 * may be led to send requests as well, so a request by TCP must name this very host (against DNS
 * rebinding), and browsers don't give answers to other sites.
 */
#ifndef QUERY_HTTP_H
#define QUERY_HTTP_H

#include "base/text/str.h"

struct http_rules {
	/*
	 * port that the header Host must have, after 127.0.0.1, localhost or [::1]; 0: any Host is
	 * right
	 */
	unsigned port;
	/*
	 * the token that gets everything, in the header "Authorization: Bearer"; NULL: there is
	 * none
	 */
	const char *token;
};

struct http_verdict {
	unsigned status; /* 200, or another status if the request is refused */
	bool has_token;
	char reason[128]; /* why the request is refused, for the answer's body */
};

/* Tells whether the text may be the beginning of an HTTP request. */
bool http_is(const char *text, size_t n);

/* Judges a request of @n bytes, with its empty line. The request may contain anything. */
void http_judge(const char *text, size_t n, const struct http_rules *rules,
		struct http_verdict *ret);

/* Appends the head of an answer whose body has @bytes bytes. */
void http_head(unsigned status, uint64_t bytes, struct str *ret);

#endif
