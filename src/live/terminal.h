/* SPDX-License-Identifier: BSD-2-Clause */
/* The terminal of the interactive screen: keys one by one, the alternate screen, its size. */
#ifndef LIVE_TERMINAL_H
#define LIVE_TERMINAL_H

#include <termios.h>
#include "base/str.h"

/* Characters are their Unicode numbers. */
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
	KEY_OTHER, /* one that isn't known */
};

struct terminal {
	int in, out;
	int resized_fd; /* readable when the size has changed: terminal_resized() */
	bool raw;
	struct termios before;
	unsigned char input[256];
	size_t n;
};

/*
 * Takes the terminal on standard input and output over. Ctrl-C goes on to be a signal. SIGWINCH is
 * blocked for good. 0 or -errno + message.
 */
_must_use_ int terminal_open(struct terminal *t);
/* Everything as it was. */
void terminal_close(struct terminal *t);
/* The same in a signal handler: waits for nobody, closes nothing. @terminal: struct terminal *. */
void terminal_restore(void *terminal);

/* Its size; 24 x 80 if it doesn't say. */
void terminal_size(const struct terminal *t, int *rows, int *cols);
/* Has it changed since it was asked last? */
bool terminal_resized(struct terminal *t);

/* Reads what was typed, after .in was readable. False: the terminal is gone. */
bool terminal_read(struct terminal *t);
/* The next key of what was read, KEY_NONE: no more. */
int terminal_key(struct terminal *t);

/* 0 or -errno + message. */
_must_use_ int terminal_write(const struct terminal *t, const struct str *bytes);

/* Does the environment say that it shows UTF-8? */
bool terminal_is_utf8(void);

#endif
