/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers the frames of a profile, for file formats that list frames with name, file and line, and
 * refer to each by its number. Locations that look equal in such a format are one frame.
 */
#ifndef VIEW_SHAPE_FRAMES_H
#define VIEW_SHAPE_FRAMES_H

#include "profile/profile.h"
#include "view/names/rank.h"

struct frame_text {
	struct str name;  /* name of the frame: "qualname", "symbol", "[libfoo.so+0x12]" */
	const char *file; /* full path of the source file or, without one, of the ELF file; or "" */
	int32_t line;	  /* line of the frame; 0: not known */
};

struct frames {
	struct profile *p;
	struct render_names *names;
	/*
	 * ranks of the texts of locations: text i - 1 is that of location i, and its rank is the
	 * number of the location's frame
	 */
	struct rank keys;
	bool functions;
};

/*
 * Numbers the frames of @p. @functions: a frame is a whole function, and its line is the function's
 * first line. Returns 0 or -ENOMEM + message.
 */
_must_use_ int frames_init(struct frames *f, struct profile *p, bool functions);
void frames_fini(struct frames *f);

/* Returns the number of a location's frame, from 0, below f->keys.n. */
uint32_t frames_of(const struct frames *f, uint32_t location);

/* Returns one of the locations of a frame. */
uint32_t frames_location(const struct frames *f, uint32_t frame);

/*
 * Writes into @t what is shown of a location's frame. @t may be used for several frames, one after
 * the other. 0 or -ENOMEM + message.
 */
_must_use_ int frames_text(const struct frames *f, uint32_t location, struct frame_text *t);

/* Returns the category that viewers use for a kind: "Python", "native", "kernel", ... */
const char *frames_kind(enum frame_kind kind);

#endif
