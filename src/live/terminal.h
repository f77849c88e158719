/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal of an interactive screen: reads single keys, turns the alternate screen on and off,
 * tells the size.
 */
#ifndef LIVE_TERMINAL_H
#define LIVE_TERMINAL_H

#include <termios.h>
#include "base/text/str.h"

/* Keys. The number of a key that types a character is that character's Unicode number. */
enum key {
	KEY_NONE,
	KEY_TAB = '\t',
	KEY_ENTER = '\r',
	KEY_ESCAPE = 27,
	KEY_BACKSPACE = 127,
	KEY_UP = 0x110000,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_BACK_TAB,
	KEY_OTHER, /* a key whose escape sequence krait doesn't know */
};

struct terminal {
	int in, out;
	/*
	 * a descriptor that becomes readable when the terminal's size changes; whoever reads it
	 * calls terminal_resized()
	 */
	int resized_fd;
	bool raw;
	struct termios before;
	unsigned char input[256];
	size_t n;
};

/*
 * Prepares the terminal on standard input and output for single keys and a full screen. Ctrl-C
 * still sends a signal. SIGWINCH stays blocked, even after terminal_close(). 0 or -errno + message.
 */
_must_use_ int terminal_open(struct terminal *t);
/* Restores the state that the terminal had before terminal_open(). */
void terminal_close(struct terminal *t);
/*
 * For signal handlers: restores the terminal's state. Never blocks, and closes nothing. @terminal
 * is a struct terminal *.
 */
void terminal_restore(void *terminal);

/* Gets the terminal's size; 24 x 80 if the terminal doesn't say. */
void terminal_size(const struct terminal *t, int *rows, int *cols);
/* Tells whether the terminal's size has changed since the last call. */
bool terminal_resized(struct terminal *t);

/*
 * Reads what the user typed. Call it when .in is readable. Returns false if the terminal is gone.
 */
bool terminal_read(struct terminal *t);
/* Returns the next key of those that terminal_read() has read; KEY_NONE: there is none. */
int terminal_key(struct terminal *t);

/* Writes @bytes to the terminal. 0 or -errno + message. */
_must_use_ int terminal_write(const struct terminal *t, const struct str *bytes);

/* Tells whether the environment says that the terminal shows UTF-8. */
bool terminal_is_utf8(void);

#endif
