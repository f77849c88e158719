/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats numbers and names for pictures; see markup.h. */
#include "picture/markup.h"

#include "profile/profile.h"

#include "base/text/visible.h"

/*
 * Returns the length of the UTF-8 sequence that byte @c begins; 0: @c begins no sequence. *min: the
 * smallest code point that needs this length.
 */
static unsigned sequence(unsigned char c, uint32_t *min)
{
	if (c >= 0xc2 && c <= 0xdf)
		return *min = 0x80, 2;
	if (c >= 0xe0 && c <= 0xef)
		return *min = 0x800, 3;
	if (c >= 0xf0 && c <= 0xf4)
		return *min = 0x10000, 4;
	return 0;
}

uint32_t markup_next(const char **s)
{
	const unsigned char *p = (const unsigned char *)*s;
	uint32_t min, c = p[0];
	unsigned n;

	if (!c)
		return 0;
	(*s)++;
	if (c < 0x80)
		return c;
	n = sequence(p[0], &min);
	if (!n)
		return 0xfffd;
	c &= 0x7f >> n;
	for (unsigned i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0xfffd;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < min || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0xfffd;
	*s += n - 1;
	return c;
}

/*
 * Tells whether @c takes two columns: it is in a block of East Asian wide characters or emoji
 * (roughly W and F in Unicode's EastAsianWidth.txt).
 */
static bool wide(uint32_t c)
{
	return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
	       (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
	       (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
	       (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1faff) ||
	       (c >= 0x20000 && c <= 0x3fffd);
}

size_t markup_columns(const char *s)
{
	size_t columns = 0;

	for (uint32_t c = markup_next(&s); c; c = markup_next(&s))
		columns += 1 + wide(c);
	return columns;
}

size_t markup_fit(const char *s, size_t columns)
{
	const char *start = s, *fits = s;
	size_t used = 0;

	for (uint32_t c = markup_next(&s); c; c = markup_next(&s)) {
		used += 1 + wide(c);
		if (used > columns)
			break;
		fits = s;
	}
	return fits - start;
}

static void add_utf8(struct str *b, uint32_t c)
{
	if (c < 0x80) {
		str_add_c(b, c);
		return;
	}
	if (c < 0x800) {
		str_add_c(b, 0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			str_add_c(b, 0xe0 | c >> 12);
		} else {
			str_add_c(b, 0xf0 | c >> 18);
			str_add_c(b, 0x80 | (c >> 12 & 0x3f));
		}
		str_add_c(b, 0x80 | (c >> 6 & 0x3f));
	}
	str_add_c(b, 0x80 | (c & 0x3f));
}

/* Returns @c if XML 1.0 allows it (section 2.2) and a name of one line may have it, else U+FFFD. */
static uint32_t xml_char(uint32_t c)
{
	return visible(c) && (c & 0xfffe) != 0xfffe ? c : 0xfffd;
}

static void add_markup(struct str *b, const char *s, size_t n, const char *special)
{
	const char *end = s + n;

	while (s < end) {
		uint32_t c = markup_next(&s);

		if (!c)
			return;
		c = xml_char(c);
		if (c == '&')
			str_add(b, "&amp;");
		else if (c == '<')
			str_add(b, "&lt;");
		else if (c == '>')
			str_add(b, "&gt;");
		else if (c == '"')
			str_add(b, "&quot;");
		else if (c < 0x80 && strchr(special, (int)c))
			str_addf(b, "&#%u;", c);
		else
			add_utf8(b, c);
	}
}

void markup_add_xml(struct str *b, const char *s, size_t n)
{
	add_markup(b, s, n, "");
}

/*
 * Writes characters that may be Markdown as character references (CommonMark 0.31, section 2.5),
 * which are never markup.
 */
void markup_add_md(struct str *b, const char *s, size_t n)
{
	add_markup(b, s, n, "\\`*_[]~|$");
}

void markup_add_md_code(struct str *b, const char *s, size_t n)
{
	if (!n)
		return;
	str_add(b, "<code>");
	markup_add_md(b, s, n);
	str_add(b, "</code>");
}

void markup_add_json(struct str *b, const char *s)
{
	str_add_c(b, '"');
	for (uint32_t c = markup_next(&s); c; c = markup_next(&s)) {
		c = xml_char(c);
		if (c == '"' || c == '\\')
			str_addf(b, "\\%c", (char)c);
		else if (c == '<' || c == '>' || c == '&')
			str_addf(b, "\\u%04x", c);
		else
			add_utf8(b, c);
	}
	str_add_c(b, '"');
}

void markup_add_count(struct str *b, int64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu",
			   n < 0 ? 0 - (unsigned long long)n : (unsigned long long)n);

	if (n < 0)
		str_add_c(b, '-');
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			str_add_c(b, ',');
		str_add_c(b, digits[i]);
	}
}

/*
 * Writes a decimal number. The last @digits digits of @value come after the point; zeros at the end
 * are left out.
 */
static void add_number(struct str *b, int64_t value, unsigned digits)
{
	uint64_t u = value < 0 ? 0 - (uint64_t)value : (uint64_t)value, unit = 1, part;

	for (unsigned i = 0; i < digits; i++)
		unit *= 10;
	if (value < 0 && u < unit)
		str_add_c(b, '-');
	markup_add_count(b, value / (int64_t)unit);
	for (part = u % unit; part && part % 10 == 0; part /= 10)
		digits--;
	if (part)
		str_addf(b, ".%0*llu", (int)digits, (unsigned long long)part);
}

/* Appends a number with three significant digits. */
static void add_scaled(struct str *b, double v, const char *unit)
{
	str_addf(b, "%.*f %s", v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2, v, unit);
}

void markup_add_value(struct str *b, int64_t value, const char *unit)
{
	if (value < 0 && streq(unit, "nanoseconds")) {
		str_add_c(b, '-');
		value = value == INT64_MIN ? INT64_MAX : -value;
	}
	if (streq(unit, "nanoseconds") && value >= 1000 * (int64_t)NSEC_PER_SEC) {
		markup_add_count(b, value / (int64_t)NSEC_PER_SEC);
		str_add(b, " s");
	} else if (!streq(unit, "nanoseconds")) {
		add_number(b, value, profile_fraction_digits(unit));
		if (!profile_is_count(unit))
			str_addf(b, " %s", unit);
	} else if (value >= 999500000) {
		add_scaled(b, value / 1e9, "s");
	} else if (value >= 999500) {
		add_scaled(b, value / 1e6, "ms");
	} else if (value >= 1000) {
		add_scaled(b, value / 1e3, "\xc2\xb5s");
	} else {
		str_addf(b, "%lld ns", (long long)value);
	}
}

void markup_add_percent(struct str *b, double part, double whole)
{
	double v = whole > 0 ? 100 * part / whole : 0;
	int digits = v >= 0.0995 || v == 0 ? 1 : v >= 0.00995 ? 3 : 4;

	str_addf(b, "%.*f %%", digits, v);
}
