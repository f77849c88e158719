/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collects the names that a frame has, and tells whether a pattern matches one of them; for
 * src/view.
 */
#ifndef VIEW_FILTER_FRAME_NAMES_H
#define VIEW_FILTER_FRAME_NAMES_H

#include "base/text/str.h"
#include "view/filter/pattern.h"
#include "view/names/frame.h"

/* The names of a frame, each of which is matched as a whole. Zero-initialise before first use. */
struct frame_names {
	/* the names of the frame in all forms; .file and .path end with ":LINE" */
	struct str function, dotted, frame, module, file, path;
	size_t file_n, path_n; /* lengths of .file and .path without ":LINE" */
};

/* Sets @n to the names of a frame; earlier names in @n are overwritten. Returns 0 or -ENOMEM. */
_must_use_ int frame_names_of(struct frame_names *n, struct profile *p,
			      const struct render_names *names, uint32_t location);
void frame_names_fini(struct frame_names *n);

/*
 * Tells whether a pattern of @p matches one of the names @n. The name of a package matches
 * everything in the package.
 */
bool frame_names_match(const struct patterns *p, struct frame_names *n);

/*
 * Matches only the module, for --module. The pattern "json" also matches the modules within it,
 * such as "json.decoder".
 */
bool frame_names_match_module(const struct patterns *p, const char *module);

/*
 * Tells whether a pattern matches a process (keys "process" and "pid") or a thread ("thread" and
 * "tid"): by its name, by its number, or by both as root frames show them. False if there are no
 * patterns.
 */
bool match_owner(struct profile *p, const struct patterns *patterns, uint32_t labels,
		 const char *name_key, const char *id_key);

#endif
