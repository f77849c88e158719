/* SPDX-License-Identifier: BSD-2-Clause */
/* What a frame's text in folded stacks says, as the tools that write them put it; and in speedscope. */
#ifndef FORMAT_COMMON_FOLDED_FRAME_H
#define FORMAT_COMMON_FOLDED_FRAME_H

#include "profile/profile.h"

struct folded_text {
	const char *s;
	size_t n;
};

/* Parts point into the frame's text; .n 0 = not there. */
struct folded_frame {
	enum frame_kind kind;
	bool inlined; /* into the frame before it */
	bool unnamed; /* "[libz.so.1+0x1234]": .mapping and .address are all that is known */
	struct folded_text name, file, mapping;
	int32_t line;
	uint64_t address;
};

void folded_frame_parse(const char *s, size_t n, struct folded_frame *ret);

/* "torch/nn/functional.py(2000): linear", the line being that of the def; false for what isn't of that form. */
bool folded_frame_parse_torch(const char *s, size_t n, struct folded_frame *ret);

/* The same of a format that has the parts by themselves; @place is a source file or a mapping. */
void folded_frame_make(struct folded_text name, struct folded_text place, int32_t line,
		       struct folded_frame *ret);

/* The frame as a location of @p but for .outer; not interned yet. */
struct profile_location folded_frame_location(struct profile *p, const struct folded_frame *f);

/* Root frames that stand for a label; .key NULL = it is a frame like others. */
struct folded_label {
	const char *key;
	struct folded_text value;
};

/*
 * "web (pid 12)", "Main (tid 34)" of krait; `process 12:"python app.py"`, `thread (0x7f): "Main"`
 * of py-spy; "P12", "T12:34" of Austin; "tid:34" of CPython 3.15: up to two labels.
 */
void folded_root_parse(const char *s, size_t n, struct folded_label ret[2]);

#endif
