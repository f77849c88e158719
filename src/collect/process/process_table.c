/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Process images: found by the records' keys, replaced by an exec, forgotten when nothing comes of
 * them any more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "collect/process/codes.h"
#include "collect/process/crowd.h"
#include "collect/process/look.h"
#include "collect/process/process.h"
#include "collect/process/thread.h"
#include "collect/process/together.h"
#include "proc/stat.h"
#include "python/heap/heap.h"

#define FLUSHES_AFTER_END 3
#define FORGOTTEN_NS	  (10 * NSEC_PER_SEC) /* after its end nothing comes of it */

static uint64_t key_hash(const struct proc_key *k)
{
	return k->start_ns * 0x9e3779b97f4a7c15ull ^ (uint64_t)k->exec_id << 32 ^ k->tgid;
}

struct process *process_newest(const struct collect *c, uint32_t tgid)
{
	uint64_t *i = map_get(&c->processes->by_tgid, tgid);

	return i ? process_at(c, *i - 1) : NULL;
}

/* Another image has its number. */
static void replace(struct process *p)
{
	p->replaced = true;
	p->headless = false;
	p->ended |= 1;
}

static bool is_newer(const struct proc_key *a, const struct proc_key *b)
{
	return a->start_ns != b->start_ns ? a->start_ns > b->start_ns : a->exec_id > b->exec_id;
}

static void drop_index(struct map *m, uint64_t key, uint32_t i)
{
	const uint64_t *at = map_get(m, key);

	if (at && *at == i + 1)
		map_del(m, key);
}

/* The first record of a process that was expected: it has a key. */
static long name_expected(struct collect *c, struct process *p, const struct proc_key *key)
{
	uint32_t i = process_index(c, p);

	if (map_put(&c->processes->by_key, key_hash(key), i + 1))
		return -ENOMEM;
	drop_index(&c->processes->by_key, key_hash(&p->key), i);
	p->key = *key;
	return i;
}

long process_of(struct collect *c, const struct proc_key *key)
{
	uint64_t *known = map_get(&c->processes->by_key, key_hash(key));
	struct process p = {.key = *key, .state = PROC_PENDING}, *other;
	uint32_t i;

	if (known)
		return *known - 1;
	other = process_newest(c, key->tgid);
	if (other && !other->ended && !other->key.start_ns)
		return name_expected(c, other, key);
	if (other && is_newer(key, &other->key)) {
		several_forget(c, other);
		replace(other);
	} else if (other) {
		replace(&p);
	}
	if (!c->processes->free.n && (vec_push(&c->processes->all, (struct process){}) ||
				      vec_push(&c->processes->free, c->processes->all.n - 1)))
		return -ENOMEM;
	p.made = calloc(1, c->processes->made_bytes);
	if (!p.made)
		return -ENOMEM;
	i = c->processes->free.v[c->processes->free.n - 1];
	if (map_put(&c->processes->by_key, key_hash(key), i + 1) ||
	    (!p.replaced && map_put(&c->processes->by_tgid, key->tgid, i + 1)) ||
	    vec_push(&c->processes->live, i)) {
		free(p.made);
		return -ENOMEM;
	}
	c->processes->free.n--;
	c->processes->all.v[i] = p;
	return i;
}

void process_exited(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	struct process *p = process_newest(c, tgid);
	const uint64_t *exec_ns = tid == tgid ? map_get(&c->processes->execs, tgid) : NULL;

	if (exec_ns && *exec_ns <= time_ns)
		map_del(&c->processes->execs, tgid);
	if (p || tid == tgid) /* the records of one that lived for a moment come after it */
		thread_ended(c, p, tgid, tid, time_ns);
	thread_give_up(c, time_ns);
	if (!p)
		return;
	c->news = true;
	/*
	 * If another thread than the first execs, the first one ends. The new image's records may
	 * have come before that.
	 */
	if (tid == tgid && p->seen_ns <= time_ns)
		p->ended = 1;
}

void process_execed(struct collect *c, uint32_t tgid, uint64_t time_ns)
{
	struct process *p = process_newest(c, tgid);

	(void)!map_put(&c->processes->execs, tgid, time_ns);
	if (!p || p->seen_ns > time_ns)
		return; /* the new image: its records came first */
	several_forget(c, p);
	replace(p);
	map_del(&c->processes->by_tgid, tgid);
}

static void free_memory(struct collect *c, struct process *p)
{
	c->processes->close(c, p);
	codes_forget(c, p);
	thread_forget_all(c, p);
}

/* What it holds; its place can be another's then. */
static void process_fini(struct collect *c, struct process *p)
{
	if (!p->made)
		return;
	free_memory(c, p);
	free(p->name);
	free(p->cgroup);
	free(p->container);
	free(p->directory);
	free(p->entry);
	free(p->launched);
	free(p->several);
	free(p->made);
	*p = (struct process){};
}

