/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses HTTP requests, and decides which are answered; see http.h. */
#include "query/http.h"

#include <stdio.h>
#include <strings.h>

#include "base/util.h"
#include "query/query.h"

bool http_is(const char *text, size_t n)
{
	static const char *const methods[] = {"GET ",	  "HEAD ",  "POST ",  "PUT ",	 "DELETE ",
					      "OPTIONS ", "PATCH ", "TRACE ", "CONNECT "};

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (n >= strlen(methods[i]) && !memcmp(text, methods[i], strlen(methods[i])))
			return true;
	return false;
}

static void refuse(struct http_verdict *v, unsigned status, const char *reason)
{
	v->status = status;
	snprintf(v->reason, sizeof(v->reason), "%s\n", reason);
}

static bool is(const char *s, size_t n, const char *word)
{
	return n == strlen(word) && !memcmp(s, word, n);
}

/* Returns the length of the line at @s without its newline. *whole: its length with the newline. */
static size_t line_of(const char *s, size_t n, size_t *whole)
{
	const char *end = memchr(s, '\n', n);
	size_t length = end ? (size_t)(end - s) : n;

	*whole = end ? length + 1 : n;
	return length && s[length - 1] == '\r' ? length - 1 : length;
}

static bool begins(const char *s, size_t n, const char *word)
{
	return n >= strlen(word) && !memcmp(s, word, strlen(word));
}

static void judge_first(const char *s, size_t n, struct http_verdict *v)
{
	static const char get[] = "GET ", mark[] = "POST /mark ",
			  ends[][10] = {" HTTP/1.1", " HTTP/1.0"};
	size_t end = strlen(ends[0]);

	v->is_mark = begins(s, n, mark);
	if (!v->is_mark && !begins(s, n, get))
		refuse(v, 405, "only GET /metrics and POST /mark are answered");
	else if (n < strlen(get) + end ||
		 (memcmp(s + n - end, ends[0], end) && memcmp(s + n - end, ends[1], end)))
		refuse(v, 400, "this isn't HTTP/1.1");
	else if (!v->is_mark && !is(s + strlen(get), n - strlen(get) - end, "/metrics"))
		refuse(v, 404, "only the path /metrics is answered");
}

/* If the line is header @name, returns the header's value; else NULL. */
static const char *value_of(const char *s, size_t n, const char *name, size_t *ret_n)
{
	size_t length = strlen(name);

	if (n <= length || strncasecmp(s, name, length) || s[length] != ':')
		return NULL;
	s += length + 1;
	n -= length + 1;
	while (n && (*s == ' ' || *s == '\t')) {
		s++;
		n--;
	}
	while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
		n--;
	*ret_n = n;
	return s;
}

/*
 * Reads the length of a request's body. Returns 0 if it isn't a number, or if the server takes no
 * body of that length.
 */
static size_t read_length(const char *s, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9' || bytes > QUERY_MAX_BYTES)
			return 0;
		bytes = bytes * 10 + (size_t)(s[i] - '0');
	}
	return bytes > QUERY_MAX_BYTES ? 0 : bytes;
}

/*
 * Decides whether the server takes a mark (a request to keep the samples of the time around now). A
 * mark must come through the Unix socket: over TCP, any user or a browser could have sent it.
 */
static void judge_mark(const struct http_rules *rules, struct http_verdict *v)
{
	if (rules->port)
		refuse(v, 405, "marks can be sent to the Unix socket only");
	else if (!v->body_bytes)
		refuse(v, 400, "Content-Length must say how long the words of the mark are");
}

static bool is_this_host(const char *s, size_t n, unsigned port)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
	char text[32];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(text, sizeof(text), "%s:%u", names[i], port);
		if (is(s, n, text))
			return true;
	}
	return false;
}

/*
 * Tells whether the bytes equal the token. Takes the same time wherever the first difference is, so
 * that nobody can guess the token from times.
 */
static bool is_token(const char *s, size_t n, const char *token)
{
	static const char scheme[] = "Bearer ";
	unsigned char differs = 0;

	if (!token || n != strlen(scheme) + strlen(token) || memcmp(s, scheme, strlen(scheme)))
		return false;
	s += strlen(scheme);
	for (size_t i = 0; token[i]; i++)
		differs |= (unsigned char)(s[i] ^ token[i]);
	return !differs;
}

void http_judge(const char *text, size_t n, const struct http_rules *rules,
		struct http_verdict *ret)
{
	size_t whole, length = line_of(text, n, &whole), value_n = 0, all = n;
	unsigned hosts = 0, tokens = 0;
	bool this_host = true;

	*ret = (struct http_verdict){.status = 200};
	judge_first(text, length, ret);
	for (text += whole, n -= whole; n; text += whole, n -= whole) {
		const char *value;

		length = line_of(text, n, &whole);
		ret->body_at = all - n + whole;
		if (!length)
			break;
		value = value_of(text, length, "Content-Length", &value_n);
		if (value)
			ret->body_bytes = read_length(value, value_n);
		value = value_of(text, length, "Host", &value_n);
		if (value) {
			hosts++;
			this_host &= is_this_host(value, value_n, rules->port);
		}
		value = value_of(text, length, "Authorization", &value_n);
		if (value) {
			tokens++;
			ret->has_token = tokens == 1 && is_token(value, value_n, rules->token);
		}
	}
	if (ret->status == 200 && ret->is_mark)
		judge_mark(rules, ret);
	if (rules->port && (hosts != 1 || !this_host))
		refuse(ret, 403, "Host must be 127.0.0.1, localhost or [::1], and this port");
	else if (ret->status == 200 && tokens && !ret->has_token)
		refuse(ret, 401, "the bearer token is wrong");
}

static const char *words_of(unsigned status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	default:
		return "Service Unavailable";
	}
}

void http_head(unsigned status, uint64_t bytes, struct str *ret)
{
	str_addf(ret, "HTTP/1.1 %u %s\r\n", status, words_of(status));
	if (status == 401)
		str_add(ret, "WWW-Authenticate: Bearer\r\n");
	if (status == 405)
		str_add(ret, "Allow: GET, POST\r\n");
	str_addf(ret,
		 "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
		 "Content-Length: %llu\r\n"
		 "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
		 "X-Content-Type-Options: nosniff\r\n"
		 "Cross-Origin-Resource-Policy: same-origin\r\n"
		 "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
		 (unsigned long long)bytes);
}
