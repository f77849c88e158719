/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores waits that aren't over, in pieces; see pieces.h. */
#include "agent/pieces.h"

#include <stdlib.h>

#include "base/nomem.h"
#include "profile/intervals/part.h"

/*
 * Every 10 s there is a round, in which the time that each long wait has lasted since the last
 * round is stored as one piece. With many waits, rounds are rarer: the time between two rounds is
 * PIECE_NS for each wait, so that at most ten pieces a second are stored.
 */
#define ROUND_NS (10 * NSEC_PER_SEC)
#define PIECE_NS (100 * NSEC_PER_MSEC)
/*
 * Only waits of at least this length are stored in pieces while they last. When a wait of that
 * length ends, it gets a sample of its own. A sample of shorter waits may stand for several waits.
 */
#define LEAST_NS ((int64_t)2 * (int64_t)NSEC_PER_SEC)

void pieces_begin(struct pieces *x, uint64_t now_ns)
{
	map_init(&x->kept);
	map_init(&x->old);
	x->off_cpu = part_of(x->s->profile, 0, 0).off_cpu;
	x->due_ns = now_ns + ROUND_NS;
}

void pieces_fini(struct pieces *x)
{
	map_fini(&x->kept);
	map_fini(&x->old);
}

/* Returns a key for the wait of sample @s: a hash of its thread and its beginning. */
static uint64_t key_of(const struct pieces *x, const struct profile_sample *s)
{
	const char *tid = profile_label_text(x->s->profile, s->labels, "tid");

	return (uint64_t)s->time_ns * 0x9e3779b97f4a7c15ull ^ strtoull(tid, NULL, 10);
}

static uint64_t *find(const struct pieces *x, uint64_t key)
{
	return map_get(&x->kept, key) ?: map_get(&x->old, key);
}

static int keep(void *ctx, const struct profile_sample *s, bool left)
{
	struct pieces *x = ctx;
	uint64_t key = key_of(x, s), *until = find(x, key);
	int64_t from = until ? (int64_t)*until : s->time_ns;
	struct profile_sample piece = {.time_ns = from, .stack = s->stack, .labels = s->labels};

	/* @left: the wait has no sample of its own; a later sample of its thread includes it */
	if (left || x->now_ns - s->time_ns < LEAST_NS || !wait_length(x->s->profile, s, x->off_cpu))
		return 0;
	if (map_put(&x->kept, key, (uint64_t)x->now_ns))
		return err_nomem();
	piece.values[x->off_cpu] = x->now_ns - from;
	return x->add(x->ctx, &piece);
}

int pieces_turn(struct pieces *x, uint64_t now_ns)
{
	struct map last = x->old;
	int r;

	if (x->off_cpu < 0 || now_ns < x->due_ns)
		return 0;
	x->now_ns = (int64_t)(now_ns - x->s->start_ns);
	/*
	 * Forget the waits whose latest piece was stored two rounds ago: no samples of these waits
	 * come any more.
	 */
	map_clear(&last);
	x->old = x->kept;
	x->kept = last;
	r = session_open_waits(x->s, keep, x);
	x->due_ns = now_ns + MAX(ROUND_NS, x->kept.n * PIECE_NS);
	return r;
}

void pieces_take_off(struct pieces *x, struct profile_sample *s)
{
	uint64_t key, *until;
	int64_t ns;

	/* most samples are of waits shorter than LEAST_NS */
	if (x->off_cpu < 0 || s->values[x->off_cpu] < LEAST_NS)
		return;
	key = key_of(x, s);
	until = find(x, key);
	if (!until)
		return;
	ns = (int64_t)*until - s->time_ns;
	s->values[x->off_cpu] -= MIN(ns, s->values[x->off_cpu]);
	s->time_ns += ns;
	(void)(map_del(&x->kept, key) || map_del(&x->old, key));
}
