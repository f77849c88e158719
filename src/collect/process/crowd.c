/* SPDX-License-Identifier: BSD-2-Clause */
/* A budget for new processes; see crowd.h. */
#include "collect/process/crowd.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "collect/process/process.h"
#include "collect/process/thread.h"
#include "collect/process/upkeep.h"

#define NEW_NS                                                                                     \
	(2 * NSEC_PER_SEC) /* so long after it was met what a process costs is its beginning */
#define DEBT_NS                                                                                    \
	(2 * NSEC_PER_SEC) /* so long at most the next ones wait for what others have cost */

bool crowd_init(struct collect *c)
{
	return (c->processes->crowds = calloc(1, sizeof(struct crowds)));
}

/* Processes that were asked for may cost more than bystanders: 5 % of a CPU, and 3 s at once. */
static const struct crowd_limits {
	struct budget_limit user, all;
} of_bystanders = {{200 * NSEC_PER_MSEC, 50}, {400 * NSEC_PER_MSEC, 40}},
  of_asked = {{3 * NSEC_PER_SEC, 20}, {3 * NSEC_PER_SEC, 20}};

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
	if (map_put(&w->by_uid, uid + 1ull, w->users.n)) {
		w->users.n--;
		return 0;
	}
	return (uint32_t)w->users.n;
}

static bool is_over(const struct collect *c, uint32_t user)
{
	const struct crowds *w = c->processes->crowds;

	return !budget_is_left(&w->all, limits(c)->all, w->now_ns) ||
	       (user && !budget_is_left(&w->users.v[user - 1].budget, limits(c)->user, w->now_ns));
}

/* Whether it was asked for, or may be seen, isn't known: then it isn't named. */
static void count(struct collect *c, struct process *p)
{
	bool is_named = !c->config.match && !c->config.may_see;

	if (!p->crowded && !c->stats.crowded.processes++ && is_named)
		snprintf(c->stats.crowded.first, sizeof(c->stats.crowded.first), "%u, %s",
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

/* Is it one too many? The kernel programs may have decided that; else it is decided here. */
static bool is_too_many(struct collect *c, const struct process *p, const struct rec_proc *rec)
{
	if (is_counted_only(rec->state))
		return true;
	if (!is_over(c, p->user))
		return false;
	tell_state(c, p, rec->state == PROC_PENDING ? PROC_UNASKED : PROC_CROWDED);
	return true;
}

/* It is looked at now, as if it began. */
static void leave(struct collect *c, struct process *p)
{
	p->state = PROC_PENDING;
	thread_forget_labels(c, p);
	thread_name_nameless(c, p);
}

bool crowd_meet(struct collect *c, struct process *p, const struct rec_proc *rec)
{
	if (!rec->new && !p->user) /* an entry that krait made doesn't say that it is new */
		return false;
	if (has_stacks(p)) { /* its entry was another's for a while */
		if (is_counted_only(rec->state))
			tell_state(c, p, p->state);
		return false;
	}
	if (!p->user || p->state == PROC_CROWDED)
		p->new_until_ns = rec->time_ns + NEW_NS;
	if (!p->user)
		p->user = user_of(c->processes->crowds, rec->uid);
	crowd_turn(c, p);
	if (is_too_many(c, p, rec)) {
		count(c, p);
		p->state = PROC_CROWDED;
		return true;
	}
	if (p->state == PROC_CROWDED)
		leave(c, p);
	return false;
}

/* One stretch of work may be long, as that of a large program's first stacks. */
static void spend(struct budget *b, struct budget_limit limit, uint64_t now_ns, uint64_t took_ns)
{
	uint64_t due_ns, most_ns = now_ns + DEBT_NS;

	budget_spend_only(b, limit, now_ns, took_ns);
	due_ns = budget_due_ns(b, limit);
	if (due_ns > most_ns)
		b->took_ns -= (due_ns - most_ns) / limit.share;
}

/* Whoever has had the turn pays for it. Who is over already doesn't spend what all users have. */
static void pay(struct collect *c)
{
	struct crowds *w = c->processes->crowds;
	uint64_t cpu_ns = upkeep_begin(), took_ns = cpu_ns - w->since_ns;
	struct budget *own;
	bool was_over;

	w->now_ns = clock_ns(CLOCK_MONOTONIC);
	w->since_ns = cpu_ns;
	if (!w->turn)
		return;
	own = &w->users.v[w->turn - 1].budget;
	was_over = !budget_is_left(own, limits(c)->user, w->now_ns);
	spend(own, limits(c)->user, w->now_ns, took_ns);
	if (!was_over)
		spend(&w->all, limits(c)->all, w->now_ns, took_ns);
}

void crowd_turn(struct collect *c, const struct process *p)
{
	struct crowds *w = c->processes->crowds;
	uint32_t turn = p && p->user && w->now_ns < p->new_until_ns ? p->user : 0;

	if (turn == w->turn)
		return;
	pay(c);
	w->turn = turn;
}

static void tell(struct collect *c, uint32_t uid, uint64_t due_ns, uint64_t *told_ns)
{
	if (due_ns <= c->processes->crowds->now_ns || due_ns == *told_ns || !c->config.ops->crowd)
		return;
	c->config.ops->crowd(c->config.ctx, uid, due_ns);
	*told_ns = due_ns;
}

void crowd_tell(struct collect *c)
{
	struct crowds *w = c->processes->crowds;

	crowd_turn(c, NULL);
	w->now_ns = clock_ns(CLOCK_MONOTONIC);
	vec_foreach(u, &w->users)
		tell(c, u->uid, budget_due_ns(&u->budget, limits(c)->user), &u->told_ns);
	tell(c, ALL_USERS, budget_due_ns(&w->all, limits(c)->all), &w->all_told_ns);
}

void crowd_fini(struct collect *c)
{
	if (!c->processes->crowds)
		return;
	vec_foreach(u, &c->processes->crowds->users)
		log_debug("new processes of user %u took %.3f s", u->uid,
			  (double)u->budget.took_ns / NSEC_PER_SEC);
	map_fini(&c->processes->crowds->by_uid);
	vec_fini(&c->processes->crowds->users);
	free(c->processes->crowds);
}
