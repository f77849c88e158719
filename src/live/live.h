/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `krait top` shows, updated sample by sample. There is one table at a time: of functions,
 * lines, modules, threads, processes or label values. For each row it has the row's values in
 * recent time and since the start. It works on a profile that grows, and knows neither screens nor
 * where samples come from. The limits below bound its memory, which doesn't grow with time. Samples
 * that don't fit are counted.
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

/* the most different pairs of stack and thread, which take 40 MiB */
#define LIVE_MAX_SUMS	 (1u << 19)
#define LIVE_GIL_THREADS 6	    /* the most threads that are told apart in live.gil */
#define LIVE_MAX_ROWS	 (1u << 18) /* the most rows of the tables, which take 70 MiB */

/*
 * Spans of time. LIVE_RECENT: the last interval or, if .window is set, the latest intervals that
 * cover that time. LIVE_SINCE: all since the start.
 */
enum live_span { LIVE_RECENT, LIVE_SINCE, LIVE_SPANS };
enum live_table {
	LIVE_FUNCTIONS,
	LIVE_LINES,
	LIVE_MODULES,
	/*
	 * in LIVE_THREADS and the tables after it, a row isn't code, but says whose samples they
	 * are
	 */
	LIVE_THREADS,
	LIVE_PROCESSES,
	LIVE_BY, /* the table of values of the label live.by; only if live.by is set */
	LIVE_TABLES,
};

/*
 * What threads do. An item may stand for several states of waiting: X(NAME, word of the column,
 * heading, meaning, states).
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

/* What the label "gil" of a sample says. */
enum live_gil { LIVE_GIL_UNKNOWN, LIVE_GIL_HELD, LIVE_GIL_OTHER };

struct live_count {
	/*
	 * .samples: number of samples; 0 if the shown value isn't of samples that are counted
	 * (live_has_samples()). .value: the shown value, in nanoseconds if it is a time.
	 */
	int64_t samples, value;
	int64_t running; /* the part of .value in which threads didn't wait */
	/*
	 * .held: the part of .running in which the thread held the GIL. .known: the part of
	 * .running for which it is known whether the thread held the GIL.
	 */
	int64_t held, known;
	/* the part of .value that was spent in the garbage collector (view_stack_kind()) */
	int64_t gc;
};

/*
 * One row of the table. In a row of a thread, process or label value, self and total are the same.
 */
struct live_row {
	uint64_t key;
	/*
	 * .location: a location of the row; .labels: a label set of the row, for the row's name, 0
	 * in tables of code
	 */
	uint32_t location, labels;
	/* the interval in which .self and .total[LIVE_RECENT] were counted; see live_self() */
	uint32_t tick;
	/* the number of the stack that was counted last for the row, so that a stack counts once */
	uint32_t turn;
	struct live_count self[LIVE_SPANS], total[LIVE_SPANS];
	int64_t states[LIVE_STATE_MAX]; /* total[LIVE_RECENT].value by state; see live_in_state() */
};

/*
 * Whose samples are shown. A field of 0 doesn't limit that: samples of all processes, of all
 * threads, or with any text are shown.
 */
struct live_only {
	uint32_t pid, tid; /* process and thread, as strings of the profile */
	uint32_t text;	   /* value of the label .by, as an id of live.texts */
};

struct live_who {
	uint32_t pid, tid; /* process and thread, as strings of the profile */
	/* the value of label .by: an id of live.texts; 0: the sample has no such label */
	uint32_t text;
	uint8_t gil;   /* enum live_gil: what the samples' label "gil" says */
	uint8_t state; /* enum live_state: what the samples' label "state" says */
	bool known;
};

/* A part of the window of recent time: the sums of intervals that leave the window together. */
struct live_part {
	struct sums sums;
	double seconds;
};

struct live {
	struct profile *p;
	unsigned value; /* index of the value that is shown */
	int waits;	/* index of the value that is waiting time; -1: waiting isn't sampled */
	bool wall;	/* shows .value and waiting time in sum */
	/*
	 * indices of two values: time that the thread waited for the GIL, and time that other
	 * threads waited for a GIL that it held; -1: there is no such value
	 */
	int gil_wait, gil_blame;
	struct live_open open; /* waits that aren't over */
	/*
	 * who waited for whom for the GIL: .gil in the last interval, .gil_now since that interval
	 */
	struct gil_pairs gil, gil_now;
	uint32_t key_pid, key_tid, key_gil, key_state;
	VEC(struct live_who) who; /* by id of a label set: the process and thread that have it */
	uint32_t first_pid;	  /* pid of the first sample */
	bool several;		  /* samples of several processes were seen */
	/*
	 * .now: sums of the interval that isn't over yet; .last: sums of the last interval; .since:
	 * sums since the start
	 */
	struct sums now, last, since;
	/* how many seconds of samples the span LIVE_RECENT has; 0: the last interval alone */
	double window;
	VEC(struct live_part) parts; /* parts of the window of recent time, the oldest first */
	struct sums merged;	     /* the sum of the window's .parts */
	struct live_count interval;  /* the sum of what is shown of the last interval */
	double interval_seconds;
	double seconds[LIVE_SPANS]; /* length of each span in seconds */
	/* by span: the sum of what is shown, which is 100 % */
	struct live_count all[LIVE_SPANS];
	enum live_table table;
	struct live_only only;
	/*
	 * by kind of frame: frames of this kind aren't shown but count for their callers; see
	 * live_stack()
	 */
	bool hide[KIND_MAX];
	const char *by;	     /* label by whose values the table LIVE_BY groups; NULL: none */
	struct intern texts; /* interned texts: names of modules, values of label .by */
	/* by location id: id in .texts of the location's module; 0: not looked up yet */
	VEC(uint32_t) modules;
	struct render_names *names;	   /* names of frames as they are shown, by live_names() */
	size_t names_functions;		   /* number of functions when .names was made */
	const struct view_options *filter; /* the filter words of the user; NULL: none */
	/* what .filter selects of the profile, as of the last interval */
	struct select select;
	size_t selected_locations, selected_labels;
	VEC(uint32_t) scratch;
	VEC(struct live_row) rows;
	struct map index; /* key of a row -> index of the row in .rows, + 1 */
	uint32_t tick, turn;
	/* how many samples had no room in .since (LIVE_MAX_SUMS); such samples are only in .all */
	uint64_t not_kept;
	/* how many counts were dropped because there was no room for another row */
	uint64_t no_row;
};

