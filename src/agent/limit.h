/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the agent's CPU time below its limit. While it takes more, the rate of samples and the
 * budget of waits are halved, again and again. When twice the effort would fit into the limit, they
 * are doubled again. A sample's weight is its own period, so shares and times stay right, but get
 * less exact.
 * While a trigger holds, the agent samples more often than asked, as long as that fits.
 */
#ifndef AGENT_LIMIT_H
#define AGENT_LIMIT_H

#include "record/session.h"

/* The effort that the user asks for. */
struct effort {
	uint32_t hz, wait_budget_ppm; /* the same members as in struct session_options */
	/* the agent's limit of CPU time in millionths of one CPU; 0: no limit */
	uint32_t max_cpu_ppm;
};

struct limit {
	struct session *s;
	struct effort asked;
	unsigned halvings;     /* how often the asked rate and budget are halved at present */
	bool wanted, raised;   /* samples more often: is to, and does */
	unsigned lowered;      /* how often rate and budget were halved since the agent began */
	uint64_t begin_ns;     /* when the present window of 10 s began, CLOCK_MONOTONIC */
	uint64_t begin_cpu_ns; /* CPU time of the agent up to .begin_ns */
	unsigned hot;	       /* how many windows in a row took more CPU time than is allowed */
	unsigned calm;	       /* how many windows in a row would have allowed twice the effort */
};

/*
 * @now_ns: when the agent begins. The first 10 s after that aren't judged, because krait looks at
 * all processes then.
 */
void limit_begin(struct limit *l, struct session *s, const struct effort *asked, uint64_t now_ns);

/*
 * To be called about once a second with the agent's CPU time since it began. Returns 1 if the
 * effort has changed, and a comment of the profile says so; 0 if not; or -errno + message.
 */
_must_use_ int limit_turn(struct limit *l, uint64_t now_ns, uint64_t cpu_ns);

/*
 * Samples more often than asked, or as often again: to be called while a trigger holds, and after
 * it. Returns what limit_turn() does.
 */
_must_use_ int limit_raise(struct limit *l, bool more);

/*
 * Changes the effort that is asked for. Returns 0, or -EINVAL + message; in that case the old
 * effort stays in force.
 */
_must_use_ int limit_ask(struct limit *l, const struct effort *asked);

/* Returns the rate at which CPU time is sampled now, in samples a second. */
uint32_t limit_hz(const struct limit *l);

#endif
