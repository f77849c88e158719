/* SPDX-License-Identifier: BSD-2-Clause */
/* `krait top`: a recording whose samples go into tables that grow; see src/live. */
#ifndef CLI_TOP_TOP_H
#define CLI_TOP_TOP_H

#include "cli/record/record.h"
#include "cli/top/alive.h"
#include "live/browse/browse.h"
#include "live/live.h"
#include "live/table.h"
#include "record/figures/census.h"
#include "record/session.h"

struct top_options {
	/*
	 * options of `krait record`; must be the first member, because shared rows of option tables
	 * point into it
	 */
	struct record_options record;
	uint64_t interval_ns;
	uint64_t times; /* how many intervals to print; 0: until the targets end */
	uint64_t rows;	/* how many rows a printed table has; 0: all */
	bool json, plain, with_native;
	enum live_table table;
	const char *sort;
	/* value of --filter: only rows with this text are shown; NULL: all rows */
	const char *filter;
};

struct top {
	const struct top_options *options;
	struct session *session;
	struct live *live;
	struct table shown;
	uint64_t tick_ns; /* when the latest interval ended, CLOCK_MONOTONIC */
	/* once there are this many samples, their times are dropped */
	uint64_t fold_at;
	uint64_t interval_ns; /* length of an interval, which keys can change */
	uint64_t printed;
	/*
	 * counts the processes and threads that ran; used until the profile is condensed (rare code
	 * is summed up) for the first time
	 */
	struct census census;
	struct alive alive;
	/*
	 * once the growing parts of the profile take this many bytes, rare code is summed up (the
	 * profile is condensed)
	 */
	uint64_t condense_at;
	struct browse *browse; /* the screen's state; NULL: there is no screen */
	/*
	 * pipe from which the command's output is read while the terminal shows the screen; -1:
	 * there is no such pipe, or the output has ended
	 */
	int said_fd;
	struct str said; /* the last part of the command's output */
	bool said_more;	 /* earlier output of the command was dropped */
};

/* Sets all that the head of the screen shows, except .target. */
void top_facts(const struct top *t, struct browse_facts *ret);

/*
 * Print the last interval on standard output, as text or as a line of JSON. 0 or -errno + message.
 */
_must_use_ int top_print_plain(struct top *t);
_must_use_ int top_print_json(struct top *t);

/* Runs the interactive screen until the user or a signal ends it. 0 or -errno + message. */
_must_use_ int top_screen(struct top *t);

/* command.c: starts the command that stands after "--". 0 or -errno + message. */
_must_use_ int top_command_start(struct top *t);
/* Reads what the command has written since the last call. */
void top_command_listen(struct top *t);
/*
 * Call it when the screen is closed: prints the command's output, waits until the command ends, and
 * returns its exit code.
 */
int top_command_finish(struct top *t);

/*
 * Ends the interval if its time is over. Returns 1 if it ended, so the tables must be refreshed; 0
 * if not; or -errno + message.
 */
_must_use_ int top_tick(struct top *t, uint64_t now);
/* Ends the current interval at once. 0 or -errno + message. */
_must_use_ int top_tick_now(struct top *t, uint64_t now);

/* Keeps the use of memory and disk bounded. top_tick() calls it. 0 or -errno + message. */
_must_use_ int top_bound(struct top *t);

/* Runs `krait top` with the options @o. Returns the exit code (exit.h). */
int cmd_top(const struct top_options *o);

#endif
