/* SPDX-License-Identifier: BSD-2-Clause */
/* Bounds how much work is spent on one file or process; see slice.h. */
#include "base/work/slice.h"

#include "base/work/worker.h"

struct limit_names limit_names = {.memory = "the limit of memory",
				  .unwind_memory = "the memory for unwind tables"};

static _Thread_local struct slice *current;

void slice_begin(struct slice *s, uint64_t work)
{
	*s = (struct slice){.left = work, .memory = UINT64_MAX, .outer = current};
	if (current) {
		s->left = MIN(s->left, current->left);
		s->memory = current->memory;
	}
	current = s;
}

void slice_end(struct slice *s)
{
	current = s->outer;
	if (current)
		current->cut |= s->cut;
}

bool slice_spend(uint64_t work)
{
	if (!current)
		return true;
	if (work > current->left || worker_cancelled()) {
		current->cut = true;
		return false;
	}
	for (struct slice *s = current; s; s = s->outer)
		s->left -= work;
	return true;
}

void slice_limit_memory(struct slice *s, uint64_t bytes)
{
	s->memory = MIN(s->memory, bytes);
}

bool slice_hold(uint64_t bytes)
{
	if (!current)
		return true;
	if (bytes > current->memory) {
		current->cut = true;
		return false;
	}
	for (struct slice *s = current; s; s = s->outer)
		s->memory -= bytes;
	return true;
}

uint64_t budget_due_ns(const struct budget *b, struct budget_limit limit)
{
	if (b->took_ns < limit.burst_ns)
		return 0;
	return b->first_ns + (b->took_ns - limit.burst_ns) * limit.share;
}

bool budget_is_left(const struct budget *b, struct budget_limit limit, uint64_t now_ns)
{
	return now_ns >= budget_due_ns(b, limit);
}

void budget_spend(struct budget *b, uint64_t now_ns, uint64_t ns)
{
	b->first_ns = b->first_ns ?: now_ns;
	b->took_ns += ns;
}

void budget_spend_only(struct budget *b, struct budget_limit limit, uint64_t now_ns, uint64_t ns)
{
	uint64_t paid_ns = b->took_ns * limit.share;

	if (b->first_ns && now_ns > paid_ns)
		b->first_ns = MAX(b->first_ns, now_ns - paid_ns);
	budget_spend(b, now_ns, ns);
}
