/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A screen of lines: written from left to right, then what has changed is sent to the terminal. By
 * the sequences that every terminal since the VT100 knows (docs/decisions/0009-top.md).
 */
#ifndef LIVE_SCREEN_H
#define LIVE_SCREEN_H

#include "base/str.h"

enum style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_HEAD,	/* headings: reversed */
	STYLE_SELECTED, /* the chosen line: reversed and bold, for all that follows on the line */
	STYLE_PYTHON,
	STYLE_NATIVE,
	STYLE_KERNEL,
	STYLE_MARK,
	STYLE_WARN,
	STYLE_BOX, /* boxes of a flame graph: two kinds, so that neighbours differ */
	STYLE_BOX2,
	STYLES,
};

struct screen_line {
	struct str now, shown; /* as it is sent */
	struct str plain;
	int width;
	bool selected;
};

struct screen {
	int rows, cols;
	bool color, utf8;
	struct screen_line *lines;
	int y;
};

void screen_fini(struct screen *s);

/* Takes a size, at least 1 x 1; everything is sent anew then. 0 or -ENOMEM + message. */
_must_use_ int screen_resize(struct screen *s, int rows, int cols);

/* Empties all lines. */
void screen_clear(struct screen *s);

/* Goes on at line @y; what doesn't exist swallows what is written. */
void screen_at(struct screen *s, int y);

/* Text at the end of the line, at most @width columns; @width -1: to the right end. */
void screen_put(struct screen *s, enum style style, const char *text, int width);
/* The same of a name, which is cut in the middle. */
void screen_put_name(struct screen *s, enum style style, const char *name, int width);
/* The same of a frame, "NAME (PLACE)": the place is cut first. */
void screen_put_frame(struct screen *s, enum style style, const char *frame, int width);
/* Right-aligned in @width columns. */
void screen_put_right(struct screen *s, enum style style, const char *text, int width);
/* Spaces up to column @x. */
void screen_pad(struct screen *s, enum style style, int x);
int screen_x(const struct screen *s); /* where the line ends */
int screen_left(const struct screen *s);

/* The bytes that make the terminal show it: only lines that changed. */
void screen_update(struct screen *s, struct str *out);

/* What is on it, as plain text. */
void screen_text(const struct screen *s, struct str *out);

#endif
