/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as a request to the agent's server, as an HTTP request, and as the first line of
 * an answer. A valid request must stay the same when it is written and read again.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text/utf8.h"
#include "query/http.h"
#include "query/query.h"

#define TOKEN "0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void expect_same(const struct query *a, const struct query *b)
{
	check(a->kind == b->kind && a->outline == b->outline && a->labels.n == b->labels.n);
	if (a->kind == QUERY_PROFILE)
		check(a->since_ms == b->since_ms && a->until_ms == b->until_ms);
	for (size_t i = 0; i < a->labels.n; i++) {
		const struct profile_label_text *x = &a->labels.v[i], *y = &b->labels.v[i];

		check(x->key_len && x->key_len == y->key_len &&
		      !memcmp(x->key, y->key, x->key_len) && streq(x->value, y->value));
	}
}

static void try_query(const char *text, size_t n)
{
	_cleanup_(query_fini) struct query q = {}, again = {};
	_cleanup_str_ struct str written = {};

	if (query_parse(text, n, &q))
		return;
	check(q.kind != QUERY_PROFILE || (q.since_ms >= 0 && q.until_ms > q.since_ms));
	check(q.labels.n <= QUERY_MAX_LABELS);
	/* the request may get longer when it is written, because all lines are written */
	if (query_write(&q, &written))
		return;
	check(!query_parse(str_cstr(&written), written.n, &again));
	expect_same(&q, &again);
}

/*
 * A web page may make a browser send a request. Then the header Host names another host, so the
 * request must be refused, whatever else it says.
 */
static void try_http(const char *text, size_t n)
{
	const struct http_rules rules = {9873, TOKEN};
	struct http_verdict v;

	http_judge(text, n, &rules, &v);
	check(v.status == 200 || v.reason[0]);
	check(v.status != 200 || !v.is_mark);
	if (v.status != 200)
		return;
	check(http_is(text, n) && memmem(text, n, ":9873", 5));
	check(!v.has_token || memmem(text, n, TOKEN, strlen(TOKEN)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *text = (const char *)data;
	uint64_t bytes = 0;

	try_query(text, n);
	try_http(text, n);
	(void)!query_read_head(text, n, &bytes);
	return 0;
}
