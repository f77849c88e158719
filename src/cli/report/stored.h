/* SPDX-License-Identifier: BSD-2-Clause */
/* A profile that isn't in a file: a window of what `krait agent` has recorded. */
#ifndef CLI_REPORT_STORED_H
#define CLI_REPORT_STORED_H

#include <sys/types.h>
#include "base/vec.h"
#include "cli/options/values.h"
#include "profile/profile.h"
#include "query/query.h"
#include "store/store.h"
#include "view/view.h"

struct stored {
	const char *dir;    /* the store; NULL: the profile is in a file */
	const char *socket; /* of the server that is asked if the store can't be read */
	/* how long ago the window begins and ends; .until_ns 0: now */
	uint64_t since_ns, until_ns;
	VEC(pid_t) pids; /* processes that are wanted; none: all */
	bool exact;	 /* samples are needed, however long the window is */
};

/* clang-format off */

/* Rows for the members of a struct stored at offset @at. */
#define STORED_ROWS(at)                                                                            \
	{.group = "What krait agent has recorded",                                                 \
	 .name = "store", .arg = "DIR", .set = value_string,                                       \
	 .field = (at) + offsetof(struct stored, dir),                                             \
	 .initial = "none; of krait last " STORE_DIRECTORY,                                        \
	 .complete = COMPLETE_FILE,                                                                \
	 .help = "a window of this store instead of a file; --since and --until count back from "  \
		 "now: --since 10m"},                                                              \
	{.name = "socket", .arg = "PATH", .set = value_string,                                     \
	 .field = (at) + offsetof(struct stored, socket), .complete = COMPLETE_FILE,               \
	 .initial = QUERY_SOCKET,                                                                  \
	 .help = "ask the server at this socket if the store can't be read"},                      \
	{.name = "pid", .letter = 'p', .arg = "PID", .set = value_pid,                             \
	 .field = (at) + offsetof(struct stored, pids), .complete = COMPLETE_PROCESS,              \
	 .help = "with --store: this process only, alive or not; may be repeated"}

/* clang-format on */

void stored_fini(struct stored *s);

/*
 * Handles `krait last TIME`, which is short for `krait report --store DIR --since TIME`. 0 or
 * -EINVAL + message.
 */
_must_use_ int stored_last(struct stored *s, struct view_options *view, struct operands *operands);

/*
 * Takes the window's begin and end from @view's --since and --until. With --store these count back
 * from now, otherwise from the recording's begin. 0 or -EINVAL + message: the command line is
 * wrong.
 */
_must_use_ int stored_check(struct stored *s, struct view_options *view,
			    const struct operands *operands);

/* Reads the window. 0 or -errno + message; the caller frees *ret. */
_must_use_ int stored_read(const struct stored *s, struct profile **ret);

#endif
