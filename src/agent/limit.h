/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the agent's CPU time below its limit, by its effort: the sampling rate and the wait budget.
 * While the agent takes more than its limit, both are halved, again and again. When twice the
 * effort would fit into the limit, both are doubled again. A sample's weight is its own period, so
 * shares and times stay right, but get less exact.
 *
 * While the condition of a trigger is met (trigger.h), the agent samples more often than the user
 * asked, as long as that fits into the limit.
 */
#ifndef AGENT_LIMIT_H
#define AGENT_LIMIT_H

#include "record/session.h"

/* What the user asks for: how much the agent samples, and its limit. */
struct effort {
	uint32_t hz, wait_budget_ppm; /* the same members as in struct session_options */
	/* the agent's limit of CPU time in millionths of one CPU; 0: no limit */
	uint32_t max_cpu_ppm;
};

struct limit {
	struct session *s;
	struct effort asked;
	unsigned halvings; /* how often the asked rate and budget are halved at present */
	/* .wanted: a trigger's condition is met; .raised: so the agent samples more often now */
	bool wanted, raised;
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
 * With @more, samples more often than the user asked; without @more, as often as the user asked.
 * Call it when a trigger's condition is met, and when none is met any more. Returns what
 * limit_turn() does.
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
