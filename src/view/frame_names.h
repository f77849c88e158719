/* SPDX-License-Identifier: BSD-2-Clause */
/* What a frame can be called, and whether a pattern means it; for src/view. */
#ifndef VIEW_FRAME_NAMES_H
#define VIEW_FRAME_NAMES_H

#include "base/str.h"
#include "view/view.h"

/* Each a whole text for patterns. Zero-initialised; frame_names_of() overwrites. */
struct frame_names {
	struct str function, dotted, frame, module, file, path; /* file, path: with ":LINE" */
	size_t file_n, path_n;					/* without it */
};

/* 0 or -ENOMEM. */
_must_use_ int frame_names_of(struct frame_names *n, struct profile *p,
			      const struct render_names *names, uint32_t location);
void frame_names_fini(struct frame_names *n);

/* The name of a package is also that of what is in it. */
bool frame_names_match(const struct patterns *p, struct frame_names *n);

/* --module: by the module alone. "json" is also what is below it: "json.decoder". */
bool frame_names_match_module(const struct patterns *p, const char *module);

/*
 * A process ("process", "pid") or a thread ("thread", "tid"), by its name, its number, or both as root frames have
 * them. False where there are no patterns.
 */
bool match_owner(struct profile *p, const struct patterns *patterns, uint32_t labels,
		 const char *name_key, const char *id_key);

#endif
