/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A screen of lines. Each line is written from left to right. screen_update() sends the changed
 * lines to the terminal, with only those escape sequences that every terminal since the VT100 knows
 * (docs/decisions/0009-top.md).
 */
#ifndef LIVE_SCREEN_H
#define LIVE_SCREEN_H

#include "base/text/str.h"

enum style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_HEAD,	/* headings: reversed */
	STYLE_SELECTED, /* style of the chosen line: reversed and bold, up to the line's end */
	STYLE_PYTHON,
	STYLE_NATIVE,
	STYLE_KERNEL,
	STYLE_MARK,
	STYLE_WARN,
	/* boxes of a flame graph: two styles that alternate, so that neighbouring boxes differ */
	STYLE_BOX,
	STYLE_BOX2,
	STYLES,
};

struct screen_line {
	/*
	 * .now: the line's text as it is drawn now; .shown: its text as it was last sent to the
	 * terminal
	 */
	struct str now, shown;
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

/*
 * Sets the screen's size, which is at least 1 x 1. The next screen_update() sends all lines again.
 * 0 or -ENOMEM + message.
 */
_must_use_ int screen_resize(struct screen *s, int rows, int cols);

/* Empties all lines of the screen. */
void screen_clear(struct screen *s);

/*
 * Makes line @y the current line: text is then appended to it. If the screen has no such line, text
 * is dropped.
 */
void screen_at(struct screen *s, int y);

/*
 * Appends text to the current line, at most @width columns. With @width -1, up to the right edge.
 */
void screen_put(struct screen *s, enum style style, const char *text, int width);
/* Appends a name to the current line; cuts it in the middle if it is too long. */
void screen_put_name(struct screen *s, enum style style, const char *name, int width);
/*
 * Appends a frame, "NAME (PLACE)", to the current line; if it is too long, the place is cut first.
 */
void screen_put_frame(struct screen *s, enum style style, const char *frame, int width);
/* Appends text to the current line, right-aligned in @width columns. */
void screen_put_right(struct screen *s, enum style style, const char *text, int width);
/* Appends spaces to the current line, up to column @x. */
void screen_pad(struct screen *s, enum style style, int x);
int screen_x(const struct screen *s); /* returns the column in which the current line ends */
int screen_left(const struct screen *s);

/* Appends to @out the bytes that update the terminal. Only changed lines are sent. */
void screen_update(struct screen *s, struct str *out);

/* Appends the screen's contents as plain text. */
void screen_text(const struct screen *s, struct str *out);

#endif
