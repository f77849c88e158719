/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON text; see json.h. */
#include "base/json.h"

#include "base/utf8.h"

typedef void (*put_fn)(void *to, const char *s, size_t n);

/*
 * Length of what at @s is well-formed but mustn't stand there as it is, and its code point; 0 if
 * it may.
 */
static size_t special(const char *s, unsigned *c)
{
	const unsigned char *u = (const unsigned char *)s;

	*c = u[0];
	if (u[0] < 0x20 || u[0] == '"' || u[0] == '\\' || u[0] == 0x7f)
		return 1;
	if (u[0] == 0xc2 && u[1] <= 0x9f) {
		*c = u[1];
		return 2;
	}
	if (u[0] == 0xe2 && u[1] == 0x80 && (u[2] == 0xa8 || u[2] == 0xa9)) {
		*c = 0x2000 | (u[2] & 0x3f);
		return 3;
	}
	return 0;
}

static void put_valid(put_fn put, void *to, const char *s, size_t n)
{
	const char *start = s, *end = s + n;
	char escape[8];
	unsigned c;

	while (s < end) {
		size_t len = special(s, &c);

		if (!len) {
			s++;
			continue;
		}
		put(to, start, s - start);
		if (c == '"' || c == '\\')
			put(to, escape, snprintf(escape, sizeof(escape), "\\%c", (char)c));
		else
			put(to, escape, snprintf(escape, sizeof(escape), "\\u%04x", c & 0xffff));
		start = s += len;
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