static void forget(struct collect *c, uint32_t i)
{
	struct process *p = process_at(c, i);
	struct forgotten f = {i, clock_ns(CLOCK_MONOTONIC)};

	crowd_turn(c, p);
	several_forget(c, p);
	free_memory(c, p);
	(void)!vec_push(&c->processes->forgotten, f);
}

/* Nothing comes of it any more. What waits for a stack that was lost keeps its place. */
static void reuse_forgotten(struct collect *c)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	size_t kept = 0, n = 0;

	if (!c->processes->forgotten.n ||
	    now < c->processes->forgotten.v[0].at_ns + 2 * FORGOTTEN_NS)
		return;
	while (n < c->processes->forgotten.n &&
	       now >= c->processes->forgotten.v[n].at_ns + FORGOTTEN_NS) {
		struct forgotten f = c->processes->forgotten.v[n++];
		struct process *p = process_at(c, f.process);

		if (p->users || vec_push(&c->processes->free, f.process)) {
			f.at_ns = now;
			c->processes->forgotten.v[kept++] = f;
			continue;
		}
		drop_index(&c->processes->by_key, key_hash(&p->key), f.process);
		drop_index(&c->processes->by_tgid, p->key.tgid, f.process);
		process_fini(c, p);
	}
	memmove(c->processes->forgotten.v + kept, c->processes->forgotten.v + n,
		(c->processes->forgotten.n - n) * sizeof(*c->processes->forgotten.v));
	c->processes->forgotten.n -= n - kept;
}

/*
 * The side band says that the first thread has ended. Other threads may go on (pthread_exit in
 * main).
 */
static bool has_threads(const struct process *p)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/task", p->key.tgid);
	return !stat(path, &st) && st.st_nlink > 3; /* itself, .. and one a thread */
}

bool process_is_gone(const struct process *p)
{
	return p->ended && (p->replaced || !has_threads(p));
}

/* What was in the rings when it ended has been read FLUSHES_AFTER_END flushes later. */
void process_forget_ended(struct collect *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->processes->live.n; i++) {
		struct process *p = process_live(c, i);

		if (p->ended && p->ended++ > FLUSHES_AFTER_END) {
			p->headless = !p->replaced && has_threads(p);
			if (!p->headless && !p->unnamed) {
				forget(c, c->processes->live.v[i]);
				continue;
			}
			p->ended = 1;
		}
		c->processes->live.v[kept++] = c->processes->live.v[i];
	}
	c->processes->live.n = kept;
	reuse_forgotten(c);
}

bool process_is(const struct process *p, const struct proc *proc)
{
	struct proc_stat stat;

	return !proc_stat_read(proc->dirfd, &stat) && proc_stat_start_ns(&stat) == p->start_boot_ns;
}

bool process_open(struct process *p, struct proc *ret)
{
	int r = proc_open(ret, p->key.tgid);

	p->ended |= r == -ESRCH;
	return !r;
}

uint64_t process_exec_ns(const struct collect *c, uint32_t tgid)
{
	const uint64_t *at = map_get(&c->processes->execs, tgid);

	return at ? *at : 0;
}

void process_note_version(struct collect *c, uint16_t version)
{
	if (!heap_is_known(version))
		c->stats.newer_version = version;
}

uint32_t process_mapping_of(struct collect *c, uint16_t version)
{
	char name[32];

	snprintf(name, sizeof(name), "[python %u.%u]", version >> 8, version & 0xff);
	return profile_mapping(c->profile,
			       &(struct profile_mapping){.name = profile_string(c->profile, name),
							 .kind = KIND_PYTHON});
}

void process_is_python(struct collect *c, struct process *p, uint16_t version)
{
	p->version = version;
	process_note_version(c, version);
	p->mapping = process_mapping_of(c, version);
}

bool processes_init(struct collect *c, size_t made_bytes,
		    void (*close)(struct collect *c, struct process *p))
{
	c->processes = calloc(1, sizeof(*c->processes));
	if (!c->processes)
		return false;
	c->processes->made_bytes = made_bytes;
	c->processes->close = close;
	return codes_init(c) && threads_init(c) && look_init(c) && crowd_init(c) &&
	       together_init(c);
}

bool processes_fini(struct collect *c)
{
	struct processes *all = c->processes;
	bool freed = absent_fini(c);

	vec_foreach(p, &all->all)
		process_fini(c, p);
	vec_fini(&all->all);
	vec_fini(&all->live);
	vec_fini(&all->forgotten);
	vec_fini(&all->free);
	map_fini(&all->by_key);
	map_fini(&all->by_tgid);
	map_fini(&all->execs);
	codes_fini(c);
	threads_fini(c);
	look_fini(c);
	crowd_fini(c);
	together_fini(c);
	free(all);
	c->processes = NULL;
	return freed;
}
