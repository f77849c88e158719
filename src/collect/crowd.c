/* SPDX-License-Identifier: BSD-2-Clause */
/* A budget for new processes; see crowd.h. */
#include "collect/crowd.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/internal.h"

#define NEW_NS                                                                                     \
	(2 * NSEC_PER_SEC) /* so long after it was met what a process costs is its beginning */

/* Whose processes were asked for may cost more than bystanders. */
static const struct crowd_limits {
	struct budget_limit user, all;
} of_bystanders = {{200 * NSEC_PER_MSEC, 50}, {400 * NSEC_PER_MSEC, 40}},
  of_asked = {{NSEC_PER_SEC, 20}, {NSEC_PER_SEC, 20}};

static const struct crowd_limits *limits(const struct collect *c)
{
	return c->config.whole_machine ? &of_bystanders : &of_asked;
}

/* Index + 1; 0: no memory. */
static uint32_t user_of(struct crowds *w, uint32_t uid)
{
	const uint64_t *known = map_get(&w->by_uid, uid + 1ull);

	if (known)
		return (uint32_t)*known;
	if (vec_push(&w->users, (struct crowd_user){.uid = uid}))
		return 0;
	if (map_put(&w->by_uid, uid + 1ull, w->users.n))
		w->users.n--;
	return (uint32_t)w->users.n;
}

static bool is_over(const struct collect *c, uint32_t user)
{
	const struct crowds *w = &c->crowds;

	return !budget_is_left(&w->all, limits(c)->all, w->now_ns) ||
	       (user && !budget_is_left(&w->users.v[user - 1].budget, limits(c)->user, w->now_ns));
}

static void count(struct collect *c, struct process *p)
{
	if (!p->crowded && !c->stats.crowded.processes++)
		snprintf(c->stats.crowded.first, sizeof(c->stats.crowded.first), "%u (%s)",
			 p->key.tgid, p->name ? p->name : p->comm);
	p->crowded = true;
}

static bool is_counted_only(uint8_t state)
{
	return state == PROC_CROWDED || state == PROC_UNASKED;
}

static void tell_state(struct collect *c, const struct process *p, enum proc_state state)
{
	bool python = state == PROC_PYTHON;

	(void)!c->config.ops->set_proc(c->config.ctx, &p->key, state, python ? &p->where : NULL,
				       NULL, p->slot);
}

/* The kernel programs have made up their mind, or it is for us to do so. True: it is one too many. */
static bool is_too_many(struct collect *c, const struct process *p, const struct rec_proc *rec)
{
	if (is_counted_only(rec->state))
		return true;
	if (!is_over(c, p->user))
		return false;
	tell_state(c, p, rec->state == PROC_PENDING ? PROC_UNASKED : PROC_CROWDED);
	return true;
}

bool crowd_meet(struct collect *c, struct process *p, const struct rec_proc *rec)
{
	if (!rec->new)
		return false;
	if (has_stacks(p)) { /* its entry was another's for a while */
		if (is_counted_only(rec->state))
			tell_state(c, p, p->state);
		return false;
	}
	if (!p->user) {
		p->user = user_of(&c->crowds, rec->uid);
		p->new_until_ns = rec->time_ns + NEW_NS;
	}
	crowd_turn(c, p);
	if (is_too_many(c, p, rec)) {
		count(c, p);
		p->state = PROC_CROWDED;
		return true;
	}
	if (p->state == PROC_CROWDED) {
		thread_forget_labels(c, p);
		p->state = PROC_PENDING;
	}
	return false;
}

/* Whoever has had the turn pays for it. */
static void pay(struct collect *c)
{
	struct crowds *w = &c->crowds;
	uint64_t cpu_ns = upkeep_begin(), took_ns = cpu_ns - w->since_ns;

	w->now_ns = clock_ns(CLOCK_MONOTONIC);
	w->since_ns = cpu_ns;
	if (!w->turn)
		return;
	budget_spend_only(&w->users.v[w->turn - 1].budget, limits(c)->user, w->now_ns, took_ns);
	budget_spend_only(&w->all, limits(c)->all, w->now_ns, took_ns);
}

void crowd_turn(struct collect *c, const struct process *p)
{
	struct crowds *w = &c->crowds;
	uint32_t turn = p && p->user && w->now_ns < p->new_until_ns ? p->user : 0;

	if (turn == w->turn)
		return;
	pay(c);
	w->turn = turn;
}

static void tell(struct collect *c, uint32_t uid, uint64_t due_ns, uint64_t *told_ns)
{
	if (due_ns <= c->crowds.now_ns || due_ns == *told_ns || !c->config.ops->crowd)
		return;
	c->config.ops->crowd(c->config.ctx, uid, due_ns);
	*told_ns = due_ns;
}

void crowd_tell(struct collect *c)
{
	struct crowds *w = &c->crowds;

	crowd_turn(c, NULL);
	w->now_ns = clock_ns(CLOCK_MONOTONIC);
	vec_foreach(u, &w->users)
		tell(c, u->uid, budget_due_ns(&u->budget, limits(c)->user), &u->told_ns);
	tell(c, ALL_USERS, budget_due_ns(&w->all, limits(c)->all), &w->all_told_ns);
}

void crowd_fini(struct collect *c)
{
	vec_foreach(u, &c->crowds.users)
		log_debug("new processes of user %u took %.3f s", u->uid,
			  (double)u->budget.took_ns / NSEC_PER_SEC);
	map_fini(&c->crowds.by_uid);
	vec_fini(&c->crowds.users);
}
