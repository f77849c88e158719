/* SPDX-License-Identifier: BSD-2-Clause */
/* Compresses to gzip as a stream; see gzip.h. */
#include "format/common/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <zlib.h>

enum { GZIP = 16 }; /* adding this to windowBits makes deflateInit2() of zlib write gzip */

struct encoder {
	FILE *out;
	z_stream z;
};

static int run(struct encoder *e, int flush)
{
	uint8_t buf[1 << 14];
	int r;

	do {
		e->z.next_out = buf;
		e->z.avail_out = sizeof(buf);
		r = deflate(&e->z, flush);
		if (r == Z_STREAM_ERROR)
			return -1;
		fwrite(buf, 1, sizeof(buf) - e->z.avail_out, e->out);
	} while (!e->z.avail_out);
	return ferror(e->out) ? -1 : 0;
}

static ssize_t encoder_write(void *cookie, const char *data, size_t n)
{
	struct encoder *e = cookie;

	e->z.next_in = (Bytef *)data;
	e->z.avail_in = n;
	/* by fopencookie(3), a write function returns 0 on error, not -1 */
	return run(e, Z_NO_FLUSH) ? 0 : (ssize_t)n;
}

static int encoder_close(void *cookie)
{
	struct encoder *e = cookie;
	int r;

	e->z.next_in = NULL;
	e->z.avail_in = 0;
	r = run(e, Z_FINISH);
	deflateEnd(&e->z);
	free(e);
	return r ? EOF : 0;
}

FILE *gzip_encoder(FILE *out)
{
	cookie_io_functions_t io = {.write = encoder_write, .close = encoder_close};
	struct encoder *e = calloc(1, sizeof(*e));
	FILE *f = NULL;

	if (!e)
		return NULL;
	e->out = out;
	if (deflateInit2(&e->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP, MAX_MEM_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(e);
		errno = ENOMEM;
		return NULL;
	}
	f = fopencookie(e, "w", io);
	if (!f) {
		deflateEnd(&e->z);
		free(e);
	}
	return f;
}
