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
	const char *dir;    /* the store; NULL: the profile is in a file */
	const char *socket; /* of the server that is asked if the store can't be read */
	/* what the command line says of time: of a store's window, or of the recording in a file */
	const char *since, *until;
	struct window window;
	VEC(struct profile_label_text) labels; /* values of --service and --cgroup */
	VEC(pid_t) pids;		       /* processes that are wanted; none: all */
	bool exact;			       /* samples are needed, however long the window is */
};

int stored_value_service(void *field, const char *text); /* appends a label to .labels */
int stored_value_cgroup(void *field, const char *text);

/* clang-format off */

/* Rows for the members of a struct stored at offset @at. */
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

/* --since and --until: of the recording in a file, or of the clock. */
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
 * Reads the window's begin and end, --since and --until. Those of a file go to @view, and count
 * from the recording's begin. 0 or -EINVAL + message: the command line is wrong.
 */
_must_use_ int stored_check(struct stored *s, struct view_options *view,
			    const struct operands *operands);

/* Reads the window. 0 or -errno + message; the caller frees *ret. */
_must_use_ int stored_read(const struct stored *s, struct profile **ret);

#endif
