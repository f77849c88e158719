/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile that isn't in a file, but in a window of time that `krait agent` has recorded. */
#ifndef CLI_REPORT_STORED_H
#define CLI_REPORT_STORED_H

#include <sys/types.h>
#include "base/vec.h"
#include "cli/options/window.h"
#include "profile/profile.h"
#include "query/query.h"
#include "store/store.h"
#include "view/filter/options.h"
#include "view/view.h"

struct stored {
	const char *dir; /* directory of the store; NULL: the profile is in a file */
	/* socket of the server of queries, which is asked if the user can't read the store */
	const char *socket;
	/*
	 * values of --since and --until: with a store, wall clock times; with a file, times since
	 * the recording's beginning
	 */
	const char *since, *until;
	struct window window;
	VEC(struct profile_label_text) labels; /* values of --service and --cgroup, as labels */
	/* value of --pin: number of a window of time that the agent has kept; 0: not given */
	uint64_t pin;
	/*
	 * value of --mark: a text that the words of a user's mark contain; the window that was kept
	 * for this mark is shown; NULL: not given
	 */
	const char *mark;
	/* values of --pid: only these processes are shown; empty: all are */
	VEC(pid_t) pids;
	/*
	 * the window must come from full samples, not from the store's summaries of services,
	 * however long it is
	 */
	bool exact;
};

/* appends the label of a service to .labels */
int stored_value_service(void *field, const char *text);
int stored_value_cgroup(void *field, const char *text);

/* clang-format off */

/* Rows of the options that fill the struct stored at offset @at of the command's options. */
#define STORED_ROWS(at)                                                                            \
	{.group = "What krait agent has recorded",                                                 \
	 .name = "store", .arg = "DIR", .set = value_string,                                       \
	 .field = (at) + offsetof(struct stored, dir),                                             \
	 .initial = "none; of krait last " STORE_DIRECTORY,                                        \
	 .complete = COMPLETE_FILE,                                                                \
	 .help = "a window of this store instead of a file: --since 10m (ago), --since 03:00 "     \
		 "--until 03:10 (local time), or \"2026-03-01 03:00+01:00\""},                     \
	{.name = "socket", .arg = "PATH", .set = value_string,                                     \
	 .field = (at) + offsetof(struct stored, socket), .complete = COMPLETE_FILE,               \
	 .initial = QUERY_SOCKET,                                                                  \
	 .help = "ask the server at this socket if the store can't be read"},                      \
	{.name = "pin", .arg = "N", .set = value_count,                                            \
	 .field = (at) + offsetof(struct stored, pin),                                             \
	 .help = "with --store: the window that is pinned as number N; krait agent status lists "  \
		 "them"},                                                                          \
	{.name = "mark", .arg = "TEXT", .set = value_string,                                       \
	 .field = (at) + offsetof(struct stored, mark),                                            \
	 .help = "with --store: the window of the newest mark with TEXT in it"},                   \
	{.name = "pid", .letter = 'p', .arg = "PID", .set = value_pid,                             \
	 .field = (at) + offsetof(struct stored, pids), .complete = COMPLETE_PROCESS,              \
	 .help = "with --store: this process only, alive or not; may be repeated"},                \
	{.name = "service", .arg = "NAME", .set = stored_value_service,                            \
	 .field = (at) + offsetof(struct stored, labels),                                          \
	 .help = "with --store: this service only; may be repeated"},                              \
	{.name = "cgroup", .arg = "PATH", .set = stored_value_cgroup,                              \
	 .field = (at) + offsetof(struct stored, labels),                                          \
	 .help = "with --store: this control group only, as the label cgroup has it; may be "      \
		 "repeated"}

/*
 * Rows of --since and --until. With a file, they are times since the recording's beginning; with a
 * store, they are wall clock times.
 */
#define STORED_TIME_ROWS(at)                                                                       \
	{.name = "since", .arg = "TIME", .set = value_string,                                      \
	 .field = (at) + offsetof(struct stored, since),                                           \
	 .help = "from this time after the start of the recording on: 10, 500ms, 2m; of a store: " \
		 "from so long ago on, or from a time of day"},                                    \
	{.name = "until", .arg = "TIME", .set = value_string,                                      \
	 .field = (at) + offsetof(struct stored, until),                                           \
	 .help = "up to this time"}

/* clang-format on */

void stored_fini(struct stored *s);

/*
 * For `krait last TIME`, which is short for `krait report --store DIR --since TIME`: sets .dir and
 * .since. 0 or -EINVAL + message.
 */
_must_use_ int stored_last(struct stored *s, struct operands *operands);

/*
 * Parses --since and --until. With a store, they become .window. With a file, they go into @view,
 * as times since the recording's beginning. Returns 0, or -EINVAL + message.
 */
_must_use_ int stored_check(struct stored *s, struct view_options *view,
			    const struct operands *operands);

/*
 * Reads a profile of the window from the store, or asks the server of queries for it. Returns 0 or
 * -errno + message; the caller frees *ret.
 */
_must_use_ int stored_read(struct stored *s, struct profile **ret);

/* Warns that the window has no samples of what was chosen. */
void stored_say_empty(const struct stored *s);

#endif
