/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When the sampling events of a CPU are due. A program that works in step with a fixed period would
 * always be met at the same place, so periods are drawn at random, again and again
 * (docs/decisions/0017-never-in-step.md). Arithmetic only: event_set.c tells the kernel.
 *
 * A clock is several events on each CPU, each with a period of its own; their rates add up to the
 * rate that was asked for, so a sample weighs the period that was asked for, at any time. A counter
 * is one event, and a sample weighs the period that was in force.
 */
#ifndef SAMPLER_RATE_H
#define SAMPLER_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct event;

#define RATE_PARTS_MAX 4

struct rate {
	int cpu;
	unsigned parts;			 /* events of the CPU */
	uint64_t period[RATE_PARTS_MAX]; /* of each part; Hz if the kernel adapts the period */
	uint64_t since_ns;		 /* in force since then, 0 = not begun */
	uint64_t records;		 /* that came from this CPU since */
	/*
	 * Clocks: a change drops what had passed of each period. So many samples were dropped and
	 * not yet made up for, and so many more are taken each ns to make up for them.
	 */
	double owed, extra_per_ns;
};

/* How many events sample a CPU. */
unsigned rate_parts(const struct event *e);

/* Draws .period anew. @random: the state of a generator, any number at first. */
void rate_draw(struct rate *r, const struct event *e, uint64_t now_ns, uint64_t *random);

/* Is it time to draw again? */
bool rate_is_due(const struct rate *r, const struct event *e, uint64_t now_ns);

#endif
