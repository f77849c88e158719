/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile that isn't in a file: a window of what `krait agent` has recorded. */
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
	/* socket of the server that is asked if the user can't read the store */
	const char *socket;
	/*
	 * values of --since and --until: a window of the store, or times in the recording of a file
	 */
	const char *since, *until;
	struct window window;
	VEC(struct profile_label_text) labels; /* values of --service and --cgroup */
	uint64_t pin;			       /* number of a pinned window; 0: none */
	const char *mark;		       /* words of a mark whose window is wanted, or NULL */
	VEC(pid_t) pids;		       /* the processes that are wanted; empty: all */
	/*
	 * true: the window must be answered from samples, not from the outline, however long it is
	 */
	bool exact;
};

int stored_value_service(void *field, const char *text); /* appends a label to .labels */
int stored_value_cgroup(void *field, const char *text);

/* clang-format off */

/* Option rows that fill the struct stored at offset @at. */
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
 * Option rows of --since and --until, which mean times in a recording, or wall clock times in a
 * store.
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
 * Handles `krait last TIME`, which is short for `krait report --store DIR --since TIME`. 0 or
 * -EINVAL + message.
 */
_must_use_ int stored_last(struct stored *s, struct operands *operands);

/*
 * Reads --since and --until. With a store they become .window. With a file they go to @view, as
 * times from the recording's start. Returns 0 or -EINVAL + message: the command line is wrong.
 */
_must_use_ int stored_check(struct stored *s, struct view_options *view,
			    const struct operands *operands);

/*
 * Reads a profile of the window from the store or its server. Returns 0 or -errno + message; the
 * caller frees *ret.
 */
_must_use_ int stored_read(struct stored *s, struct profile **ret);

/* Warns that the window has no samples of what was chosen. */
void stored_say_empty(const struct stored *s);

#endif
