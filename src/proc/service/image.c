/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses names of container images; see image.h. */
#include "proc/service/image.h"

/* Is the text an image's id, 64 hex digits, with or without "sha256:"? */
static bool is_id(const char *image)
{
	image += str_starts(image, "sha256:") ? 7 : 0;
	return strlen(image) == 64 && strspn(image, "0123456789abcdef") == 64;
}

void image_name(const char *image, struct str *ret)
{
	const char *last = path_base(image);

	if (!is_id(image))
		str_add_n(ret, last, strcspn(last, ":@"));
}

void image_tag(const char *image, struct str *ret)
{
	const char *last = path_base(image);
	const char *tag = last + strcspn(last, ":@");
	size_t n;

	if (*tag != ':' || is_id(image))
		return;
	tag++;
	n = strcspn(tag, "@");
	if (n != 6 || memcmp(tag, "latest", 6))
		str_add_n(ret, tag, n);
}
