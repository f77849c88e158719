/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table that `krait top` shows, updated sample by sample. Its rows are functions or lines or
 * modules or threads or processes or label values, as the user chooses. For each row it has values
 * in recent time, and since the start. This code works on a profile that grows, and knows neither
 * screens nor where samples come from. The limits below bound its memory, which doesn't grow with
 * time. Samples that don't fit are counted.
 */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "live/open.h"
#include "profile/remake/condense.h"
#include "profile/profile.h"
#include "profile/sums.h"
#include "view/names/frame.h"
#include "view/filter/select.h"
#include "view/waits/gil.h"
#include "view/waits/locks.h"

/* the most different pairs of stack and thread that are kept; that many take 40 MiB */
#define LIVE_MAX_SUMS	 (1u << 19)
#define LIVE_GIL_THREADS 6	    /* how many threads live.gil tells apart; it sums up the rest */
#define LIVE_MAX_ROWS	 (1u << 18) /* the most rows of a table; that many take 70 MiB */

/*
 * Spans of time. LIVE_RECENT: the last interval or, if .window is set, the latest intervals that
 * together are that long. LIVE_SINCE: all time since the start.
 */
enum live_span { LIVE_RECENT, LIVE_SINCE, LIVE_SPANS };
enum live_table {
	LIVE_FUNCTIONS,
	LIVE_LINES,
	LIVE_MODULES,
	/*
	 * from LIVE_THREADS on, a row of the table doesn't stand for code, but for a thread,
	 * process or label value
	 */
	LIVE_THREADS,
	LIVE_PROCESSES,
	LIVE_BY, /* the table of the values that label live.by has; only if live.by is set */
	LIVE_TABLES,
};

/*
 * What threads do. An item may cover several waiting states: X(NAME, name of the column, heading,
 * meaning, the values of label "state" that it covers).
 */
#define LIVE_STATES(X)                                                                             \
	X(RUNNING, "running", "RUN%", "on a CPU", "running")                                       \
	X(RUNNABLE, "runnable", "READY%", "ready to run, without a CPU", "runnable")               \
	X(GIL, "gil-wait", "GILW%", "waits for the GIL", "gil")                                    \
	X(LOCK, "lock", "LOCK%", "waits for a lock", "lock stop-the-world critical-section")       \
	X(NET, "net", "NET%", "waits for the network", "net")                                      \
	X(IO, "io", "IO%", "waits for a disk, a pipe or memory", "disk pipe page-fault")           \
	X(SLEEP, "sleep", "SLEEP%", "sleeps, or waits for events or a signal",                     \
	  "sleep poll loop signal")                                                                \
	X(OTHER, "other", "OTHER%", "waits for a child or anything else", "")

enum live_state {
#define X(name, word, heading, meaning, states) LIVE_STATE_##name,
	LIVE_STATES(X)
#undef X
		LIVE_STATE_MAX
};

/* Did the thread hold the GIL, by the label "gil" of its sample? Not known; yes; no. */
enum live_gil { LIVE_GIL_UNKNOWN, LIVE_GIL_HELD, LIVE_GIL_OTHER };

struct live_count {
	/*
	 * .samples: number of samples; 0 if it isn't known from how many samples the shown value
	 * comes (live_has_samples()). .value: the shown value, in nanoseconds if it is a time.
	 */
	int64_t samples, value;
	int64_t running; /* the part of .value that isn't waiting time */
	/*
	 * .held: the part of .running in which the thread held the GIL. .known: the part of
	 * .running for which it is known whether the thread held the GIL.
	 */
	int64_t held, known;
	/* the part of .value that was spent in the garbage collector (view_stack_kind()) */
	int64_t gc;
};

/*
 * One row of the table. If the row is a thread, process or label value, .self and .total are the
 * same.
 */
struct live_row {
	uint64_t key;
	/*
	 * .location: a location that belongs to the row. .labels: a label set of the row, which
	 * gives the row its name; 0 in tables of code
	 */
	uint32_t location, labels;
	/* the interval in which .self and .total[LIVE_RECENT] were counted; see live_self() */
	uint32_t tick;
	/*
	 * number (live.turn) of the last sum of samples that was counted for the row: a function
	 * that is in a stack several times counts once
	 */
	uint32_t turn;
	struct live_count self[LIVE_SPANS], total[LIVE_SPANS];
	/* total[LIVE_RECENT].value split by state; see live_in_state() */
	int64_t states[LIVE_STATE_MAX];
};

