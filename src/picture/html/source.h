/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source text in the page: the lines of the sampled functions, from those Python files that may be
 * shown. The caller decides which files may be shown (render_options.open_source).
 */
#ifndef PICTURE_HTML_SOURCE_H
#define PICTURE_HTML_SOURCE_H

#include "format/common/options.h"
#include "view/shape/functions.h"

/*
 * Writes JSON: [{"path", "changed", "foreign", "runs": [first line, ["text", ...], ...]}, ...].
 * "changed": the file is newer than the time that open_source gives, or a function isn't in the
 * line where it began when it ran. "foreign": krait shows the file only on request, so "runs" is
 * empty.
 * @arg is used in place of opt->source_arg. 0 or -ENOMEM.
 */
_must_use_ int source_put(struct functions *fs, const struct render_options *opt, void *arg,
			  FILE *out);

/*
 * Takes the JSON that source_put() wrote out of a page (@n bytes at @data), where it follows @tag
 * (embedded.h). It isn't checked here, because it goes unchanged into another page, whose script
 * checks it. *ret is empty if the page has no such JSON. The page is hostile, so memory is bounded.
 * 0; -EINVAL or -E2BIG + message; -ENOMEM.
 */
_must_use_ int source_take(const char *data, size_t n, const char *tag, struct str *ret);

#endif
