/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which samples and frames match the patterns of a view; for src/view and src/live. */
#ifndef VIEW_FILTER_SELECT_H
#define VIEW_FILTER_SELECT_H

#include "view/filter/options.h"

/* Bits that say what is known of a location, for the patterns of a view. */
enum {
	FRAME_FOCUS = 1,
	FRAME_IGNORE = 2,
	FRAME_HIDE = 4,
	FRAME_SHOW = 8,
	FRAME_MODULE = 16, /* the frame is in one of the modules that were asked for */
};

struct select {
	const struct view_options *o;
	struct profile *p;
	struct patterns processes, threads, modules, focus, ignore, hide, show;
	/* one list for each entry of o->labels; each list has one pattern */
	struct patterns *label_patterns;
	uint8_t *frames; /* by location id: its FRAME_* bits */
	bool *labels;	 /* by label set id: whether samples with the label set are shown */
};

/*
 * Finds out which samples and frames of @p the patterns of @o match. 0 or -errno + message. While
 * @s is used, nothing may be added to the tables of @p.
 */
_must_use_ int select_init(struct select *s, struct profile *p, const struct view_options *o);
void select_fini(struct select *s);

/* Tells whether a sample with this stack may be shown, by its frames (leaf first). */
bool select_stack(const struct select *s, const uint32_t *stack, size_t n);

/* Tells whether this frame is shown in a stack that is shown. */
bool select_frame(const struct select *s, uint32_t location);

#endif
