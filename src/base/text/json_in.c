/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads JSON text; see json_in.h. */
#include "base/text/json_in.h"

#include "base/error.h"

#define MAX_NESTED 4096

static int bad(const struct json_in *in, const char *what)
{
	return err_set(-EINVAL, "byte %zu: %s", (size_t)(in->at - in->start), what);
}

void json_in_init(struct json_in *in, const char *s, size_t n)
{
	*in = (struct json_in){.start = s, .at = s, .end = s + n};
}

/* Skips blanks. Returns the next character, which isn't consumed; NUL at the end. */
static char peek(struct json_in *in)
{
	while (in->at < in->end &&
	       (*in->at == ' ' || *in->at == '\t' || *in->at == '\r' || *in->at == '\n'))
		in->at++;
	return in->at < in->end ? *in->at : '\0';
}

int json_in_enter(struct json_in *in, char open)
{
	if (peek(in) != open)
		return bad(in,
			   open == '{' ? "an object is expected here" : "a list is expected here");
	in->at++;
	in->fresh = true;
	return 0;
}

/*
 * Returns 1 after consuming the comma before the next member or item, or 0 after consuming the
 * closing bracket @close.
 */
static int next(struct json_in *in, char close)
{
	bool fresh = in->fresh;
	char c = peek(in);

	in->fresh = false;
	if (c == close) {
		in->at++;
		return 0;
	}
	if (fresh)
		return 1;
	if (c != ',')
		return bad(in, "a comma or the end of the object or list is expected here");
	in->at++;
	return 1;
}

int json_in_item(struct json_in *in)
{
	return next(in, ']');
}

int json_in_key(struct json_in *in, struct str *key)
{
	int r = next(in, '}');

	if (r <= 0)
		return r;
	r = json_in_string(in, key);
	if (r)
		return r;
	if (peek(in) != ':')
		return bad(in, "a colon is expected here");
	in->at++;
	return 1;
}

/* Reads four hexadecimal digits; -1 if the next four characters aren't such digits. */
static int hex4(struct json_in *in)
{
	int v = 0;

	for (unsigned i = 0; i < 4; i++, in->at++) {
		int digit = in->at < in->end ? hex_digit(*in->at) : -1;

		if (digit < 0)
			return -1;
		v = v << 4 | digit;
	}
	return v;
}

static void add_utf8(struct str *out, uint32_t c)
{
	if (!c || (c >= 0xd800 && c <= 0xdfff))
		c = 0xfffd;
	if (c < 0x80) {
		str_add_c(out, (char)c);
		return;
	}
	if (c < 0x800) {
		str_add_c(out, (char)(0xc0 | c >> 6));
	} else {
		if (c >= 0x10000) {
			str_add_c(out, (char)(0xf0 | c >> 18));
			str_add_c(out, (char)(0x80 | (c >> 12 & 0x3f)));
		} else {
			str_add_c(out, (char)(0xe0 | c >> 12));
		}
		str_add_c(out, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	str_add_c(out, (char)(0x80 | (c & 0x3f)));
}

/*
 * Keeps an unknown escape as text if the reader is lenient, else returns an error whose message
 * contains @what.
 */
static int take_literally(struct json_in *in, struct str *out, const char *at, const char *what)
{
	if (!in->lenient)
		return bad(in, what);
	in->at = at;
	str_add_c(out, '\\');
	return 0;
}

/*
 * Reads what follows \u: the digits of one escape, or of two escapes that are the surrogates of one
 * character.
 */
static int take_unicode(struct json_in *in, struct str *out)
{
	const char *before = in->at - 1;
	int c = hex4(in), low;

	if (c >= 0xd800 && c <= 0xdbff && in->end - in->at >= 6 && in->at[0] == '\\' &&
	    in->at[1] == 'u') {
		in->at += 2;
		low = hex4(in);
		if (low >= 0xdc00 && low <= 0xdfff) {
			c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
		} else if (low >= 0) {
			add_utf8(out, (uint32_t)c);
			c = low;
		} else {
			c = -1;
		}
	}
	if (c < 0)
		return take_literally(in, out, before, "\\u needs four hexadecimal digits");
	add_utf8(out, (uint32_t)c);
	return 0;
}

/* Reads the rest of an escape sequence, after its backslash. */
static int take_escape(struct json_in *in, struct str *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = in->at < in->end ? *in->at : '\0';
	const char *known = c ? strchr(from, c) : NULL;

	if (c == 'u') {
		in->at++;
		return take_unicode(in, out);
	}
	if (!known)
		return take_literally(in, out, in->at, "there is no such escape");
	in->at++;
	str_add_c(out, to[known - from]);
	return 0;
}

int json_in_string(struct json_in *in, struct str *out)
{
	int r = 0;

	str_clear(out);
	if (peek(in) != '"')
		return bad(in, "a string is expected here");
	in->at++;
	while (!r) {
		const char *start = in->at;

		while (in->at < in->end && *in->at != '"' && *in->at != '\\' &&
		       (unsigned char)*in->at >= ' ')
			in->at++;
		str_add_n(out, start, (size_t)(in->at - start));
		if (in->at == in->end)
			return bad(in, "the string doesn't end");
		if (*in->at == '"')
			break;
		if (*in->at != '\\' && !in->lenient)
			return bad(in, "a control character must be escaped");
		if (*in->at++ == '\\')
			r = take_escape(in, out);
		else
			add_utf8(out, (unsigned char)in->at[-1]);
	}
	in->at++;
	return r ? r : out->failed ? err_set(-ENOMEM, "out of memory") : 0;
}

int json_in_integer(struct json_in *in, int64_t *ret)
{
	bool minus = peek(in) == '-';
	const char *start = in->at += minus;
	int64_t v = 0;

	for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++) {
		int digit = *in->at - '0';

		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, minus ? -digit : digit, &v))
			return bad(in, "the number doesn't fit in 64 bits");
	}
	if (in->at == start || (in->at < in->end && strchr(".eE", *in->at)))
		return bad(in, "a whole number is expected here");
	*ret = v;
	return 0;
}

