/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes JSON text; see json.h. */
#include "base/text/json.h"

#include "base/text/utf8.h"
#include "base/text/visible.h"

typedef void (*put_fn)(void *to, const char *s, size_t n);

/*
 * Reads the next character. True: it may be written unescaped. Characters that a terminal would
 * obey must be escaped.
 */
static bool is_plain(const char **s, unsigned *c)
{
	bool shown;

	*c = visible_next(s, &shown);
	return shown && *c != '"' && *c != '\\';
}

static void put_escape(put_fn put, void *to, unsigned c)
{
	char escape[16];
	int n;

	if (c == '"' || c == '\\')
		n = snprintf(escape, sizeof(escape), "\\%c", (char)c);
	else if (c < 0x10000)
		n = snprintf(escape, sizeof(escape), "\\u%04x", c);
	else
		n = snprintf(escape, sizeof(escape), "\\u%04x\\u%04x",
			     0xd800 | ((c - 0x10000) >> 10), 0xdc00 | (c & 0x3ff));
	put(to, escape, n);
}

static void put_valid(put_fn put, void *to, const char *s, size_t n)
{
	const char *start = s, *end = s + n;
	unsigned c;

	while (s < end) {
		const char *at = s;

		if (is_plain(&s, &c))
			continue;
		put(to, start, at - start);
		put_escape(put, to, c);
		start = s;
	}
	put(to, start, end - start);
}

static void put_string(put_fn put, void *to, const char *s)
{
	size_t n = strlen(s), good;

	put(to, "\"", 1);
	for (;;) {
		good = utf8_valid(s, n);
		put_valid(put, to, s, good);
		s += good;
		n -= good;
		if (!n)
			break;
		put(to, "\xef\xbf\xbd", 3);
		good = utf8_invalid(s, n);
		s += good;
		n -= good;
	}
	put(to, "\"", 1);
}

static void to_str(void *to, const char *s, size_t n)
{
	str_add_n(to, s, n);
}

static void to_file(void *to, const char *s, size_t n)
{
	if (n)
		fwrite(s, 1, n, to);
}

void json_string(struct str *out, const char *s)
{
	put_string(to_str, out, s);
}

void json_put_string(FILE *out, const char *s)
{
	put_string(to_file, out, s);
}

void json_put_decimal(FILE *out, int64_t v, unsigned places)
{
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v, unit = 1, part;

	for (unsigned i = 0; i < places; i++)
		unit *= 10;
	fprintf(out, "%s%llu", v < 0 ? "-" : "", (unsigned long long)(u / unit));
	part = u % unit;
	if (!part)
		return;
	for (; part % 10 == 0; part /= 10)
		places--;
	fprintf(out, ".%0*llu", (int)places, (unsigned long long)part);
}
