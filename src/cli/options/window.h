/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows of time of the agent's store, as users write them: "10m" (ago), "03:00", "2026-03-01
 * 03:00+01:00", "03:00..03:10". Times without an offset are local. If a window is the hour that
 * comes twice when clocks are set back, it covers both hours.
 */
#ifndef CLI_OPTIONS_WINDOW_H
#define CLI_OPTIONS_WINDOW_H

#include "cli/options/values.h"
#include "profile/profile.h"
#include "store/pins/pins.h"
#include "store/store.h"

struct window {
	int64_t since_ms, until_ms; /* ms of wall clock; .until_ms itself isn't in the window */
	/* the window was written with a time of day, not only relative to now */
	bool absolute;
};

/* clang-format off */
#define WINDOW_STORE_ROW(at, words)                                                                \
	{.group = "What krait agent has recorded",                                                 \
	 .name = "store", .arg = "DIR", .set = value_string, .field = (at),                        \
	 .complete = COMPLETE_FILE, .help = (words)}
/* clang-format on */

/*
 * Reads a window, which is SINCE..UNTIL, or SINCE alone. In the second case it ends at @now_ms.
 * Returns 0 or -EINVAL + message.
 */
_must_use_ int window_parse(const char *text, int64_t now_ms, struct window *ret);

/*
 * Reads the options --since and --until, up to now if @until is NULL. @since may be SINCE..UNTIL,
 * which has an end already. Returns 0 or -EINVAL + message.
 */
_must_use_ int window_options(const char *since, const char *until, struct window *ret);

/*
 * Reads a profile of what @q asks for from the store in @dir. If the user may not read the store,
 * the server at @socket is asked. If @socket is NULL, the default server is asked, but only for the
 * default store. Returns 0 or -errno + message; the caller frees *ret.
 */
_must_use_ int window_read(const char *dir, const char *socket, const struct store_query *q,
			   struct profile **ret);

/*
 * Reads the store's pins in the same way. Returns 0 or -errno + message; the caller calls
 * pins_fini() on *ret in any case.
 */
_must_use_ int window_read_pins(const char *dir, const char *socket, struct pins *ret);

/*
 * Reads a profile of the window that @text describes, with all samples in it. Returns 0 or -errno +
 * message.
 */
_must_use_ int window_read_text(const char *dir, const char *text, struct profile **ret);

/* Prints the begin and end of the window, if it was written with a time of day. */
void window_say(const struct window *w);

#endif
