/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames of a profile for formats that know a frame as a name, a file and a line, and refer to
 * it by number: locations that differ in nothing such a format has are one.
 */
#ifndef VIEW_SHAPE_FRAMES_H
#define VIEW_SHAPE_FRAMES_H

#include "profile/profile.h"
#include "view/names/rank.h"

struct frame_text {
	struct str name;  /* "qualname", "symbol", "[libfoo.so+0x12]" */
	const char *file; /* the full path of the source; without one, of the ELF file; or "" */
	int32_t line;	  /* 0 = none */
};

struct frames {
	struct profile *p;
	struct render_names *names;
	struct rank keys; /* input id - 1: location id; .n frames */
	bool functions;
};

/* With @functions: the line is that of the function, and its other lines are no frames. 0 or -ENOMEM +
 * message. */
_must_use_ int frames_init(struct frames *f, struct profile *p, bool functions);
void frames_fini(struct frames *f);

/* Number of a location's frame, from 0, below f->keys.n. */
uint32_t frames_of(const struct frames *f, uint32_t location);

/* A location of a frame. */
uint32_t frames_location(const struct frames *f, uint32_t frame);

/* What is shown of a location's frame; @t is used again and again. 0 or -ENOMEM + message. */
_must_use_ int frames_text(const struct frames *f, uint32_t location, struct frame_text *t);

/* "Python", "native", "kernel", ...: what viewers sort frames into. */
const char *frames_kind(enum frame_kind kind);

#endif
