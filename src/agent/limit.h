/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the agent's CPU time within what it may take: above it, the rate of samples and the budget
 * of waits are halved, again and again, and doubled once less would do. Samples weigh their own
 * period, so that shares and times stay right; they are only less exact.
 */
#ifndef AGENT_LIMIT_H
#define AGENT_LIMIT_H

#include "record/session.h"

/* What is asked for. */
struct effort {
	uint32_t hz, wait_budget_ppm; /* as in struct session_options */
	uint32_t max_cpu_ppm;	      /* millionths of one CPU; 0: no limit */
};

struct limit {
	struct session *s;
	struct effort asked;
	unsigned halvings;     /* how often rate and budget are halved now */
	unsigned lowered;      /* how often they were halved since the beginning */
	uint64_t begin_ns;     /* when the window began, CLOCK_MONOTONIC */
	uint64_t begin_cpu_ns; /* CPU time of the agent at that time */
	unsigned hot;	       /* windows in a row that took more than is allowed */
	unsigned calm;	       /* windows in a row that would allow twice the effort */
};

/* @now_ns: the beginning, which may take more than is allowed: each process is met then. */
void limit_begin(struct limit *l, struct session *s, const struct effort *asked, uint64_t now_ns);

/*
 * To be called about once a second with the agent's CPU time since it began. Returns 1 if the
 * effort has changed, which a comment of the profile says; 0; -errno + message.
 */
_must_use_ int limit_turn(struct limit *l, uint64_t now_ns, uint64_t cpu_ns);

/* Goes on with another effort. 0; -EINVAL + message: the old one stays. */
_must_use_ int limit_ask(struct limit *l, const struct effort *asked);

/* The rate that is in force. */
uint32_t limit_hz(const struct limit *l);

#endif
