/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pinned windows of time: their samples stay when other samples of their age are removed. A pin
 * says why its window is kept: it has a cause, which is a word of the agent's table of triggers,
 * and words for people. The store also counts for good how often each cause made a pin.
 */
#ifndef STORE_PINS_PINS_H
#define STORE_PINS_PINS_H

#include <sys/types.h>
#include "base/text/str.h"
#include "base/vec.h"

/* the most pinned windows of a store; a further one replaces the oldest */
#define PINS_MOST	100
#define PIN_WORDS_BYTES 200
#define PIN_CAUSE_BYTES 16
/* the most causes for which the store counts how often they pinned a window */
#define PIN_CAUSES  64
#define PIN_BY_MARK "mark"

struct store;

struct pin {
	int64_t id; /* number of the pinned window, from 1; a store never gives a number twice */
	/*
	 * the window: since <= time < until; .made_ms: when it was pinned; all in ms of the wall
	 * clock
	 */
	int64_t since_ms, until_ms, made_ms;
	char cause[PIN_CAUSE_BYTES];
	char words[PIN_WORDS_BYTES]; /* why the window is pinned, as made by pin_words() */
};

struct pins {
	VEC(struct pin) list; /* by number */
	VEC(struct pin_count {
		char cause[PIN_CAUSE_BYTES];
		int64_t times;
	})
	counts;
};

void pins_fini(struct pins *p);

/*
 * Makes the words of a pin from text[0..n), which may be anything. The result is valid UTF-8, with
 * '?' in place of what a terminal would obey. Returns 0; -EINVAL + message: there are no words, or
 * too many.
 */
_must_use_ int pin_words(const char *text, size_t n, char ret[PIN_WORDS_BYTES]);

/*
 * Adds a pin. Its .id isn't read, because the store chooses the number. If the store has a pin with
 * the same cause, beginning and words, changes the end of that pin instead. 0; -ENOSPC + message as
 * store_keep_to(); -errno + message.
 */
_must_use_ int store_add_pin(struct store *s, const struct pin *p);

/*
 * Reads all pinned windows, and how often each cause has pinned one. 0 or -errno + message; the
 * caller ends *ret with pins_fini() in any case.
 */
_must_use_ int store_read_pins(struct store *s, struct pins *ret);

/*
 * Finds the pin with number @id, or, if @id is 0, the newest pin that was made by a mark and has
 * @words in its text. NULL + message: there is no such pin.
 */
const struct pin *pins_find(const struct pins *p, int64_t id, const char *words);

/*
 * pins_write() appends the pins as lines of text. pins_read() reads such lines; its text may be
 * anything, and -EBADMSG + message says that it isn't a list of pins.
 */
void pins_write(const struct pins *p, struct str *ret);
_must_use_ int pins_read(struct pins *p, const char *text);

#endif
