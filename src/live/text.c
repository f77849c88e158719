/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures how wide characters are, and cuts names to a width; see text.h. */
#include "live/text.h"

#include <limits.h>

#include "base/text/visible.h"

/* a place such as " (app.py:12)" is shown in at least this many columns; fewer would say nothing */
#define LEAST_PLACE 8

struct range {
	uint32_t from, to;
};

/* Characters that take no column: combining marks, variation selectors, joiners (Unicode 15). */
static const struct range narrow[] = {{0x0300, 0x036f}, {0x0483, 0x0489},  {0x0591, 0x05bd},
				      {0x0610, 0x061a}, {0x064b, 0x065f},  {0x200c, 0x200d},
				      {0x20d0, 0x20ff}, {0x3099, 0x309a},  {0xfe00, 0xfe0f},
				      {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};

/* Characters that take two columns: East Asian Wide and Fullwidth, pictographs. */
static const struct range wide[] = {{0x1100, 0x115f},	{0x2e80, 0x303e},   {0x3041, 0x33ff},
				    {0x3400, 0x4dbf},	{0x4e00, 0x9fff},   {0xa000, 0xa4cf},
				    {0xac00, 0xd7a3},	{0xf900, 0xfaff},   {0xfe30, 0xfe6f},
				    {0xff00, 0xff60},	{0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
				    {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

static bool is_in(const struct range *r, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n; i++)
		if (c >= r[i].from && c <= r[i].to)
			return true;
	return false;
}

struct character {
	const char *s;
	int bytes, width;
	bool ok; /* true: the character can be shown; false: '?' is shown in place of it */
};

/*
 * Returns the character at @s, which isn't the end of the text. A byte that isn't UTF-8 counts as a
 * character.
 */
static struct character next(const char *s, bool utf8)
{
	struct character c = {.s = s, .width = 1};
	const char *end = s;
	uint32_t code = visible_next(&end, &c.ok);

	c.bytes = (int)(end - s);
	c.ok = c.ok && (utf8 || code < 0x80);
	if (!c.ok)
		return c;
	c.width = is_in(narrow, ARRAY_SIZE(narrow), code) ? 0
		  : is_in(wide, ARRAY_SIZE(wide), code)	  ? 2
							  : 1;
	return c;
}

int text_width(const char *s, bool utf8)
{
	int n = 0;

	while (*s) {
		struct character c = next(s, utf8);

		n += c.width;
		s += c.bytes;
	}
	return n;
}

int text_clip(struct str *out, const char *s, int width, bool utf8)
{
	int n = 0;

	while (*s) {
		struct character c = next(s, utf8);

		if (c.width > width - n)
			break;
		if (c.ok)
			str_add_n(out, c.s, c.bytes);
		else
			str_add_c(out, '?');
		n += c.width;
		s += c.bytes;
	}
	return n;
}

void text_line(struct str *out, struct str *line)
{
	out->failed |= line->failed;
	text_clip(out, str_cstr(line), INT_MAX, true);
	str_add_c(out, '\n');
}

void text_seconds(struct str *out, int64_t ns)
{
	str_addf(out, "%.2f s", (double)ns / NSEC_PER_SEC);
}

/*
 * Appends the character that shows a cut, and then as much of the end of @s as fits: @width columns
 * in all.
 */
static int add_end(struct str *out, const char *s, int width, bool utf8)
{
	int all = text_width(s, utf8), skipped = 0;

	str_add(out, utf8 ? "…" : "~");
	while (*s && skipped < all - (width - 1)) {
		struct character c = next(s, utf8);

		skipped += c.width;
		s += c.bytes;
	}
	return 1 + text_clip(out, s, width - 1, utf8);
}

int text_fit(struct str *out, const char *s, int width, bool utf8)
{
	int n;

	if (width <= 0)
		return 0;
	if (width < 12 || text_width(s, utf8) <= width)
		return text_clip(out, s, width, utf8);
	n = text_clip(out, s, width - width / 2 - 1, utf8);
	return n + add_end(out, s, width / 2 + 1, utf8);
}

/*
 * Returns where the place of a frame begins in @s. It is the part in parentheses at the end, with
 * the blank before it, such as " (app.py:12)". NULL: there is no such part.
 */
static const char *find_place(const char *s)
{
	size_t n = strlen(s);
	int depth = 0;

	for (size_t i = n; i-- > 1 && s[n - 1] == ')';) {
		depth += (s[i] == ')') - (s[i] == '(');
		if (!depth)
			return s[i - 1] == ' ' ? s + i - 1 : NULL;
	}
	return NULL;
}

int text_fit_frame(struct str *out, const char *s, int width, bool utf8)
{
	const char *place = text_width(s, utf8) > width ? find_place(s) : NULL;
	_cleanup_str_ struct str name = {};
	int n;

	if (!place)
		return text_fit(out, s, width, utf8);
	str_add_n(&name, s, (size_t)(place - s));
	if (width - text_width(str_cstr(&name), utf8) < LEAST_PLACE)
		return text_fit(out, str_cstr(&name), width, utf8);
	n = text_clip(out, str_cstr(&name), width, utf8);
	n += text_clip(out, " (", 2, utf8);
	return n + add_end(out, place + 2, width - n, utf8);
}
