/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the last records of threads (struct rec_account) until all earlier records of the thread
 * and of its process have come: these may lie in rings that are read later.
 */
#include "collect/budget/crowd.h"
#include "collect/internal.h"
#include "collect/thread/thread.h"

/*
 * Returns the process of @a; NULL: no other record of the process has come yet. A process with a
 * record that waits isn't forgotten, because the record is compared with what is known of its
 * thread.
 */
static struct process *pin(const struct collect *c, struct held_account *a)
{
	struct process *p;

	if (a->pinned)
		return process_at(c, a->pinned - 1);
	p = process_known(c, &a->rec.sample.proc);
	if (p && !p->forgotten) {
		a->pinned = process_index(c, p) + 1;
		p->pins++;
	}
	return p;
}

void accounts_take(struct collect *c, const struct rec_account *rec)
{
	const struct held_account a = {.rec = *rec, .flush = c->flushes, .round = c->rounds};
	struct intake *in = c->intake;

	if (intake_is_broken(c, &rec->sample))
		c->stats.broken_records++;
	else if (vec_push(&in->accounts, a))
		c->no_memory = true;
	else
		(void)pin(c, &in->accounts.v[in->accounts.n - 1]);
}

/*
 * Notes the status with which process @p ends: its last thread has ended, or all threads end
 * together.
 */
static void note_status(struct collect *c, struct process *p, uint32_t status)
{
	if (!status || p->failed || !c->config.failed)
		return;
	p->failed = true;
	c->config.failed(c->config.ctx, p->key.tgid, p->name ? p->name : p->comm, (int)status);
}

/*
 * Hands @a on if that can be done now. Returns what hand_on_account() does. If no other record of
 * the thread's process has come, nothing of the process is shown, so @a isn't needed.
 */
static int hand_on(struct collect *c, struct held_account *a, bool last)
{
	struct process *p = pin(c, a);
	struct waiting w = {.rec = a->rec.sample, .shown_ns = a->rec.sample.time_ns};
	int r;

	if (!last && !collect_has_earlier(c, a->round)) {
		a->flush = c->flushes;
		return 0;
	}
	w.flush = a->flush;
	crowd_turn(c, p);
	if (!p || p->unwanted)
		return 1;
	w.rec.type = REC_SAMPLE_END;
	w.process = process_index(c, p);
	intake_forget_told(p, &w.rec);
	r = hand_on_account(c, &w, last);
	if (r > 0 && (p->state == PROC_PYTHON || p->state == PROC_NATIVE)) {
		thread_check_account(c, &a->rec);
		note_status(c, p, a->rec.exit_status);
	}
	return r;
}

static void unpin(const struct collect *c, const struct held_account *a)
{
	if (a->pinned)
		process_at(c, a->pinned - 1)->pins--;
}

int accounts_hand_on(struct collect *c, bool last, int r)
{
	struct intake *in = c->intake;
	size_t kept = 0;

	vec_foreach(a, &in->accounts) {
		int done = r ? 0 : hand_on(c, a, last);

		if (done < 0)
			r = done;
		if (done > 0)
			unpin(c, a);
		else
			in->accounts.v[kept++] = *a;
	}
	in->accounts.n = kept;
	return r;
}
