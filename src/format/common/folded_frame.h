/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses the text of a frame in folded stacks and in speedscope files, in the forms that various
 * tools write.
 */
#ifndef FORMAT_COMMON_FOLDED_FRAME_H
#define FORMAT_COMMON_FOLDED_FRAME_H

#include "profile/profile.h"

struct folded_text {
	const char *s;
	size_t n;
};

/*
 * A frame, taken apart. The parts point into the frame's text; .n of a part is 0 if the frame lacks
 * the part.
 */
struct folded_frame {
	enum frame_kind kind;
	bool inlined; /* the function was inlined into the function of the preceding frame */
	/* the frame is like "[libz.so.1+0x1234]": only .mapping and .address are known */
	bool unnamed;
	struct folded_text name, file, mapping;
	int32_t line;
	uint64_t address;
};

void folded_frame_parse(const char *s, size_t n, struct folded_frame *ret);

/*
 * Reads a frame of the form "torch/nn/functional.py(2000): linear", in which the number is the line
 * of the def. Returns false for text of any other form.
 */
bool folded_frame_parse_torch(const char *s, size_t n, struct folded_frame *ret);

/*
 * Sets *ret from the parts of a frame, for a format that stores them separately. @place is a source
 * file or a mapping.
 */
void folded_frame_make(struct folded_text name, struct folded_text place, int32_t line,
		       struct folded_frame *ret);

/* Returns the frame as a location that profile_location() can add to @p. Its .outer isn't set. */
struct profile_location folded_frame_location(struct profile *p, const struct folded_frame *f);

/* A label that krait makes of a root frame; .key is NULL if the frame isn't a root frame. */
struct folded_label {
	const char *key;
	struct folded_text value;
};

/*
 * Reads a root frame, of which krait makes up to two labels: "web (pid 12)", "Main (tid 34)" of
 * krait; `process 12:"python app.py"`, `thread (0x7f): "Main"` of py-spy; "P12", "T12:34" of
 * Austin; "tid:34" of CPython 3.15.
 */
void folded_root_parse(const char *s, size_t n, struct folded_label ret[2]);

#endif
