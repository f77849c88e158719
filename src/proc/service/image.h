/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses names of container images, such as registry.example:5000/team/shop:1.2@sha256:DIGITS. */
#ifndef PROC_SERVICE_IMAGE_H
#define PROC_SERVICE_IMAGE_H

#include "base/text/str.h"

/* Appends the last part of the image's name, such as "shop"; nothing if @image is only a digest. */
void image_name(const char *image, struct str *ret);
/*
 * Appends the image's tag, such as "1.2"; nothing if the name has no tag, or the tag is "latest".
 */
void image_tag(const char *image, struct str *ret);

#endif
