/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trigger has a condition that the sampler checks again and again. When the condition is met, the
 * time from a minute before until a minute after that moment is pinned in the store (its samples
 * are kept when others of their age are removed), with words that say why. While a condition is
 * met, the agent samples more often (limit.h). trigger.c has the table of triggers.
 */
#ifndef AGENT_TRIGGER_H
#define AGENT_TRIGGER_H

#include "agent/link.h"
#include "profile/profile.h"

/*
 * how many pinned windows of time can be extended; if there are more, the oldest can't be extended
 * any more
 */
#define TRIGGERS_HELD 16

/*
 * For the triggers on CPU time and on waiting: how much time each service took in a window of 10 s.
 */
struct usage {
	/* how much a service may take, in millionths of the window; 0: there is no limit */
	uint64_t most_ppm;
	uint64_t began_ns; /* when the window began, CLOCK_MONOTONIC */
	/*
	 * index of the profile's value that is added up (CPU or waiting time); -1: it isn't
	 * recorded
	 */
	int value;
	struct used {
		char name[64];
		int64_t ns;
	} used[64]; /* services that don't fit aren't looked at */
	unsigned n;
	/*
	 * in the last complete window, a service took more than .most_ppm; .words names this
	 * service
	 */
	bool holds;
	char words[PIN_WORDS_BYTES];
};

struct triggers {
	struct link *link;
	/* pipe to the hook's process (hook_begin()); the caller sets it after triggers_begin() */
	int hook;
	struct usage cpu, waiting;
	/*
	 * the first process that failed since triggers_turn() was last called, in words; "": no
	 * process did
	 */
	char failed[PIN_WORDS_BYTES];
	struct held {
		const struct trigger *row;
		struct pin pin;
		/*
		 * .end_ns: when the window ends; .most_ns: its latest possible end; .sent_ns: the
		 * end that the writer knows
		 */
		uint64_t end_ns, most_ns, sent_ns;
		/* the trigger's condition was met in the last triggers_turn() */
		bool holds;
	} held[TRIGGERS_HELD];
	unsigned n;
};

/*
 * Begins to check triggers. @cpu_ppm: the most CPU time that a service may take, in millionths of
 * one CPU. @wait_ppm: how long a service may wait, in millionths of one thread's time.
 */
void triggers_begin(struct triggers *t, struct link *link, struct profile *p, uint64_t cpu_ppm,
		    uint64_t wait_ppm, uint64_t now);

/* Call it for each sample that is stored. */
void triggers_sample(struct triggers *t, const struct profile *p, const struct profile_sample *s);

/*
 * Call it when a process ends. @status: as waitpid() gives it. An end that somebody asked for, by
 * SIGTERM, SIGINT or SIGHUP, is no failure.
 */
void triggers_ended(struct triggers *t, uint32_t tgid, const char *name, int status);

/*
 * Checks all conditions, and pins the windows of those that are met. @wall_ms: the wall clock's
 * time at @now. Returns true if a pinned window hasn't ended yet; the agent samples more often
 * until then.
 */
bool triggers_turn(struct triggers *t, uint64_t now, int64_t wall_ms);

#endif
