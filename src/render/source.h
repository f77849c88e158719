/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source text in the page: of each Python file that may be shown, the lines of the functions that
 * were seen. Which file may be is the caller's word (render_options.open_source).
 */
#ifndef RENDER_SOURCE_H
#define RENDER_SOURCE_H

#include "render/html.h"

/*
 * JSON: [{"path", "changed", "foreign", "runs": [first line, ["text", ...], ...]}, ...]. "changed": after
 * the time that open_source tells, or a function isn't where it was; "foreign": not shown unless asked for;
 * no text then. 0 or -ENOMEM.
 */
_must_use_ int source_put(struct html *h, FILE *out);

#endif
