/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides when the sampling events of a CPU are due. With a fixed period, a program that works in
 * step with the period would always be sampled at the same point of its work. So periods are chosen
 * at random, again and again (docs/decisions/0017-never-in-step.md). This file only does the
 * arithmetic; event_set.c tells the kernel.
 *
 * A clock is several events on each CPU, each with a period of its own. Their rates add up to the
 * rate that was asked for, so a sample always weighs the period that was asked for. A counter is
 * one event, and a sample weighs the period that was in force.
 */
#ifndef SAMPLER_SOURCES_RATE_H
#define SAMPLER_SOURCES_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct event;

#define RATE_PARTS_MAX 4

struct rate {
	int cpu;
	unsigned parts; /* number of sampling events of the CPU */
	/* the period of each event of the CPU; if the kernel adapts the period, the rate in Hz */
	uint64_t period[RATE_PARTS_MAX];
	uint64_t since_ns; /* since when the periods are in force; 0: they aren't yet */
	uint64_t records;  /* how many samples came from this CPU since .since_ns */
	/*
	 * For clocks: a change of periods drops that part of each period that has passed. .owed:
	 * samples that were dropped and not replaced yet. .extra_per_ns: additional samples that
	 * replace them, per ns.
	 */
	double owed, extra_per_ns;
};

/* Returns how many sampling events each CPU would have for event @e if @e were opened now. */
unsigned rate_parts(const struct event *e);

/*
 * Draws new periods at random. @random: state of the random numbers; any number may be its first
 * value.
 */
void rate_draw(struct rate *r, const struct event *e, uint64_t now_ns, uint64_t *random);

/*
 * Draws periods for clock @to at random. @from: the clock with another rate for which the present
 * periods were drawn. The number of parts (sampling events of each CPU) stays.
 */
void rate_change(struct rate *r, const struct event *from, const struct event *to, uint64_t now_ns,
		 uint64_t *random);

/* Is it time to draw new periods? */
bool rate_is_due(const struct rate *r, const struct event *e, uint64_t now_ns);

#endif