/*
 * Appends the number's digits to *v, which takes at most 18 digits. *power is a power of ten. It
 * grows by 1 for each digit that is left out, and falls by 1 for each digit of the fraction.
 */
static void take_digits(struct json_in *in, bool fraction, uint64_t *v, int64_t *power)
{
	for (; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++) {
		bool fits = *v < 100000000000000000ull;

		if (fits)
			*v = *v * 10 + (uint64_t)(*in->at - '0');
		*power += !fits - fraction;
	}
}

/*
 * Reads the exponent after an e or E. It is capped at 100000, far above any exponent with which the
 * number fits in the result.
 */
static int take_exponent(struct json_in *in, int64_t *power)
{
	bool minus = in->at < in->end && *in->at == '-';
	const char *start;
	int v = 0;

	in->at += minus || (in->at < in->end && *in->at == '+');
	for (start = in->at; in->at < in->end && *in->at >= '0' && *in->at <= '9'; in->at++)
		v = MIN(v * 10 + (*in->at - '0'), 100000);
	*power += minus ? -v : v;
	return in->at == start ? bad(in, "a number is expected here") : 0;
}

int json_in_scaled(struct json_in *in, int times, int64_t *ret)
{
	bool minus = peek(in) == '-';
	const char *start = in->at += minus;
	uint64_t v = 0, rest = 0;
	int64_t power = times;
	int r = 0;

	take_digits(in, false, &v, &power);
	if (in->at == start)
		return bad(in, "a number is expected here");
	if (in->at < in->end && *in->at == '.') {
		in->at++;
		take_digits(in, true, &v, &power);
	}
	if (in->at < in->end && (*in->at | 0x20) == 'e') {
		in->at++;
		r = take_exponent(in, &power);
	}
	for (; !r && v && power > 0; power--)
		if (__builtin_mul_overflow(v, 10, &v) || v > INT64_MAX)
			r = bad(in, "the number doesn't fit in 64 bits");
	for (; v && power < 0; power++) {
		rest = v % 10;
		v /= 10;
	}
	v += rest >= 5;
	*ret = minus ? -(int64_t)v : (int64_t)v;
	return r;
}

/*
 * Skips a number, true, false, null, NaN or Infinity. Only checks that each character may occur in
 * one of these words.
 */
static int skip_word(struct json_in *in)
{
	const char *start = in->at;

	while (in->at < in->end &&
	       ((*in->at >= 'a' && *in->at <= 'z') || (*in->at >= '0' && *in->at <= '9') ||
		(*in->at && strchr("+-.ENI", *in->at))))
		in->at++;
	return in->at == start ? bad(in, "a value is expected here") : 0;
}

/* Of a skipped value only the brackets are checked; commas and colons may be anywhere. */
int json_in_skip(struct json_in *in)
{
	_cleanup_str_ struct str text = {};
	char open[MAX_NESTED];
	unsigned depth = 0;
	int r = 0;

	do {
		char c = peek(in);

		if (c == '{' || c == '[') {
			if (depth == MAX_NESTED)
				return bad(in, "nested too deeply");
			open[depth++] = c;
			in->at++;
		} else if (c == '}' || c == ']') {
			if (!depth || open[depth - 1] != (c == '}' ? '{' : '['))
				return bad(in, "brackets don't match");
			depth--;
			in->at++;
		} else if (depth && (c == ',' || c == ':')) {
			in->at++;
		} else {
			r = c == '"' ? json_in_string(in, &text) : skip_word(in);
		}
	} while (!r && depth);
	in->fresh = false;
	return r;
}

int json_in_end(struct json_in *in)
{
	return peek(in) || in->at < in->end ? bad(in, "nothing more is expected here") : 0;
}
