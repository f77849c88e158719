/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares the functions that write the formats in format.c; each does what struct
 * render_format.write says.
 */
#ifndef FORMAT_COMMON_WRITERS_H
#define FORMAT_COMMON_WRITERS_H

#include <stdio.h>

#include "format/common/options.h"
#include "profile/profile.h"

_must_use_ int firefox_write(struct profile *p, FILE *out, const struct render_options *opt);
_must_use_ int folded_write(struct profile *p, FILE *out, const struct render_options *opt);
_must_use_ int jsonl_write(struct profile *p, FILE *out, const struct render_options *opt);
_must_use_ int pstats_write(struct profile *p, FILE *out, const struct render_options *opt);
_must_use_ int speedscope_write(struct profile *p, FILE *out, const struct render_options *opt);
_must_use_ int html_write(struct profile *p, FILE *out, const struct render_options *opt);
_must_use_ int svg_write(struct profile *p, FILE *out, const struct render_options *opt);
_must_use_ int trace_write(struct profile *p, FILE *out, const struct render_options *opt);

#endif
