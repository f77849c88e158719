/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells characters that a terminal shows from those that it obeys; see visible.h. */
#include "base/text/visible.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text/utf8.h"

#define MAX_CHARACTER 4 /* the most bytes of a character in UTF-8 */

/*
 * Characters that a terminal doesn't draw: control characters and format characters (Cf) of Unicode
 * 15.
 */
static const struct {
	uint32_t from, to;
} hidden[] = {{0x0000, 0x001f},	  {0x007f, 0x009f},  {0x00ad, 0x00ad}, {0x061c, 0x061c},
	      {0x180e, 0x180e},	  {0x200b, 0x200b},  {0x200e, 0x200f}, {0x2028, 0x202e},
	      {0x2060, 0x206f},	  {0xfeff, 0xfeff},  {0xfff9, 0xfffb}, {0x1bca0, 0x1bca3},
	      {0x1d173, 0x1d17a}, {0xe0000, 0xe007f}};

bool visible(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		if (c >= hidden[i].from && c <= hidden[i].to)
			return false;
	return true;
}

uint32_t visible_next(const char **s, bool *shown)
{
	const unsigned char *u = (const unsigned char *)*s;
	uint32_t c = u[0];
	size_t n;

	/* printable ASCII is checked first, because most characters are printable ASCII */
	if (c >= ' ' && c < 0x7f) {
		*shown = true;
		(*s)++;
		return c;
	}
	n = utf8_valid_one(*s, strnlen(*s, MAX_CHARACTER));
	if (n > 1)
		c &= 0xff >> (n + 1);
	for (size_t i = 1; i < n; i++)
		c = c << 6 | (u[i] & 0x3f);
	*shown = n && visible(c);
	*s += n ? n : u[0] != 0;
	return c;
}

void visible_in_place(char *s)
{
	const char *from = s;
	bool shown;

	for (const char *start = s; visible_next(&from, &shown); start = from) {
		size_t n = shown ? (size_t)(from - start) : 1;

		if (shown)
			memmove(s, start, n);
		else
			*s = '?';
		s += n;
	}
	*s = '\0';
}

/* A stream that makes text visible piece by piece; a piece may end within a character. */
struct filter {
	FILE *to;
	/* the beginning of a character whose rest comes with the next piece */
	char kept[MAX_CHARACTER + 1];
	size_t n;
};

static bool is_layout(char c)
{
	return c == '\n' || c == '\t';
}

/*
 * Tells whether the @n bytes at @s may be the beginning of a character that has more than @n bytes.
 */
static bool is_begun(const char *s, size_t n)
{
	unsigned char c = (unsigned char)*s;

	return n && n < MAX_CHARACTER && c >= 0xc2 && !utf8_valid_one(s, n) &&
	       utf8_invalid(s, n) == n &&
	       n < (c >= 0xf0	? 4u
		    : c >= 0xe0 ? 3u
				: 2u);
}

static void pass(struct filter *f, bool end)
{
	const char *s = f->kept;
	bool shown = true;

	if (!f->n || (!end && is_begun(s, f->n)))
		return;
	f->kept[f->n] = '\0';
	if (!*s) {
		s++;
		shown = false;
	} else {
		visible_next(&s, &shown);
	}
	if (shown || is_layout(f->kept[0]))
		fwrite(f->kept, 1, (size_t)(s - f->kept), f->to);
	else
		fputc('?', f->to);
	f->n -= (size_t)(s - f->kept);
	memmove(f->kept, s, f->n);
	pass(f, end);
}

static ssize_t filter_write(void *filter, const char *s, size_t n)
{
	struct filter *f = filter;

	for (size_t i = 0; i < n; i++) {
		f->kept[f->n++] = s[i];
		pass(f, false);
	}
	/* fflush() of this stream flushes only the stream itself, so @f->to is flushed here */
	return fflush(f->to) || ferror(f->to) ? 0 : (ssize_t)n;
}

static int filter_close(void *filter)
{
	struct filter *f = filter;
	int r;

	pass(f, true);
	r = fflush(f->to);
	free(f);
	return r;
}

FILE *visible_stream(FILE *to)
{
	struct filter *f = calloc(1, sizeof(*f));
	cookie_io_functions_t io = {.write = filter_write, .close = filter_close};
	FILE *stream;

	if (!f)
		return NULL;
	f->to = to;
	stream = fopencookie(f, "w", io);
	if (!stream)
		free(f);
	return stream;
}
