/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes and decodes base64; see base64.h. */
#include "format/common/base64.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include "base/cleanup.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

enum { LINE_GROUPS = 30 };

struct encoder {
	FILE *out;
	/* the 1 or 2 bytes that wait for more, because base64 encodes groups of three bytes */
	uint8_t rest[3];
	unsigned n_rest, groups;
};

static void put_group(struct encoder *e, const uint8_t *b, unsigned n)
{
	uint32_t bits = (uint32_t)b[0] << 16 | (n > 1 ? b[1] << 8 : 0) | (n > 2 ? b[2] : 0);
	char c[4] = {alphabet[bits >> 18], alphabet[bits >> 12 & 63],
		     n > 1 ? alphabet[bits >> 6 & 63] : '=', n > 2 ? alphabet[bits & 63] : '='};

	fwrite(c, 1, sizeof(c), e->out);
	if (++e->groups % LINE_GROUPS == 0)
		fputc('\n', e->out);
}

static ssize_t encoder_write(void *cookie, const char *data, size_t n)
{
	struct encoder *e = cookie;

	for (size_t i = 0; i < n; i++) {
		e->rest[e->n_rest++] = data[i];
		if (e->n_rest < 3)
			continue;
		put_group(e, e->rest, 3);
		e->n_rest = 0;
	}
	/* by fopencookie(3), a write function returns 0 on error, not -1 */
	return ferror(e->out) ? 0 : (ssize_t)n;
}

static int encoder_close(void *cookie)
{
	struct encoder *e = cookie;
	int r;

	if (e->n_rest)
		put_group(e, e->rest, e->n_rest);
	r = ferror(e->out) ? EOF : 0;
	free(e);
	return r;
}

FILE *base64_encoder(FILE *out)
{
	cookie_io_functions_t io = {.write = encoder_write, .close = encoder_close};
	struct encoder *e = calloc(1, sizeof(*e));
	FILE *f;

	if (!e)
		return NULL;
	e->out = out;
	f = fopencookie(e, "w", io);
	if (!f)
		free(e);
	return f;
}

static int digit(char c)
{
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? at - alphabet : -1;
}

static bool blank(char c)
{
	return c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

/*
 * Decodes @n characters into @out, which has room for 3/4 of @n bytes. Returns the bytes written,
 * or -EBADMSG.
 */
static ssize_t decode(const char *s, size_t n, uint8_t *out)
{
	uint32_t bits = 0;
	unsigned have = 0, padding = 0;
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		int d = digit(s[i]);

		if (blank(s[i]))
			continue;
		if (s[i] == '=' && have >= 2 && have + padding < 4) {
			padding++;
			continue;
		}
		if (d < 0 || padding)
			return -EBADMSG;
		bits = bits << 6 | (uint32_t)d;
		if (++have < 4)
			continue;
		out[at++] = bits >> 16;
		out[at++] = bits >> 8;
		out[at++] = bits;
		have = 0;
	}
	if ((have || padding) && have + padding != 4)
		return -EBADMSG;
	if (have >= 2)
		out[at++] = bits >> (6 * have - 8);
	if (have == 3)
		out[at++] = bits >> 2;
	return at;
}

int base64_decode(const char *s, size_t n, uint8_t **ret, size_t *ret_n)
{
	_cleanup_free_ uint8_t *out = malloc(n / 4 * 3 + 4);
	ssize_t r;

	if (!out)
		return -ENOMEM;
	r = decode(s, n, out);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(out);
	*ret_n = r;
	return 0;
}
