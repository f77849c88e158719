/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Triggers: conditions that the sampler checks again and again. When a condition is met, the time
 * from a minute before that until a minute after it is pinned in the store, with words that say
 * why. While a condition is met, the agent samples more often (limit.h). trigger.c has the table of
 * triggers.
 */
#ifndef AGENT_TRIGGER_H
#define AGENT_TRIGGER_H

#include "agent/link.h"
#include "profile/profile.h"

/*
 * how many pinned windows can be extended at a time; if there are more, the oldest isn't extended
 * any longer
 */
#define TRIGGERS_HELD 16

/*
 * For the triggers on CPU time and on waiting: how much time each service took in a window of some
 * seconds.
 */
struct usage {
	/* the most that a service may take, in millionths of the window; 0: it isn't looked at */
	uint64_t most_ppm;
	uint64_t began_ns; /* when the window began, CLOCK_MONOTONIC */
	int value;	   /* index of the value that is added up; -1: it isn't recorded */
	struct used {
		char name[64];
		int64_t ns;
	} used[64]; /* further services aren't looked at */
	unsigned n;
	/* a service took more than .most_ppm in the last whole window; .words names the service */
	bool holds;
	char words[PIN_WORDS_BYTES];
};

struct triggers {
	struct link *link;
	int hook; /* of hook_begin(); set by the caller after triggers_begin() */
	struct usage cpu, waiting;
	/* the first process that failed since the last turn, in words; "": none did */
	char failed[PIN_WORDS_BYTES];
	struct held {
		const struct trigger *row;
		struct pin pin;
		uint64_t end_ns, most_ns, sent_ns; /* when it ends, at most, and as it was sent */
		bool holds;			   /* its condition was met in the last turn */
	} held[TRIGGERS_HELD];
	unsigned n;
};

/* @cpu_ppm, @wait_ppm: the most that a service may take, of one CPU and of one thread's time. */
void triggers_begin(struct triggers *t, struct link *link, struct profile *p, uint64_t cpu_ppm,
		    uint64_t wait_ppm, uint64_t now);

/* To be called for each sample that is stored. */
void triggers_sample(struct triggers *t, const struct profile *p, const struct profile_sample *s);

/*
 * To be called when a process ends. @status: as waitpid() gives it. An end that somebody asked for,
 * by SIGTERM, SIGINT or SIGHUP, is no error.
 */
void triggers_ended(struct triggers *t, uint32_t tgid, const char *name, int status);

/*
 * Checks all conditions, and pins the windows of those that are met. @wall_ms: the wall clock's
 * time at @now. Returns whether any condition is met; the agent then samples more often.
 */
bool triggers_turn(struct triggers *t, uint64_t now, int64_t wall_ms);

#endif
