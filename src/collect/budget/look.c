/* SPDX-License-Identifier: BSD-2-Clause */
/* Limits the CPU time for looking into files that processes map; see look.h. */
#include "collect/budget/look.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "collect/process/process.h"

/*
 * Limits of work for one file. Reading libpython3.12 takes 2 ms, reading all files that torch maps
 * 5 ms. A program with 1,000,000 local symbols would take 100 ms.
 */
#define WHOLE_WORK	 (20 * SLICE_MS)
#define WHOLE_WORK_START (100 * SLICE_MS) /* work for looking into a file before sampling begins */
#define SMALL_WORK	 (1 * SLICE_MS)

struct look_budgets {
	struct budget all;
	struct map user; /* 1 + uid -> 1 + index of the user's budget in .users */
	VEC(struct budget) users;
};

bool look_init(struct collect *c)
{
	return (c->look = calloc(1, sizeof(struct look_budgets)));
}

static const struct budget_limit of_process = {100 * NSEC_PER_MSEC, 50};
static const struct budget_limit of_user = {500 * NSEC_PER_MSEC, 50};
static const struct budget_limit of_all = {2 * NSEC_PER_SEC, 20};
/*
 * Limits of one user and of all users together. When either limit is reached, no file is looked
 * into. (When a process has reached its limit, or a user a smaller limit, krait only does less work
 * for each file.)
 */
static const struct budget_limit of_user_most = {1 * NSEC_PER_SEC, 20};
static const struct budget_limit of_all_most = {4 * NSEC_PER_SEC, 10};

/* Returns the user whose process @proc maps the file: 1 + index into .users; 0: not known. */
static uint64_t find_user(struct look_budgets *b, const struct proc *proc)
{
	const uint64_t *known;
	struct stat st;

	if (!proc || fstat(proc->dirfd, &st))
		return 0;
	known = map_get(&b->user, st.st_uid + 1ull);
	if (known)
		return *known;
	if (vec_push(&b->users, (struct budget){}))
		return 0;
	if (map_put(&b->user, st.st_uid + 1ull, b->users.n)) {
		b->users.n--;
		return 0;
	}
	return b->users.n;
}

static bool user_is_left(const struct look_budgets *b, uint64_t user, struct budget_limit limit,
			 uint64_t now)
{
	return !user || budget_is_left(&b->users.v[user - 1], limit, now);
}

int look_begin(struct collect *c, const struct proc *proc, struct look *ret)
{
	struct look_budgets *b = c->look;
	const struct process *p = proc ? process_newest(c, (uint32_t)proc->tgid) : NULL;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	*ret = (struct look){.began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
			     .tgid = proc ? (uint32_t)proc->tgid : 0,
			     .user = find_user(b, proc)};
	if (!user_is_left(b, ret->user, of_user_most, now) ||
	    !budget_is_left(&b->all, of_all_most, now)) {
		c->stats.looks_refused++;
		return err_set(-EBUSY, "krait has spent too much CPU time on files that are mapped "
				       "by processes of the same user, or of all users");
	}
	ret->whole = user_is_left(b, ret->user, of_user, now) &&
		     budget_is_left(&b->all, of_all, now) &&
		     (!p || budget_is_left(&p->looked, of_process, now));
	slice_begin(&ret->slice, !ret->whole ? SMALL_WORK
				 : c->began  ? WHOLE_WORK
					     : WHOLE_WORK_START);
	return 0;
}

bool look_end(struct collect *c, struct look *l, const char *path)
{
	struct look_budgets *b = c->look;
	struct process *p = l->tgid ? process_newest(c, l->tgid) : NULL;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	uint64_t took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - l->began_ns;

	slice_end(&l->slice);
	budget_spend(&b->all, now, took);
	if (l->user)
		budget_spend(&b->users.v[l->user - 1], now, took);
	if (p)
		budget_spend(&p->looked, now, took);
	if (!l->slice.cut)
		return false;
	c->stats.looks_cut++;
	log_info("%s: the file's tables are too large to be read to the end; it may hold an "
		 "interpreter that krait doesn't know of",
		 path);
	return true;
}

void look_fini(struct collect *c)
{
	if (!c->look)
		return;
	map_fini(&c->look->user);
	vec_fini(&c->look->users);
	free(c->look);
}