/* Whose samples are shown. A member that is 0 doesn't restrict them. */
struct live_only {
	/* process and thread, as ids of strings of the profile; only their samples are shown */
	uint32_t pid, tid;
	/* value of the label .by, as an id of live.texts; only samples with this value are shown */
	uint32_t text;
};

struct live_who {
	uint32_t pid, tid; /* process and thread, as ids of strings of the profile */
	/* the value of label .by: an id of live.texts; 0: the sample has no such label */
	uint32_t text;
	uint8_t gil;   /* enum live_gil: what the samples' label "gil" says */
	uint8_t state; /* enum live_state: what the samples' label "state" says */
	bool known;
};

/*
 * A part of the window of recent time: the sum of some consecutive intervals, which leave the
 * window together.
 */
struct live_part {
	struct sums sums;
	double seconds;
};

struct live {
	struct profile *p;
	unsigned value; /* index of the value that is shown */
	/* index of the value that is waiting time; -1: waiting time isn't recorded */
	int waits;
	bool wall; /* the shown value is .value plus waiting time */
	/*
	 * indexes of two values: time that the thread waited for the GIL, and time that other
	 * threads waited for the GIL while this thread held it; -1: there is no such value
	 */
	int gil_wait, gil_blame;
	struct live_open open; /* the waits that aren't over */
	/* who waited for whom for the GIL: .gil in the last interval, .gil_now since then */
	struct gil_pairs gil, gil_now;
	uint32_t key_pid, key_tid, key_gil, key_state;
	/* by id of a label set: process, thread, label value and states of its samples */
	VEC(struct live_who) who;
	uint32_t first_pid; /* pid of the first sample */
	bool several;	    /* samples of more than one process were seen */
	/*
	 * .now: sums of the interval that isn't over yet; .last: sums of the last interval; .since:
	 * sums since the start
	 */
	struct sums now, last, since;
	/* how many seconds of samples the span LIVE_RECENT has; 0: it is the last interval alone */
	double window;
	VEC(struct live_part) parts; /* parts of the window of recent time, the oldest first */
	struct sums merged;	     /* the sum of all .parts of the window of recent time */
	struct live_count interval;  /* the sum of all shown samples of the last interval */
	double interval_seconds;
	double seconds[LIVE_SPANS]; /* length of each span in seconds */
	/* by span: the sum over all that is shown; shares are percentages of this sum */
	struct live_count all[LIVE_SPANS];
	enum live_table table;
	struct live_only only;
	/*
	 * by kind of frame: such frames aren't shown and count for their callers; see live_stack()
	 */
	bool hide[KIND_MAX];
	/* the label by whose values table LIVE_BY groups; NULL: there is no such table */
	const char *by;
	struct intern texts; /* names of modules and values of label .by, each stored once */
	/* by location id: the location's module, as an id of .texts; 0: not looked up yet */
	VEC(uint32_t) modules;
	/* the names of frames that are shown, made by live_names() */
	struct render_names *names;
	/* how many functions the profile had when .names was made */
	size_t names_functions;
	const struct view_options *filter; /* the user's filter words; NULL: there are none */
	/* what .filter selected of the profile when the last interval ended */
	struct select select;
	size_t selected_locations, selected_labels;
	VEC(uint32_t) scratch;
	VEC(struct live_row) rows;
	struct map index; /* key of a row -> 1 + the row's index in .rows */
	uint32_t tick, turn;
	/* how many samples had no room in .since (LIVE_MAX_SUMS); they are counted in .all only */
	uint64_t not_kept;
	/* how often a count was dropped because there was no room for another row */
	uint64_t no_row;
};

/*
 * Makes tables of the samples of profile @p. @p and @filter are borrowed; @filter may be NULL. @p
 * must have its value types already. If @filter->by is set, there is a table of that label's
 * values. NULL: out of memory.
 */
struct live *live_new(struct profile *p, const struct view_options *filter);
void live_free(struct live *l); /* @l may be NULL */

/* Returns the sums of the span LIVE_RECENT. */
static inline const struct sums *live_recent(const struct live *l)
{
	return l->window > 0 ? &l->merged : &l->last;
}

/* Adds a sample of the profile. 0 or -ENOMEM + message. */
_must_use_ int live_add(struct live *l, const struct profile_sample *s);
/*
 * For open.c: adds a sample as live_add() does, but without subtracting the part of its wait that
 * was counted while the wait lasted.
 */
_must_use_ int live_count(struct live *l, const struct profile_sample *s);

