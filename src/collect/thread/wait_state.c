/* SPDX-License-Identifier: BSD-2-Clause */
/* Says what a thread waited for; see wait_state.h. The rules are those of `krait dump`. */
#include "collect/thread/wait_state.h"

#include <stdio.h>

#include "base/util.h"

/* Bits of a task's state (include/linux/sched.h). */
#define UNINTERRUPTIBLE 0x2
#define STOPPED		0x4
#define TRACED		0x8
#define FROZEN		0x8000 /* 6.1+ */

/*
 * How states are numbered, in ascending order: enum wait_kind + 1; "stolen", which `krait dump`
 * doesn't know; "other" with the index of a rule; "other" with the number of a system call for
 * which there is no rule.
 */
#define STOLEN	    (WAIT_KIND_MAX + 1)
#define OTHER	    (STOLEN + 1)
#define OTHER_RULES 1024
#define NUMBERED    (OTHER + OTHER_RULES)
#define CALLS	    4096

uint32_t wait_state_runnable(void)
{
	return WAIT_RUNNABLE + 1;
}

uint32_t wait_state_stolen(void)
{
	return STOLEN;
}

static uint32_t other(const struct rec_wait *wait, const struct wait_rule *rule)
{
	if (rule->call_name)
		return OTHER + (uint32_t)(rule - wait_rules);
	return NUMBERED + (wait->call >= 0 && wait->call < CALLS ? (uint32_t)wait->call + 1 : 0);
}

/* Returns the state of a wait for input or output, by what the descriptor refers to. */
static uint32_t by_descriptor(const struct rec_wait *wait, const struct wait_rule *rule)
{
	static const enum wait_target targets[] = {[WAIT_FD_SOCKET] = TARGET_SOCKET,
						   [WAIT_FD_PIPE] = TARGET_PIPE,
						   [WAIT_FD_FILE] = TARGET_FILE};
	uint8_t fd = rule->fd == 0 ? wait->fd : WAIT_FD_NONE;
	enum wait_kind kind =
		wait_kind_of_io(fd < ARRAY_SIZE(targets) ? targets[fd] : TARGET_UNKNOWN,
				wait->flags & WAIT_DISK || wait->state & UNINTERRUPTIBLE);

	return kind == WAIT_IO ? other(wait, rule) : kind + 1;
}

static uint32_t what_for(const struct rec_wait *wait)
{
	const struct wait_rule *rule = wait_rule_of(wait->call, (const uint64_t *)wait->arg, "");

	if (wait->state & STOPPED)
		return WAIT_STOPPED + 1;
	if (wait->state & TRACED)
		return WAIT_TRACED + 1;
	/*
	 * with WAIT_CGROUP a parent that waits for its vforked child also looks frozen, but its
	 * state is uninterruptible
	 */
	if (wait->state & FROZEN || (wait->flags & WAIT_CGROUP && !(wait->state & UNINTERRUPTIBLE)))
		return WAIT_FROZEN + 1;
	if (wait->call < 0)
		return wait->state & UNINTERRUPTIBLE ? WAIT_PAGE_FAULT + 1 : NUMBERED;
	if (wait->flags & WAIT_FOR_GIL)
		return WAIT_GIL + 1;
	if (rule->kind == WAIT_LOCK)
		return wait_kind_of_lock(wait->sample.gil) + 1;
	if (rule->kind == WAIT_IO)
		return by_descriptor(wait, rule);
	return rule->kind == WAIT_BLOCKED ? other(wait, rule) : rule->kind + 1;
}

uint32_t wait_state_of(const struct rec_wait *wait)
{
	return what_for(wait) | (wait->flags & WAIT_OPEN ? WAIT_STATE_OPEN : 0);
}

const char *wait_state_words(uint32_t state, char *text, size_t n)
{
	state &= ~WAIT_STATE_OPEN;
	if (state > NUMBERED)
		snprintf(text, n, "other: system call %u", state - NUMBERED - 1);
	else if (state == NUMBERED)
		snprintf(text, n, "other");
	else if (state >= OTHER)
		snprintf(text, n, "other: %s", wait_rules[state - OTHER].call_name);
	else if (state == STOLEN)
		snprintf(text, n, "stolen");
	else
		snprintf(text, n, "%s", wait_word(state - 1));
	return text;
}

bool wait_state_is(uint32_t state, uint32_t kinds)
{
	state &= ~WAIT_STATE_OPEN;
	if (state >= OTHER)
		return kinds & WAIT_KIND_BIT(IO);
	return state && kinds & 1u << (state - 1);
}
