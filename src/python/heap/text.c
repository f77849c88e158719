/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts code points and byte strings of a target to printable UTF-8; see text.h. */
#include "python/heap/text.h"

#define REPLACEMENT 0xfffdu
#define ELLIPSIS    "\xe2\x80\xa6"

/* The text that is being read: .kind bytes for each code point, or UTF-8 if .kind is 0. */
struct reader {
	const uint8_t *p, *end;
	unsigned kind;
};

uint64_t text_raw_bytes(const struct wire_text *w)
{
	return (uint64_t)w->len * (w->kind ? w->kind : 1);
}

static bool is_surrogate(uint32_t c)
{
	return c >= 0xd800 && c <= 0xdfff;
}

/*
 * Returns the length of the UTF-8 sequence that begins with @first; 0: @first begins no sequence.
 */
static size_t utf8_length(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/*
 * Decodes one sequence at @p (p < end). Returns its length; 0: it isn't valid UTF-8; -1: the
 * sequence is cut off at @end.
 */
static int utf8_decode(const uint8_t *p, const uint8_t *end, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = utf8_length(*p);
	uint32_t c = n < 2 ? *p : *p & (0x7fu >> n);

	for (size_t i = 1; i < n; i++) {
		if (p + i == end)
			return -1;
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (n && (c < least[n] || c > 0x10ffff || is_surrogate(c)))
		return 0;
	*ret = c;
	return (int)n;
}

/*
 * Are the bytes valid UTF-8? @cut: the text goes on after @end, which may be in the middle of a
 * sequence.
 */
static bool is_utf8(const uint8_t *p, const uint8_t *end, bool cut)
{
	uint32_t c;

	while (p < end) {
		int n = utf8_decode(p, end, &c);

		if (n < 0)
			return cut;
		if (n == 0)
			return false;
		p += n;
	}
	return true;
}

/*
 * Reads the next code point. False: the text has ended. An incomplete code point at the end is left
 * out.
 */
static bool next(struct reader *r, uint32_t *ret)
{
	size_t left = (size_t)(r->end - r->p);
	uint16_t c16;

	if (!left || left < r->kind)
		return false;
	if (r->kind == 0) {
		int n = utf8_decode(r->p, r->end, ret);

		r->p += n;
		return n > 0;
	}
	if (r->kind == 1) {
		*ret = *r->p;
	} else if (r->kind == 2) {
		memcpy(&c16, r->p, 2);
		*ret = c16;
	} else {
		memcpy(ret, r->p, 4);
	}
	r->p += r->kind;
	return true;
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029;
}

/* Writes one code point as UTF-8, without a NUL; returns the number of bytes. */
static size_t encode_plain(uint32_t c, char buf[static 8])
{
	if (c > 0x10ffff || is_surrogate(c))
		c = REPLACEMENT;
	if (c < 0x80) {
		buf[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		buf[0] = (char)(0xc0 | c >> 6);
		buf[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		buf[0] = (char)(0xe0 | c >> 12);
		buf[1] = (char)(0x80 | (c >> 6 & 0x3f));
		buf[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	buf[0] = (char)(0xf0 | c >> 18);
	buf[1] = (char)(0x80 | (c >> 12 & 0x3f));
	buf[2] = (char)(0x80 | (c >> 6 & 0x3f));
	buf[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Writes one code point as krait's outputs show it, without a NUL; returns the number of bytes. */
static size_t encode(uint32_t c, char buf[static 8])
{
	if (c == '\n' || c == '\r' || c == '\t') {
		buf[0] = '\\';
		buf[1] = c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
		return 2;
	}
	if (is_control(c))
		return (size_t)snprintf(buf, 8, c < 0x100 ? "\\x%02x" : "\\u%04x", c & 0xffff);
	return encode_plain(c, buf);
}

/*
 * Appends the rest of the text. @cut: the text is longer than what was copied. If @cut is set, or
 * if the text has more than TEXT_MAX_BYTES, the text is cut at `fits`: the last boundary between
 * code points after which the ellipsis has room.
 */
static void append(struct reader *r, bool cut, struct str *out)
{
	char text[TEXT_MAX_BYTES], piece[8];
	size_t n = 0, fits = 0;
	uint32_t c;

	while (next(r, &c)) {
		size_t k = encode(c, piece);

		if (n + k > sizeof(text)) {
			cut = true;
			break;
		}
		memcpy(text + n, piece, k);
		n += k;
		if (n + strlen(ELLIPSIS) <= sizeof(text))
			fits = n;
	}
	str_add_n(out, text, cut ? fits : n);
	if (cut)
		str_add(out, ELLIPSIS);
}

int text_to_utf8(const struct wire_text *w, const uint8_t *raw, size_t n, struct str *out)
{
	uint64_t whole = text_raw_bytes(w);
	bool cut = whole > n;
	struct reader r = {raw, raw + MIN(whole, n), w->kind};

	if (w->kind > 4 || w->kind == 3)
		return -EINVAL;
	if (w->kind == 0 && !is_utf8(r.p, r.end, cut))
		r.kind = 1;
	append(&r, cut, out);
	return 0;
}

int text_add_line(const struct wire_text *w, const uint8_t *raw, size_t n, struct str *out)
{
	uint64_t whole = text_raw_bytes(w);
	struct reader r = {raw, raw + MIN(whole, n), w->kind};
	char piece[8];
	uint32_t c = 0;

	if (w->kind > 4 || w->kind == 3 || whole > n)
		return -EINVAL;
	if (w->kind == 0 && !is_utf8(r.p, r.end, false))
		r.kind = 1;
	for (uint32_t after; next(&r, &after); c = after) {
		if (c == '\n' || !after)
			return -EINVAL;
		str_add_n(out, piece, encode_plain(after, piece));
	}
	if (c != '\n')
		str_add_c(out, '\n');
	return 0;
}
