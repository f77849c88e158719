/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The little of HTTP/1.1 that Prometheus needs: GET /metrics, one request a connection. A browser
 * may be led to send requests as well, so a TCP request must name this very host (DNS rebinding),
 * and no answer is for other sites.
 */
#ifndef QUERY_HTTP_H
#define QUERY_HTTP_H

#include "base/text/str.h"

struct http_rules {
	/* what Host may be, beside 127.0.0.1, localhost and [::1]: their port; 0: any Host */
	unsigned port;
	const char *token; /* "Authorization: Bearer" with it gets everything; NULL: nobody */
};

struct http_verdict {
	unsigned status; /* 200, or why it is refused */
	bool has_token;
	char reason[128]; /* of a refusal: the answer's body */
};

/* Is this the beginning of an HTTP request? */
bool http_is(const char *text, size_t n);

/* Judges a request of @n bytes, with its empty line. Anything may be in it. */
void http_judge(const char *text, size_t n, const struct http_rules *rules,
		struct http_verdict *ret);

/* Appends the head of an answer with a body of @bytes. */
void http_head(unsigned status, uint64_t bytes, struct str *ret);

#endif
