/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Windows of time of the agent's store, as users write them: "10m" (ago), "03:00", "2026-03-01
 * 03:00+01:00", "03:00..03:10". Times without an offset are local. The hour that comes twice, when
 * clocks are set back, is both hours.
 */
#ifndef CLI_OPTIONS_WINDOW_H
#define CLI_OPTIONS_WINDOW_H

#include "cli/options/values.h"
#include "profile/profile.h"
#include "store/store.h"

struct window {
	int64_t since_ms, until_ms; /* wall clock; the second is behind the window's last moment */
	bool absolute;		    /* it was written with a time of day */
};

/* clang-format off */
#define WINDOW_STORE_ROW(at, words)                                                                \
	{.group = "What krait agent has recorded",                                                 \
	 .name = "store", .arg = "DIR", .set = value_string, .field = (at),                        \
	 .complete = COMPLETE_FILE, .help = (words)}
/* clang-format on */

/*
 * Reads a window: SINCE..UNTIL, or SINCE, which ends at @now_ms. 0 or -EINVAL + message.
 */
_must_use_ int window_parse(const char *text, int64_t now_ms, struct window *ret);

/* The same from its two ends; @until NULL: @now_ms. */
_must_use_ int window_between(const char *since, const char *until, int64_t now_ms,
			      struct window *ret);

/*
 * Reads what @q wants of the store in @dir. If only others may read it, the server at @socket is
 * asked; NULL: the agent's own, for its own store. 0 or -errno + message; the caller frees *ret.
 */
_must_use_ int window_read(const char *dir, const char *socket, const struct store_query *q,
			   struct profile **ret);

/* Reads window @text, with all that is in it. */
_must_use_ int window_read_text(const char *dir, const char *text, struct profile **ret);

/* Says from when to when the window is, with the offset, if it was written with a time of day. */
void window_say(const struct window *w);

#endif
