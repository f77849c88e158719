/* SPDX-License-Identifier: BSD-2-Clause */
/* Budgets for what new processes cost; see crowd.h. */
#include "collect/budget/crowd.h"

#include <stdlib.h>

#include "base/system/clock.h"
#include "base/system/log.h"
#include "collect/budget/upkeep.h"
#include "collect/process/process.h"

/*
 * the longest time for which new processes are only counted because their user's budget is
 * overdrawn
 */
#define DEBT_NS (2 * NSEC_PER_SEC)

bool crowd_init(struct collect *c)
{
	return (c->crowds = calloc(1, sizeof(struct crowds)));
}

/*
 * Limits of the CPU time that new processes may cost: a sum that may be used at once, and in the
 * long run a share (1/n) of a CPU. If a recording names its targets, they may cost more than the
 * processes of one user in a recording of the whole machine: 5 % of a CPU, and 3 s at once.
 */
static const struct crowd_limits {
	struct budget_limit user, all;
} of_bystanders = {{200 * NSEC_PER_MSEC, 50}, {400 * NSEC_PER_MSEC, 40}},
  of_asked = {{3 * NSEC_PER_SEC, 20}, {3 * NSEC_PER_SEC, 20}};

static const struct crowd_limits *limits(const struct collect *c)
{
	return c->config.whole_machine ? &of_bystanders : &of_asked;
}

/* Returns 1 + the index of user @uid in .users; 0: out of memory. */
uint32_t crowd_user_of(struct crowds *w, uint32_t uid)
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

bool crowd_is_over(const struct collect *c, uint32_t user)
{
	const struct crowds *w = c->crowds;

	return !budget_is_left(&w->all, limits(c)->all, w->now_ns) ||
	       (user && !budget_is_left(&w->users.v[user - 1].budget, limits(c)->user, w->now_ns));
}

/*
 * Charges @took_ns to budget @b, but at most so much that the budget has time left again after
 * DEBT_NS. A single piece of work may take long, such as naming a large program's first stacks.
 */
static void spend(struct budget *b, struct budget_limit limit, uint64_t now_ns, uint64_t took_ns)
{
	uint64_t due_ns, most_ns = now_ns + DEBT_NS;

	budget_spend_only(b, limit, now_ns, took_ns);
	due_ns = budget_due_ns(b, limit);
	if (due_ns > most_ns)
		b->took_ns -= (due_ns - most_ns) / limit.share;
}

/*
 * Charges the CPU time to the user's budget, and to the budget of all users unless the user's own
 * budget was spent already.
 */
void crowd_pay(struct collect *c)
{
	struct crowds *w = c->crowds;
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

bool crowd_turn(struct collect *c, const struct process *p)
{
	struct crowds *w = c->crowds;
	uint32_t turn = p && p->user && w->now_ns < p->new_until_ns ? p->user : 0;

	if (turn == w->turn)
		return false;
	crowd_pay(c);
	w->turn = turn;
	return true;
}

static void tell(struct collect *c, uint32_t uid, uint64_t due_ns, uint64_t *told_ns)
{
	if (due_ns <= c->crowds->now_ns || due_ns == *told_ns || !c->config.ops->crowd)
		return;
	c->config.ops->crowd(c->config.ctx, uid, due_ns);
	*told_ns = due_ns;
}

void crowd_tell(struct collect *c)
{
	struct crowds *w = c->crowds;

	crowd_turn(c, NULL);
	w->now_ns = clock_ns(CLOCK_MONOTONIC);
	vec_foreach(u, &w->users)
		tell(c, u->uid, budget_due_ns(&u->budget, limits(c)->user), &u->told_ns);
	tell(c, ALL_USERS, budget_due_ns(&w->all, limits(c)->all), &w->all_told_ns);
}

void crowd_fini(struct collect *c)
{
	if (!c->crowds)
		return;
	vec_foreach(u, &c->crowds->users)
		log_debug("examining new processes of user %u took %.3f s", u->uid,
			  (double)u->budget.took_ns / NSEC_PER_SEC);
	map_fini(&c->crowds->by_uid);
	vec_fini(&c->crowds->users);
	free(c->crowds);
}
