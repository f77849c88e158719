/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Divides the time of waits whose stacks weren't taken; see shares.h. If a wait's stack was taken
 * with probability p, the wait stands for 1/p - 1 other waits of its length, which is an unbiased
 * estimate (Horvitz and Thompson). At each site (what is waited for) the sum of the other waits'
 * real times is known, and the estimates of the site's stacks are scaled to it. Each new wait gets
 * the time that its stack still lacks of its share, but never more than is left of the sum. So the
 * sum over all stacks is exact at any time.
 */
#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/thread/shares.h"
#include "collect/thread/wait_state.h"

/* the most stacks of one thread that get their own share of the time of waits without a stack */
#define STACKS_MOST 4096
/* up to this many stacks are searched one by one, without an index; most threads have no more */
#define STACKS_FEW 16

/*
 * An estimate of waits whose stacks weren't taken, computed from waits whose stacks were taken: the
 * sum of their times, and their number.
 */
struct estimate {
	double ns, n;
};

/* A stack of a site. */
struct stack_share {
	uint64_t key; /* key_of() for the waits with this stack */
	struct estimate of;
	/* how much of the time of waits without a stack was given to the waits with this stack */
	uint64_t given_ns;
};

struct site_shares {
	/* the sum of the estimates of the stacks of this site (what is waited for) */
	struct estimate of;
	/*
	 * how much longer the waits at this site (what is waited for) would have taken if their
	 * stacks had been taken
	 */
	double cost_ns;
	/* sum of waiting.others_ns of the waits at this site (what is waited for) */
	uint64_t others_ns;
	uint64_t left_ns;     /* time of waits without a stack that wasn't given to any stack yet */
	uint64_t gil_left_ns; /* the part of .left_ns that is time of waits for the GIL */
	struct waiting last;  /* the wait that in the end gets the time that is left */
};

struct wait_shares {
	/*
	 * the sites (what is waited for) at which the thread had waits without a stack; there are
	 * few
	 */
	VEC(struct site_shares) sites;
	VEC(struct stack_share) stacks;
	/* stack_share.key -> index in .stacks, once there are more than STACKS_FEW stacks */
	struct map index;
};

void shares_free(struct wait_shares *s)
{
	if (!s)
		return;
	map_fini(&s->index);
	vec_fini(&s->stacks);
	vec_fini(&s->sites);
	free(s);
}

static uint64_t key_of(const struct waiting *w, uint64_t stack)
{
	return stack * WAIT_SITES + w->site;
}

static struct stack_share *find_stack(const struct wait_shares *s, uint64_t key)
{
	const uint64_t *at = s->stacks.n > STACKS_FEW ? map_get(&s->index, key) : NULL;

	for (size_t i = 0; s->stacks.n <= STACKS_FEW && i < s->stacks.n; i++)
		if (s->stacks.v[i].key == key)
			return &s->stacks.v[i];
	return at ? &s->stacks.v[*at] : NULL;
}

/* Adds the stacks from .stacks[@from] on to the index, if the thread has many stacks. */
static int index_stacks(struct wait_shares *s, size_t from)
{
	int r = 0;

	if (s->stacks.n <= STACKS_FEW)
		return 0;
	for (size_t i = from == STACKS_FEW ? 0 : from; !r && i < s->stacks.n; i++)
		r = map_put(&s->index, s->stacks.v[i].key, i);
	return r;
}

/*
 * Returns the entry of the wait's stack; NULL: no memory. If there are too many stacks, further
 * stacks of a site (what is waited for) share one entry.
 */
static struct stack_share *stack_of(struct wait_shares *s, const struct waiting *w)
{
	uint64_t key = key_of(w, w->rec.stack);
	struct stack_share *found = find_stack(s, key);

	if (!found && s->stacks.n >= STACKS_MOST) {
		key = key_of(w, 0);
		found = find_stack(s, key);
	}
	if (found)
		return found;
	if (vec_push(&s->stacks, (struct stack_share){.key = key}))
		return NULL;
	if (index_stacks(s, s->stacks.n - 1)) {
		s->stacks.n--;
		return NULL;
	}
	return &s->stacks.v[s->stacks.n - 1];
}

static struct site_shares *find_site(const struct wait_shares *s, const struct waiting *w)
{
	vec_foreach(site, &s->sites)
		if (site->last.site == w->site)
			return site;
	return NULL;
}

/* Returns the entry of the wait's site (what it waits for); NULL: no memory. */
static struct site_shares *site_of(struct wait_shares *s, const struct waiting *w)
{
	struct site_shares *found = find_site(s, w);

	if (found)
		return found;
	if (vec_push(&s->sites, (struct site_shares){.last = *w}))
		return NULL;
	return &s->sites.v[s->sites.n - 1];
}

