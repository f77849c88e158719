/* SPDX-License-Identifier: BSD-2-Clause */
/* The names that a frame has, and whether a pattern matches one of them; for src/view. */
#ifndef VIEW_FILTER_FRAME_NAMES_H
#define VIEW_FILTER_FRAME_NAMES_H

#include "base/text/str.h"
#include "view/filter/pattern.h"
#include "view/names/frame.h"

/* The names of a frame, each of which is matched as a whole. Zero-initialise before first use. */
struct frame_names {
	/* names of the frame; .file and .path end with ":LINE" */
	struct str function, dotted, frame, module, file, path;
	size_t file_n, path_n; /* lengths of .file and .path without ":LINE" */
};

/* Collects the names of a frame into @n, over those of an earlier frame. Returns 0 or -ENOMEM. */
_must_use_ int frame_names_of(struct frame_names *n, struct profile *p,
			      const struct render_names *names, uint32_t location);
void frame_names_fini(struct frame_names *n);

/*
 * Does any pattern of @p match one of the names @n? The name of a package matches everything in the
 * package.
 */
bool frame_names_match(const struct patterns *p, struct frame_names *n);

/* For --module: matches the module only. "json" also matches what is below it: "json.decoder". */
bool frame_names_match_module(const struct patterns *p, const char *module);

/*
 * Does a pattern match a process ("process", "pid") or a thread ("thread", "tid"): its name, its
 * number, or both as root frames show them? False if there are no patterns.
 */
bool match_owner(struct profile *p, const struct patterns *patterns, uint32_t labels,
		 const char *name_key, const char *id_key);

#endif
