/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recording inside a picture of krait's. It is found by the one opening tag that svg.c writes;
 * text from a profile can't imitate it, because there every '<' is escaped.
 */
#include "render/svg.h"

#include "base/error.h"
#include "render/base64.h"
#include "render/render.h"

static const char *find(const char *s, const char *end, const char *what)
{
	return s < end ? memmem(s, end - s, what, strlen(what)) : NULL;
}

bool svg_probe(const char *data, size_t n)
{
	return find(data, data + n, SVG_RECORDING) != NULL;
}

int svg_extract_pprof(const char *data, size_t n, uint8_t **ret, size_t *ret_n)
{
	const char *end = data + n, *start = find(data, end, SVG_RECORDING), *stop;
	int r;

	if (!start)
		return err_set(-EINVAL, "not a picture made by krait: it holds no recording");
	start += strlen(SVG_RECORDING);
	stop = find(start, end, "<");
	if (!stop)
		return err_set(-EINVAL, "the recording in the picture is cut off at byte %zu", n);
	r = base64_decode(start, stop - start, ret, ret_n);
	if (r == -EBADMSG)
		return err_set(-EINVAL,
			       "the recording in the picture, from byte %zu on, is damaged",
			       (size_t)(start - data));
	return r ? err_set(r, "out of memory") : 0;
}