/*
 * gil.c. live_gil_count() adds a sample to .gil_now. live_gil_tick() ends an interval.
 * live_gil_clear() forgets who waited for whom. 0 or -ENOMEM + message.
 */
_must_use_ int live_gil_count(struct live *l, const struct profile_sample *s);
_must_use_ int live_gil_tick(struct live *l);
void live_gil_clear(struct live *l);

/*
 * locks.c: finds out which threads' waits for locks ended in the last interval, and which threads
 * ended them. With @folded, threads whose names are the same or differ only in numbers are treated
 * as one (lock_waits_fold()). Call lock_waits_fini() in any case. 0 or -ENOMEM + message.
 */
_must_use_ int live_lock_waits(struct live *l, bool folded, struct lock_waits *ret);

/*
 * Ends an interval that was @seconds long: the samples that were added since the previous call
 * become the last interval. 0 or -ENOMEM + message.
 */
_must_use_ int live_tick(struct live *l, double seconds);

/* Drops all samples, so that counting begins anew. */
void live_reset(struct live *l);

/* Returns how many bytes the data take that grow with the samples. */
size_t live_bytes(const struct live *l);

/*
 * live_condense() begins to make the profile smaller (profile/remake/condense.h); the @keep
 * functions with the largest values stay. After that, whoever else holds ids of the profile takes
 * the new ids. Then, before condense_end(), live_condensed() shows again what was shown before
 * live_condense(). 0 or -ENOMEM + message.
 */
_must_use_ int live_condense(struct live *l, struct condense *c, size_t keep);
_must_use_ int live_condensed(struct live *l, struct condense *c);

/*
 * Returns the new key of the row of @table that had the key @key; 0: the row is gone. Call it
 * between live_condense() and live_condensed().
 */
uint64_t live_new_key(struct condense *c, enum live_table table, uint64_t key);

/* Shows table @table, and only the samples that @only selects. */
void live_show(struct live *l, enum live_table table, struct live_only only);

/* Shows value @value of the profile. With @wall, shows the sum of that value and waiting time. */
void live_show_value(struct live *l, unsigned value, bool wall);

/* Returns the shown value of a sample, or of a sum of samples. */
static inline int64_t live_value(const struct live *l, const int64_t *values)
{
	return values[l->value] + (l->wall ? values[l->waits] : 0);
}

/* Tells whether the shown value includes waiting time. */
static inline bool live_shows_waits(const struct live *l)
{
	return l->wall || (int)l->value == l->waits;
}

/* Returns the type and the unit of the shown value. */
static inline struct profile_value_type live_value_type(const struct live *l)
{
	return l->wall ? (struct profile_value_type){"wall", "nanoseconds"}
		       : profile_meta(l->p)->values[l->value];
}

/*
 * Tells whether it is known from how many samples the shown value comes. Only the samples of the
 * first event are counted (docs/decisions/0021): value 0 is their number, and value 1 is what this
 * event measures.
 */
static inline bool live_has_samples(const struct live *l)
{
	return l->value <= 1 && !l->wall;
}

/*
 * Return the row's own count and its total count in a span of time. A count is zero if the row has
 * no samples in that span.
 */
struct live_count live_self(const struct live *l, const struct live_row *row, enum live_span span);
struct live_count live_total(const struct live *l, const struct live_row *row, enum live_span span);

/* Returns how much of the row's total in the span LIVE_RECENT its threads spent in @state. */
int64_t live_in_state(const struct live *l, const struct live_row *row, enum live_state state);

/*
 * Returns those frames of a stack that are shown, innermost first. If all its frames are of hidden
 * kinds, all are shown. The result is valid until the next call.
 */
const uint32_t *live_stack(struct live *l, uint32_t stack, size_t *n);

/* Returns the key of a location's row in @table, which must be functions, lines or modules. */
uint64_t live_key(struct live *l, enum live_table table, uint32_t location);

/* Returns the text of the row with this key, in tables of modules or label values. */
const char *live_text(const struct live *l, uint64_t key);

/*
 * Returns the names of frames. Names depend on all functions together, so all names are made again
 * when the profile has new functions. NULL: out of memory.
 */
const struct render_names *live_names(struct live *l);

/* Returns process, thread, label value, GIL state and wait state of a label set. */
const struct live_who *live_who(struct live *l, uint32_t labels);

/* Tells whether samples with this key are shown: .only and the user's filter words decide. */
bool live_shows(struct live *l, const struct sums_key *s);

#endif
