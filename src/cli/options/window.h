/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows of time in the agent's store, as users write them: "10m" (from 10 minutes ago), "03:00",
 * "2026-03-01 03:00+01:00", "03:00..03:10". Times without an offset from UTC are local. When clocks
 * are set back, an hour comes twice: a window of that hour covers both.
 */
#ifndef CLI_OPTIONS_WINDOW_H
#define CLI_OPTIONS_WINDOW_H

#include "cli/options/values.h"
#include "profile/profile.h"
#include "store/pins/pins.h"
#include "store/store.h"

struct window {
	/* in ms of wall clock; .since_ms is in the window, .until_ms isn't */
	int64_t since_ms, until_ms;
	/* the user gave a time of day, not only how long ago */
	bool absolute;
};

/* clang-format off */
#define WINDOW_STORE_ROW(at, words)                                                                \
	{.group = "What krait agent has recorded",                                                 \
	 .name = "store", .arg = "DIR", .set = value_string, .field = (at),                        \
	 .complete = COMPLETE_FILE, .help = (words)}
/* clang-format on */

/*
 * Parses a window: SINCE..UNTIL, or SINCE alone, which ends at @now_ms. Returns 0 or -EINVAL +
 * message.
 */
_must_use_ int window_parse(const char *text, int64_t now_ms, struct window *ret);

/*
 * Parses the values of --since and --until. If @until is NULL, the window ends now. @since may be
 * SINCE..UNTIL, with @until NULL. Returns 0 or -EINVAL + message.
 */
_must_use_ int window_options(const char *since, const char *until, struct window *ret);

/*
 * Reads what @q asks for from the store in @dir, as a profile. If the user may not read the store,
 * the server of queries at @socket is asked. If @socket is NULL, the default server is asked, but
 * only for the default store. Returns 0 or -errno + message; the caller frees *ret.
 */
_must_use_ int window_read(const char *dir, const char *socket, const struct store_query *q,
			   struct profile **ret);

/*
 * Reads the list of pins (windows of time that are kept) from the store in @dir, or asks the server
 * for it, as window_read() does. Returns 0 or -errno + message. In any case the caller calls
 * pins_fini() on *ret.
 */
_must_use_ int window_read_pins(const char *dir, const char *socket, struct pins *ret);

/*
 * Reads a profile with all samples of the window that @text describes. Returns 0 or -errno +
 * message.
 */
_must_use_ int window_read_text(const char *dir, const char *text, struct profile **ret);

/* what to say of a window without samples */
#define WINDOW_EMPTY "nothing was recorded in that window; krait agent status says what is kept"

/* Prints when the window begins and ends, if the user gave a time of day. */
void window_say(const struct window *w);

#endif