/*
 * Returns the time of estimate @of, less what taking stacks cost. A wait is longer if its stack is
 * taken, so the estimates exceed the time that waits without a stack really took. The excess is
 * subtracted, but at most the time that taking stacks cost.
 */
static double without_cost(const struct site_shares *site, const struct estimate *of)
{
	double longer = fmin(site->of.ns - (double)site->others_ns, site->cost_ns);

	if (longer <= 0 || !of->n)
		return of->ns;
	return fmax(of->ns - longer * of->n / site->of.n, of->ns / 2);
}

/*
 * The stack has a share in the time of those waits of the site (what is waited for) whose stacks
 * weren't taken. Returns how much of this share it hasn't got yet.
 */
static double lacks(const struct site_shares *site, const struct stack_share *stack)
{
	double all = without_cost(site, &site->of);

	if (all <= 0)
		return (double)site->left_ns;
	return (double)site->others_ns * (without_cost(site, &stack->of) / all) -
	       (double)stack->given_ns;
}

static void estimate(struct site_shares *site, struct stack_share *stack, const struct waiting *w)
{
	double n = w->times > WAIT_ONE ? (double)w->times / WAIT_ONE - 1 : 0;

	site->of.ns += n * (double)w->rec.weight;
	site->of.n += n;
	site->cost_ns += n * w->cost_ns;
	stack->of.ns += n * (double)w->rec.weight;
	stack->of.n += n;
}

/* Converts @ns to a whole number, at most @most. */
static uint64_t whole(double ns, uint64_t most)
{
	return ns >= (double)most ? most : ns > 0 ? (uint64_t)ns : 0;
}

/*
 * Gives the wait @ns of the time that is left at the site (what is waited for), and the same part
 * of the site's time of waiting for the GIL. Returns @ns.
 */
static uint64_t give(struct site_shares *site, struct waiting *w, uint64_t ns)
{
	double part = site->left_ns ? (double)ns / (double)site->left_ns : 1;
	uint64_t gil = whole(part * (double)site->gil_left_ns, site->gil_left_ns);

	if (ns == site->left_ns)
		gil = site->gil_left_ns;
	site->left_ns -= ns;
	site->gil_left_ns -= gil;
	w->rec.weight += ns;
	w->gil_ns += gil;
	return ns;
}

/*
 * The record of wait @w may also carry time of waits whose stacks weren't taken. Adds that time to
 * the time that the site (what is waited for) hasn't given to any stack yet.
 */
static void add_others(struct site_shares *site, const struct waiting *w)
{
	site->others_ns += w->others_ns;
	site->left_ns += w->others_ns;
	site->gil_left_ns += w->gil_others_ns;
}

bool shares_owe(struct wait_shares *s, const struct waiting *w)
{
	struct site_shares *site = s ? find_site(s, w) : NULL;

	if (site)
		add_others(site, w);
	return site;
}

static void share(struct site_shares *site, struct stack_share *stack, struct waiting *w)
{
	estimate(site, stack, w);
	add_others(site, w);
	stack->given_ns += give(site, w, whole(lacks(site, stack), site->left_ns));
}

/*
 * Keeps the wait as .last, unless the stack of the present .last lacks more of its share. In the
 * end the stack of .last gets the time that is left.
 */
static void keep(const struct wait_shares *s, struct site_shares *site,
		 const struct stack_share *stack, const struct waiting *w)
{
	const struct stack_share *kept = find_stack(s, key_of(&site->last, site->last.rec.stack));

	if (!site->left_ns || !kept || lacks(site, kept) <= lacks(site, stack))
		site->last = *w;
}

void shares_take(struct wait_shares **s, struct waiting *w)
{
	struct waiting as_it_came = *w;
	struct site_shares *site;
	struct stack_share *stack;

	if (!*s && w->times <= WAIT_ONE && !w->others_ns && !w->gil_others_ns)
		return;
	if (!*s)
		*s = calloc(1, sizeof(**s));
	site = *s ? site_of(*s, w) : NULL;
	stack = site ? stack_of(*s, w) : NULL;
	if (stack) {
		share(site, stack, w);
		keep(*s, site, stack, &as_it_came);
	} else { /* no memory */
		w->rec.weight += w->others_ns;
		w->gil_ns += w->gil_others_ns;
	}
}

bool shares_left(struct wait_shares *s, struct waiting *ret)
{
	for (size_t i = 0; s && i < s->sites.n; i++) {
		struct site_shares *site = &s->sites.v[i];

		if (!site->left_ns && !site->gil_left_ns)
			continue;
		*ret = site->last;
		ret->state &= ~WAIT_STATE_OPEN;
		ret->rec.weight = ret->rec.blame_ns = ret->gil_ns = 0;
		give(site, ret, site->left_ns);
		return true;
	}
	return false;
}
