/* SPDX-License-Identifier: BSD-2-Clause */
/* krait top: a session whose samples go into a live view; see src/live. */
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
	 * options of record; must come first, because shared rows of option tables point into them
	 */
	struct record_options record;
	uint64_t interval_ns;
	uint64_t times; /* how many intervals to print; 0: no end */
	uint64_t rows;	/* how many rows a printed table has; 0: all */
	bool json, plain, with_native;
	enum live_table table;
	const char *sort;
	const char *filter; /* words that filter rows; NULL: none */
};

struct top {
	const struct top_options *options;
	struct session *session;
	struct live *live;
	struct table shown;
	uint64_t tick_ns; /* when the latest interval ended, CLOCK_MONOTONIC */
	/* from this number of samples on, the times of samples are dropped */
	uint64_t fold_at;
	uint64_t interval_ns; /* length of an interval; keys can change it */
	uint64_t printed;
	/* which processes and threads live; used until the profile is first condensed */
	struct census census;
	struct alive alive;
	/* the profile is condensed once the parts of it that grow take this many bytes */
	uint64_t condense_at;
	struct browse *browse; /* the screen's state; NULL: there is no screen */
	/*
	 * descriptor of a pipe with the command's output, while the screen has the terminal; -1:
	 * none, or the output has ended
	 */
	int said_fd;
	struct str said; /* the last part of the command's output */
	bool said_more;	 /* true: earlier output of the command was dropped */
};

/* Fills in what the head of the screen shows, except .target. */
void top_facts(const struct top *t, struct browse_facts *ret);

/* Print one interval on standard output, as text or as a line of JSON. 0 or -errno + message. */
_must_use_ int top_print_plain(struct top *t);
_must_use_ int top_print_json(struct top *t);

/* Runs the interactive screen until the user or a signal ends it. 0 or -errno + message. */
_must_use_ int top_screen(struct top *t);

/* command.c: starts the command after "--". 0 or -errno + message. */
_must_use_ int top_command_start(struct top *t);
/* Reads what the command has written since the last call. */
void top_command_listen(struct top *t);
/*
 * To be called when the screen is gone: prints the command's output, waits for its end, returns its
 * exit code.
 */
int top_command_finish(struct top *t);

/*
 * Ends the interval if its time is over. Returns 1 if it ended, and the view must be refreshed; 0
 * if not; -errno + message.
 */
_must_use_ int top_tick(struct top *t, uint64_t now);
/* Ends the current interval at once. 0 or -errno + message. */
_must_use_ int top_tick_now(struct top *t, uint64_t now);

/* Keeps memory and disk use bounded; each tick calls it. 0 or -errno + message. */
_must_use_ int top_bound(struct top *t);

/* Does what `krait top` was asked to do; returns the exit code (exit.h). */
int cmd_top(const struct top_options *o);

#endif
