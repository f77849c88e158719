/* SPDX-License-Identifier: BSD-2-Clause */
/* krait top: a session whose samples go into a live view; see src/live. */
#ifndef CLI_TOP_TOP_H
#define CLI_TOP_TOP_H

#include "cli/record/record.h"
#include "cli/top/alive.h"
#include "live/browse.h"
#include "live/live.h"
#include "live/table.h"
#include "record/census.h"
#include "record/session.h"

struct top_options {
	struct record_options record; /* first: shared rows of option tables point into it */
	uint64_t interval_ns;
	uint64_t times; /* intervals to print, then the end; 0 = until it is ended */
	uint64_t rows;	/* of a printed table; 0 = all */
	bool json, plain, with_native;
	enum live_table table;
	const char *sort;
	const char *filter; /* NULL = none */
};

struct top {
	const struct top_options *options;
	struct session *session;
	struct live *live;
	struct table shown;
	uint64_t tick_ns;     /* CLOCK_MONOTONIC of the latest tick */
	uint64_t fold_at;     /* samples in the profile when their times are given up next */
	uint64_t interval_ns; /* can be changed by keys */
	uint64_t printed;
	struct census census; /* until the profile is made small for the first time */
	struct alive alive;
	uint64_t condense_at;  /* bytes that what grows may have until it is made small */
	struct browse *browse; /* NULL: no screen */
	int said_fd; /* what the command says while the screen has the terminal; -1: nothing to come */
	struct str said; /* the end of it */
	bool said_more;	 /* its beginning isn't kept */
};

/* What the head says beside the table; without .target. */
void top_facts(const struct top *t, struct browse_facts *ret);

/* One interval on standard output, as text or as a line of JSON. 0 or -errno + message. */
_must_use_ int top_print_plain(struct top *t);
_must_use_ int top_print_json(struct top *t);

/* The interactive screen, until it is ended. 0 or -errno + message. */
_must_use_ int top_screen(struct top *t);

/* command.c: the command after "--". 0 or -errno + message. */
_must_use_ int top_command_start(struct top *t);
/* Takes what it has said since. */
void top_command_listen(struct top *t);
/* The screen is gone: shows that, waits for its end; its exit code. */
int top_command_finish(struct top *t);

/* Ends an interval if it is time; the view is to be made new then. 1: it did, 0: not yet; -errno + message. */
_must_use_ int top_tick(struct top *t, uint64_t now);
/* The same at once. 0 or -errno + message. */
_must_use_ int top_tick_now(struct top *t, uint64_t now);

/* Keeps memory and disk bounded; a tick does it. 0 or -errno + message. */
_must_use_ int top_bound(struct top *t);

/* The whole of `krait top` after the command line; returns the exit code (exit.h). */
int cmd_top(const struct top_options *o);

#endif
