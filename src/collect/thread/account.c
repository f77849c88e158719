/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts how long threads were ready to run but had no CPU, and how long their CPU was stolen by
 * the hypervisor. Each record of a thread has the sums of both times since the thread began. The
 * stack of a record gets the time by which the sums have grown since the thread's last record. This
 * file also divides the time of waits whose stacks weren't taken (shares.h).
 */
#include "collect/thread/internal.h"

/*
 * Returns by how much @told exceeds *@known, and sets *@known to @told. @most, the length of the
 * recording so far, is the upper bound of @told, because no thread can have more time. Records from
 * several CPUs come out of order; an older record adds nothing.
 */
static uint64_t beyond(uint64_t *known, uint64_t told, uint64_t most)
{
	uint64_t ns = MIN(told, most), more = ns - MIN(ns, *known);

	*known += more;
	return more;
}

struct thread_apart thread_apart(struct collect *c, uint32_t process, const struct rec_sample *rec)
{
	uint64_t most = rec->time_ns - MIN(rec->time_ns, c->config.start_ns);
	struct thread_apart ret = {};
	struct thread *t;

	if (!rec->ready_ns && !rec->stolen_ns)
		return ret;
	t = thread_of_sample(c, process_at(c, process), rec);
	if (!t)
		return ret;
	ret.ready_ns = beyond(&t->ready_ns, rec->ready_ns, most);
	ret.stolen_ns = beyond(&t->stolen_ns, rec->stolen_ns, most - ret.ready_ns);
	return ret;
}

void thread_note_stack(struct collect *c, uint32_t process, const struct rec_sample *rec,
		       uint32_t stack)
{
	struct thread *t = thread_of_sample(c, process_at(c, process), rec);

	if (!t)
		return;
	t->last_stack = stack;
	t->last_gil = rec->gil;
}

uint32_t thread_last_stack(struct collect *c, uint32_t process, const struct rec_sample *rec,
			   uint8_t *gil)
{
	const struct thread *t = thread_of_sample(c, process_at(c, process), rec);

	if (!t || !t->last_stack)
		return 0;
	*gil = t->last_gil;
	return t->last_stack;
}

/* Returns the thread of wait @w if it is open: a later record will take out what it still has. */
static struct thread *open_thread(struct collect *c, const struct waiting *w)
{
	struct process *p = process_at(c, w->process);
	struct thread *t = p->forgotten ? NULL : thread_of_sample(c, p, &w->rec);

	return t && !t->closed ? t : NULL;
}

void thread_share(struct collect *c, struct waiting *w)
{
	struct thread *t = open_thread(c, w);

	if (t) {
		shares_take(&t->shares, w);
		return;
	}
	w->rec.weight += w->others_ns;
	w->gil_ns += w->gil_others_ns;
}

bool thread_owes(struct collect *c, const struct waiting *w)
{
	const struct thread *t = open_thread(c, w);

	return t && shares_owe(t->shares, w);
}

bool thread_share_left(struct collect *c, const struct waiting *of, struct waiting *ret)
{
	const struct thread *t = thread_of_sample(c, process_at(c, of->process), &of->rec);

	return t && shares_left(t->shares, ret);
}

void thread_close(struct collect *c, const struct waiting *of)
{
	struct thread *t = thread_of_sample(c, process_at(c, of->process), &of->rec);

	if (t)
		t->closed = true;
}

void thread_check_account(struct collect *c, const struct rec_account *rec)
{
	struct collect_accounts *sums = &c->stats.accounts;

	sums->threads++;
	sums->switches_ns += rec->switches_ns;
	sums->kernel_ns += rec->kernel_ns;
}
