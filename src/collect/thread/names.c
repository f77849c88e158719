/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives threads the names that they have in Python. */
#include <stdio.h>

#include "base/cleanup.h"
#include "collect/budget/crowd.h"
#include "collect/budget/upkeep.h"
#include "collect/thread/internal.h"
#include "proc/proc.h"
#include "python/heap/threads.h"

/* how many samples a process must have before krait first reads its threads' names */
#define NAMES_SAMPLES 3
/* as NAMES_SAMPLES, for a process of which only the main thread was sampled */
#define NAMES_ALONE 16

static void relabel(struct profile *p, struct label_set *set, uint32_t key, uint32_t value)
{
	if (set->id && !(set->own && profile_relabel(p, set->id, key, value)))
		set->id = 0;
}

/*
 * Puts the new names of threads into the label sets of other threads that ended their waits.
 * @renamed: thread.name_id -> the new name, a string of the profile. All sets are looked at once,
 * however many names are new.
 */
static void rename_waiters(struct collect *c, const struct map *renamed)
{
	uint32_t key = renamed->n ? profile_string(c->profile, "waiter") : 0;

	if (!key)
		return;
	vec_foreach(t, &c->threads->all)
		map_foreach(slot, &t->waits) {
			const uint64_t *value = map_get(renamed, thread_waker_name(slot->key));

			if (value)
				relabel(c->profile, label_set_in(&slot->value), key,
					(uint32_t)*value);
		}
}

/*
 * Sets the thread's name in Python. The label sets with the old name get the new name, and .name_id
 * stays the same. False: the thread has this name already.
 */
static bool rename_thread(struct collect *c, struct thread *t, const char *name,
			  struct map *renamed)
{
	struct profile *p = c->profile;
	uint32_t key, value;

	t->named = true;
	if (streq(t->name, name))
		return false;
	key = profile_string(p, "thread");
	value = profile_string(p, name);
	if (profile_failed(p) || (t->waited && map_put(renamed, t->name_id, value)))
		return true;
	snprintf(t->name, sizeof(t->name), "%s", name);
	for (size_t i = 0; i < GIL_STATE_MAX; i++)
		relabel(p, &t->sets[i], key, value);
	map_foreach(slot, &t->waits)
		relabel(p, label_set_in(&slot->value), key, value);
	return true;
}

/*
 * Reads the thread names that one interpreter has. If several interpreters know a thread, it gets
 * its name from the first of them.
 */
static int read_names(struct collect *c, const struct process *p, const struct py_where *where,
		      struct py_thread_names *ret)
{
	const struct py_layout *layout = c->config.ops->layout(c->config.ctx, where->layout);

	return layout ? py_thread_names(p->key.tgid, layout, where, NULL, 0, ret) : -ENOTSUP;
}

/* Fills *ret: number of a thread -> its name. If a thread has several names, the first counts. */
static void by_tid(const struct py_thread_names *names, size_t n, struct map *ret)
{
	for (size_t i = 0; i < n; i++)
		vec_foreach(t, &names[i].list)
			if (!map_get(ret, (uint64_t)t->tid))
				(void)!map_put(ret, (uint64_t)t->tid, (uintptr_t)t->name);
}

/* Gives threads the names that were read. Returns true if a name is new. */
static bool rename_threads(struct collect *c, const struct process *p,
			   const struct py_thread_names *names, size_t n, struct map *renamed)
{
	struct map found;
	bool any = false;

	map_init(&found);
	by_tid(names, n, &found);
	map_foreach(slot, &p->threads) {
		struct thread *t = &c->threads->all.v[slot->value - 1];
		const uint64_t *name = t->ended_ns ? NULL : map_get(&found, t->tid);

		if (name)
			any |= rename_thread(c, t, (const char *)(uintptr_t)*name, renamed);
	}
	map_fini(&found);
	return any;
}

/*
 * Reads the names of the process's threads and applies them. Returns what rename_threads() returns.
 */
static bool name_threads(struct collect *c, struct process *p, struct map *renamed)
{
	const struct proc_several one = {.n = 1, .where[0] = p->where};
	const struct proc_several *all = p->several ? p->several : &one;
	struct py_thread_names names[ABI_INTERPRETERS] = {};
	_cleanup_proc_ struct proc proc = PROC_INIT;
	size_t found = 0;
	bool any = false;

	for (size_t i = 0; i < all->n; i++)
		found += read_names(c, p, &all->where[i], &names[i]) ? 0 : names[i].list.n;
	/*
	 * If the process still runs, the memory that was read is its own, and not that of a later
	 * process with the same number.
	 */
	if (found && !proc_open(&proc, p->key.tgid) && process_is(p, &proc))
		any = rename_threads(c, p, names, all->n, renamed);
	for (size_t i = 0; i < all->n; i++)
		py_thread_names_fini(&names[i]);
	return any;
}

/*
 * Is it time to look for names? krait doesn't look whenever it wakes up, because that is hundreds
 * of times a second on a machine where processes start all the time. A process that ends after very
 * few samples isn't asked for names at all.
 */
static bool is_names_time(const struct process *p, uint64_t now)
{
	bool alone;

	if (now >= p->names_due_ns)
		return true;
	if (p->names_looked_ns || p->names_samples < NAMES_SAMPLES)
		return false;
	alone = p->threads.n == 1 && map_get(&p->threads, p->key.tgid);
	return !alone || p->names_samples >= NAMES_ALONE;
}

/*
 * Should names be read now? When a new thread appears, .names_apart_ns becomes NAMES_APART_NS, and
 * each look makes it longer. So its value tells whether a new thread has appeared since the last
 * look.
 */
static bool is_wanted(const struct process *p, enum names_of which, uint64_t now)
{
	if (which == NAMES_OF_ALL)
		return true;
	if (!p->names_due_ns)
		return false;
	return which == NAMES_OF_NEW ? p->names_apart_ns == NAMES_APART_NS : is_names_time(p, now);
}

/* Looks for the names of one process's threads, and sets when krait looks next. */
static void look(struct collect *c, struct process *p, uint64_t now, struct map *renamed)
{
	uint64_t began_ns;
	bool any;

	p->names_looked_ns = now;
	p->names_due_ns = now + p->names_apart_ns;
	crowd_turn(c, p);
	began_ns = upkeep_begin();
	any = name_threads(c, p, renamed);
	upkeep_end(c, p, began_ns);
	p->names_apart_ns *= any || p->names_apart_ns < NAMES_SETTLED_NS ? 2 : 4;
}

void thread_names(struct collect *c, enum names_of which)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct map renamed;

	map_init(&renamed);
	vec_foreach(i, &c->processes->live) {
		struct process *p = process_at(c, *i);

		if (process_has_ended(p) || p->state != PROC_PYTHON || !p->walked)
			continue;
		if (!is_wanted(p, which, now) || (which != NAMES_OF_ALL && !upkeep_may(c, p, now)))
			continue;
		look(c, p, now, &renamed);
	}
	rename_waiters(c, &renamed);
	map_fini(&renamed);
}
