/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source text in the page: of each Python file that may be shown, the lines of the functions that
 * were seen. Which file may be is the caller's word (render_options.open_source).
 */
#ifndef PICTURE_HTML_SOURCE_H
#define PICTURE_HTML_SOURCE_H

#include "format/common/options.h"
#include "view/shape/functions.h"

/*
 * JSON: [{"path", "changed", "foreign", "runs": [first line, ["text", ...], ...]}, ...]. "changed": after
 * the time that open_source tells, or a function isn't where it was; "foreign": not shown unless asked for;
 * no text then. @arg: instead of opt->source_arg. 0 or -ENOMEM.
 */
_must_use_ int source_put(struct functions *fs, const struct render_options *opt, void *arg,
			  FILE *out);

/*
 * The same that stands in a page of krait's after @tag (embedded.h), as it is: for another page, whose
 * script doubts it. Empty if there is none. Input is hostile: memory is bounded. 0, or -EINVAL,
 * -E2BIG + message; -ENOMEM.
 */
_must_use_ int source_take(const char *data, size_t n, const char *tag, struct str *ret);

#endif