/*
 * Makes tables of the samples of @p; NULL: out of memory. @p and @filter (NULL: none) are borrowed.
 * @p must have its value types already. With @filter->by there is a table by that label.
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
 * For open.c: adds a sample as live_add() does, but doesn't subtract the time of its wait that was
 * counted while the wait lasted.
 */
_must_use_ int live_count(struct live *l, const struct profile_sample *s);

/*
 * gil.c. live_gil_count() takes in a sample for .gil_now. live_gil_tick() ends an interval.
 * live_gil_clear() forgets who waited for whom. 0 or -ENOMEM + message.
 */
_must_use_ int live_gil_count(struct live *l, const struct profile_sample *s);
_must_use_ int live_gil_tick(struct live *l);
void live_gil_clear(struct live *l);

/*
 * locks.c: computes whose waits for locks ended in the last interval; with @folded,
 * lock_waits_fold() then joins threads. lock_waits_fini() must be called in any case. 0 or -ENOMEM
 * + message.
 */
_must_use_ int live_lock_waits(struct live *l, bool folded, struct lock_waits *ret);

/*
 * Ends an interval of @seconds: what was added since the last tick becomes the last interval. 0 or
 * -ENOMEM + message.
 */
_must_use_ int live_tick(struct live *l, double seconds);

/* Drops all samples, so that counting begins anew. */
void live_reset(struct live *l);

/* Returns how many bytes are used by what grows with the samples. */
size_t live_bytes(const struct live *l);

/*
 * live_condense() begins to make the profile smaller (profile/remake/condense.h) and keeps @keep
 * functions. Then everybody else who holds ids takes new ones. live_condensed() is called after
 * that and before condense_end(); it shows again what was shown before live_condense(). 0 or
 * -ENOMEM + message.
 */
_must_use_ int live_condense(struct live *l, struct condense *c, size_t keep);
_must_use_ int live_condensed(struct live *l, struct condense *c);

/*
 * Returns the new key of the row of @table that had @key; 0: the row is gone. To be called between
 * live_condense() and live_condensed().
 */
uint64_t live_new_key(struct condense *c, enum live_table table, uint64_t key);

/* Shows another table, or the samples of other processes or threads. */
void live_show(struct live *l, enum live_table table, struct live_only only);

/* Shows another of the profile's values. @wall: the value shown is that value plus waiting time. */
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

/* Returns type and unit of the shown value. */
static inline struct profile_value_type live_value_type(const struct live *l)
{
	return l->wall ? (struct profile_value_type){"wall", "nanoseconds"}
		       : profile_meta(l->p)->values[l->value];
}

/*
 * Tells whether it is known from how many samples the shown value comes. Only samples of the first
 * event are counted (docs/decisions/0021): value 0 is their number, value 1 is what that event
 * measures.
 */
static inline bool live_has_samples(const struct live *l)
{
	return l->value <= 1 && !l->wall;
}

/* Return the count of a row in a span; zero if the row has no samples in it. */
struct live_count live_self(const struct live *l, const struct live_row *row, enum live_span span);
struct live_count live_total(const struct live *l, const struct live_row *row, enum live_span span);

/* Returns how much of the row's total in the span LIVE_RECENT its threads spent in a state. */
int64_t live_in_state(const struct live *l, const struct live_row *row, enum live_state state);

/*
 * Returns the frames of a stack that are shown, innermost first. If all frames are of hidden kinds,
 * all are shown. Valid until the next call.
 */
const uint32_t *live_stack(struct live *l, uint32_t stack, size_t *n);

/* Returns the key of a location's row in @table, which must be functions, lines or modules. */
uint64_t live_key(struct live *l, enum live_table table, uint32_t location);

/* Returns the text of a row of modules or of label values, by the row's key. */
const char *live_text(const struct live *l, uint64_t key);

/*
 * Returns the names of frames. Names are chosen for all functions together, so all names are made
 * again when there are new functions. NULL: out of memory.
 */
const struct render_names *live_names(struct live *l);

/* Returns process, thread, label value and GIL state of a label set. */
const struct live_who *live_who(struct live *l, uint32_t labels);

/* Tells whether a sample is shown, which .only and the filter words decide. */
bool live_shows(struct live *l, const struct sums_key *s);

#endif
