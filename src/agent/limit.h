/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the agent's CPU time below its limit by changing its effort, which is the sampling rate and
 * the wait budget (the CPU time that stacks of waits may take). While the agent takes more CPU time
 * than its limit, rate and budget are halved, again and again. When twice the effort would fit into
 * the limit, they are doubled again. Each sample counts for the sampling period with which it was
 * taken, so shares and times stay right, but get less exact.
 *
 * While the condition of a trigger is met (trigger.h), the agent samples more often than the user
 * asked, as long as that fits into the limit.
 */
#ifndef AGENT_LIMIT_H
#define AGENT_LIMIT_H

#include "record/session.h"

/* The user's settings: how much the agent samples, and its limit of CPU time. */
struct effort {
	/*
	 * the sampling rate, and the CPU time that stacks of waits may take; as in struct
	 * session_options
	 */
	uint32_t hz, wait_budget_ppm;
	/* the agent's limit of CPU time in millionths of one CPU; 0: no limit */
	uint32_t max_cpu_ppm;
};

struct limit {
	struct session *s;
	struct effort asked;
	/* how many times the user's sampling rate and wait budget are halved at present */
	unsigned halvings;
	/*
	 * .wanted: a trigger's condition is met; .raised: because of it the agent samples more
	 * often now
	 */
	bool wanted, raised;
	/* how many times rate and budget were halved since the agent began */
	unsigned lowered;
	uint64_t begin_ns;     /* when the present window of 10 s began, CLOCK_MONOTONIC */
	uint64_t begin_cpu_ns; /* CPU time that the agent had taken when the present window began */
	unsigned hot;	       /* how many windows in a row took more CPU time than the limit */
	/*
	 * how many windows in a row were calm (limit.c): twice the sampling rate would have fit
	 * into the limit
	 */
	unsigned calm;
};

/*
 * @now_ns: when the agent begins. The CPU time of the 10 s that follow isn't compared with the
 * limit, because the agent looks at all processes in that time.
 */
void limit_begin(struct limit *l, struct session *s, const struct effort *asked, uint64_t now_ns);

/*
 * Call it about once a second with the CPU time that the agent has taken since it began. Returns 1
 * if the sampling rate and the wait budget have changed, which a comment of the profile says; 0 if
 * not; or -errno + message.
 */
_must_use_ int limit_turn(struct limit *l, uint64_t now_ns, uint64_t cpu_ns);

/*
 * With @more, the agent samples more often than the user asked; without @more, as often as asked.
 * Call it when a trigger's condition is met, and again when no condition is met any more. Returns 1
 * if the sampling rate has changed, else 0, or -errno + message.
 */
_must_use_ int limit_raise(struct limit *l, bool more);

/*
 * Changes the user's settings. Returns 0, or -EINVAL + message; in that case the old settings stay
 * in force.
 */
_must_use_ int limit_ask(struct limit *l, const struct effort *asked);

/* Returns the rate at which CPU time is sampled now, in samples a second. */
uint32_t limit_hz(const struct limit *l);

#endif
