/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the recording inside a picture or page that krait wrote. The recording is in an element
 * whose opening tag is nowhere else in the file. Text from a profile can't contain that tag,
 * because every '<' of such text is escaped.
 */
#include "format/common/embedded.h"

#include <errno.h>
#include "base/error.h"
#include "format/common/base64.h"

const char *embedded_find(const char *data, size_t n, const char *tag)
{
	const char *at = n ? memmem(data, n, tag, strlen(tag)) : NULL;

	return at ? at + strlen(tag) : NULL;
}

/*
 * A file that isn't text ends with the recording, the recording's length (8 bytes, little endian),
 * and these bytes.
 */
#define END	  "krait-pb"
#define END_BYTES (sizeof(uint64_t) + sizeof(END) - 1)

void embedded_put_end(FILE *out, uint64_t n)
{
	for (unsigned i = 0; i < sizeof(n); i++)
		fputc(n >> 8 * i & 0xff, out);
	fputs(END, out);
}

const uint8_t *embedded_at_end(const uint8_t *data, size_t n, size_t *ret_n)
{
	const uint8_t *end = n >= END_BYTES ? data + n - END_BYTES : NULL;
	uint64_t length = 0;

	if (!end || memcmp(end + sizeof(length), END, sizeof(END) - 1))
		return NULL;
	for (unsigned i = sizeof(length); i--;)
		length = length << 8 | end[i];
	*ret_n = (size_t)length;
	return length <= n - END_BYTES ? end - length : NULL;
}

/* Returns where the embedded recording begins, or NULL. */
static const char *find_start(const char *data, size_t n)
{
	static const char *const tags[] = {EMBEDDED_HTML, EMBEDDED_SVG};

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		const char *start = embedded_find(data, n, tags[i]);

		if (start)
			return start;
	}
	return NULL;
}

bool embedded_probe(const char *data, size_t n)
{
	return find_start(data, n) != NULL;
}

int embedded_decode(const char *data, size_t n, const char *start, uint8_t **ret, size_t *ret_n)
{
	size_t at = (size_t)(start - data);
	const char *stop = at < n ? memchr(start, '<', n - at) : NULL;
	int r;

	if (!stop)
		return err_set(-EINVAL, "the recording in the file is cut off at byte %zu", n);
	r = base64_decode(start, (size_t)(stop - start), ret, ret_n);
	if (r == -EBADMSG)
		return err_set(-EINVAL, "the recording in the file, from byte %zu on, is damaged",
			       at);
	return r ? err_set(r, "out of memory") : 0;
}

int embedded_extract(const char *data, size_t n, uint8_t **ret, size_t *ret_n)
{
	const char *start = find_start(data, n);

	if (!start)
		return err_set(-EINVAL,
			       "krait didn't make this picture or page: it holds no recording");
	return embedded_decode(data, n, start, ret, ret_n);
}
