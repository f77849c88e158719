/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `krait top` shows, kept up to date sample by sample: one table of functions, lines, modules,
 * threads, processes or a label's values, each with what it had in the last interval and since the start. Works on a profile
 * that grows; knows neither screens nor where samples come from. Memory is bounded by the caps
 * below, not by time: what doesn't fit is counted.
 */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "profile/condense.h"
#include "profile/profile.h"
#include "profile/sums.h"
#include "view/names/names.h"
#include "view/select.h"

#define LIVE_MAX_SUMS (1u << 19) /* distinct (stack, thread): 40 MiB */
#define LIVE_MAX_ROWS (1u << 18) /* 45 MiB */

/* Recent: the last interval or, with .window, the last intervals that are so long together. */
enum live_span { LIVE_RECENT, LIVE_SINCE, LIVE_SPANS };
enum live_table {
	LIVE_FUNCTIONS,
	LIVE_LINES,
	LIVE_MODULES,
	LIVE_THREADS, /* from here on a row says whose samples they are */
	LIVE_PROCESSES,
	LIVE_BY, /* only where .by is set */
	LIVE_TABLES,
};

/* The label "gil" of a sample. */
enum live_gil { LIVE_GIL_UNKNOWN, LIVE_GIL_HELD, LIVE_GIL_OTHER };

struct live_count {
	int64_t samples, value; /* value: the profile's default one, nanoseconds where it is time */
	int64_t held, known;	/* of value: with the GIL; where that is known */
	int64_t gc;		/* of value: the garbage collector's, view_stack_kind() */
};

/* One line of the table. Of a thread, a process or a label self and total are the same. */
struct live_row {
	uint64_t key;
	uint32_t location,
		labels; /* one that belongs to it, for its name; of the others' table: 0 */
	uint32_t tick;	/* .self and .total[LIVE_RECENT] are as of that tick: live_self() */
	uint32_t turn;	/* when it was counted last: once a stack */
	struct live_count self[LIVE_SPANS], total[LIVE_SPANS];
};

/* Whose samples are shown; 0 = everybody's. */
struct live_only {
	uint32_t pid, tid; /* strings of the profile */
	uint32_t text;	   /* of .by */
};

struct live_who {
	uint32_t pid, tid; /* strings */
	uint32_t text;	   /* of .by; 0 = without one */
	uint8_t gil;	   /* enum live_gil */
	bool known;
};

/* Intervals that are dropped together from what is recent. */
struct live_part {
	struct sums sums;
	double seconds;
};

struct live {
	struct profile *p;
	unsigned value; /* index of the value that is shown */
	uint32_t key_pid, key_tid, key_gil;
	VEC(struct live_who) who;     /* by label set */
	uint32_t first_pid;	      /* of the first sample */
	bool several;		      /* processes */
	struct sums now, last, since; /* being filled; the last interval; since the start */
	double window;		      /* seconds; 0: recent is the last interval alone */
	VEC(struct live_part) parts;  /* of the window, the oldest first */
	struct sums merged;	      /* all of these */
	struct live_count interval;   /* what the last interval shows */
	double interval_seconds;
	double seconds[LIVE_SPANS];	   /* how long they took */
	struct live_count all[LIVE_SPANS]; /* all that is shown: 100 % */
	enum live_table table;
	struct live_only only;
	bool hide[KIND_MAX];	    /* frames of this kind count for their caller: live_stack() */
	const char *by;		    /* the label that the samples are told apart by, or NULL */
	struct intern texts;	    /* modules, values of .by */
	VEC(uint32_t) modules;	    /* of texts, by location; 0 = not looked up yet */
	struct render_names *names; /* live_names() */
	size_t names_functions;	    /* that these were made for */
	const struct view_options *filter; /* the user's filter words; NULL = none */
	struct select select;		   /* of .filter, as the profile was at the latest tick */
	size_t selected_locations, selected_labels;
	VEC(uint32_t) scratch;
	VEC(struct live_row) rows;
	struct map index; /* key -> index + 1 in rows */
	uint32_t tick, turn;
	uint64_t not_kept; /* samples whose stack is one too many: in all, not in .since */
	uint64_t no_row;   /* counts for which there was no row left */
};

/*
 * NULL on out of memory. @p and @filter (NULL: none) are borrowed; @p already has its values' types.
 * With @filter->by there is a table by that label.
 */
struct live *live_new(struct profile *p, const struct view_options *filter);
void live_free(struct live *l); /* NULL is fine */

/* Sums of what is recent. */
static inline const struct sums *live_recent(const struct live *l)
{
	return l->window > 0 ? &l->merged : &l->last;
}

/* A sample of @p. 0 or -ENOMEM + message. */
_must_use_ int live_add(struct live *l, const struct profile_sample *s);

/* What was added since the tick before becomes the last interval, of @seconds. 0 or -ENOMEM. */
_must_use_ int live_tick(struct live *l, double seconds);

/* Everything begins anew. */
void live_reset(struct live *l);

/* Memory of what grows with what is met. */
size_t live_bytes(const struct live *l);

/*
 * The profile made small: begins it, keeping @keep functions. The others who hold ids take new ones, then
 * live_condensed(), with which all is shown as before. 0 or -ENOMEM + message.
 */
_must_use_ int live_condense(struct live *l, struct condense *c, size_t keep);
_must_use_ int live_condensed(struct live *l, struct condense *c);

/* Between these: the key that a row of @table had, and its new one; 0: it isn't known any more. */
uint64_t live_new_key(struct condense *c, enum live_table table, uint64_t key);

/* Another table, or of other processes or threads. */
void live_show(struct live *l, enum live_table table, struct live_only only);

/* What a row had in the last interval; zero if it wasn't seen there. */
struct live_count live_self(const struct live *l, const struct live_row *row, enum live_span span);
struct live_count live_total(const struct live *l, const struct live_row *row, enum live_span span);

/*
 * The frames of a stack that are shown, leaf first; of one with frames of hidden kinds
 * only, all. Valid until
 * the next call.
 */
const uint32_t *live_stack(struct live *l, uint32_t stack, size_t *n);

/* Which row of @table a location belongs to: functions, lines, modules. */
uint64_t live_key(struct live *l, enum live_table table, uint32_t location);

/* Of a row of modules or of .by, its key: the text. */
const char *live_text(const struct live *l, uint64_t key);

/* Names are decided for all files at once: made again when there are new functions. NULL: no memory. */
const struct render_names *live_names(struct live *l);

/* Whose samples these are. */
const struct live_who *live_who(struct live *l, uint32_t labels);

/* Is a sample shown? By whose it is, and by the filter words. */
bool live_shows(struct live *l, const struct profile_sample *s);

#endif
