/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Process images: found by the records' keys, replaced by an exec, forgotten when nothing comes of
 * them any more.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "collect/internal.h"

#define FLUSHES_AFTER_END 3
#define FORGOTTEN_NS	  (10 * NSEC_PER_SEC) /* after its end nothing comes of it */

static uint64_t key_hash(const struct proc_key *k)
{
	return k->start_ns * 0x9e3779b97f4a7c15ull ^ (uint64_t)k->exec_id << 32 ^ k->tgid;
}

struct process *process_newest(const struct collect *c, uint32_t tgid)
{
	uint64_t *i = map_get(&c->by_tgid, tgid);

	return i ? &c->processes.v[*i - 1] : NULL;
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
	uint32_t i = p - c->processes.v;

	if (map_put(&c->by_key, key_hash(key), i + 1))
		return -ENOMEM;
	drop_index(&c->by_key, key_hash(&p->key), i);
	p->key = *key;
	return i;
}

long process_of(struct collect *c, const struct proc_key *key)
{
	uint64_t *known = map_get(&c->by_key, key_hash(key));
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
	if (!c->free_processes.n && (vec_push(&c->processes, (struct process){}) ||
				     vec_push(&c->free_processes, c->processes.n - 1)))
		return -ENOMEM;
	i = c->free_processes.v[c->free_processes.n - 1];
	if (map_put(&c->by_key, key_hash(key), i + 1) ||
	    (!p.replaced && map_put(&c->by_tgid, key->tgid, i + 1)) || vec_push(&c->live, i))
		return -ENOMEM;
	c->free_processes.n--;
	c->processes.v[i] = p;
	return i;
}

void collect_exit(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	struct process *p = process_newest(c, tgid);
	const uint64_t *exec_ns = tid == tgid ? map_get(&c->execs, tgid) : NULL;

	if (exec_ns && *exec_ns <= time_ns)
		map_del(&c->execs, tgid);
	if (p || tid == tgid) /* the records of one that lived for a moment come after it */
		thread_ended(c, p, tgid, tid, time_ns);
	thread_give_up(c, time_ns);
	if (!p)
		return;
	c->news = true;
	/* An exec by another thread ends the first one: the new image's records may have come first. */
	if (tid == tgid && p->seen_ns <= time_ns)
		p->ended = 1;
}

void collect_exec(struct collect *c, uint32_t tgid, uint64_t time_ns)
{
	struct process *p = process_newest(c, tgid);

	(void)!map_put(&c->execs, tgid, time_ns);
	if (!p || p->seen_ns > time_ns)
		return; /* the new image: its records came first */
	several_forget(c, p);
	replace(p);
	map_del(&c->by_tgid, tgid);
}

static void free_memory(struct collect *c, struct process *p)
{
	space_forget(c, p);
	jit_close(c, p);
	registered_close(p);
	guarded_close(p);
	space_free_tables(c, p);
	vec_foreach(code, &p->codes)
		sent_free_code(c, *code);
	vec_fini(&p->codes);
	map_fini(&p->code_index);
	thread_forget_all(c, p);
}

void process_fini(struct collect *c, struct process *p)
{
	free_memory(c, p);
	free(p->name);
	free(p->cgroup);
	free(p->container);
	free(p->directory);
	free(p->entry);
	free(p->launched);
	free(p->several);
	*p = (struct process){};
}

static void forget(struct collect *c, uint32_t i)
{
	struct process *p = &c->processes.v[i];
	struct forgotten f = {i, clock_ns(CLOCK_MONOTONIC)};

	crowd_turn(c, p);
	several_forget(c, p);
	free_memory(c, p);
	(void)!vec_push(&c->forgotten, f);
}

static bool is_referred_to(const struct collect *c, uint32_t process)
{
	vec_foreach(w, &c->waiting)
		if (w->process == process)
			return true;
	vec_foreach(raw, &c->raw)
		if (raw->process == process)
			return true;
	return false;
}

/* Nothing comes of it any more. What waits for a stack that was lost keeps its place. */
static void reuse_forgotten(struct collect *c)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	size_t kept = 0, n = 0;

	if (!c->forgotten.n || now < c->forgotten.v[0].at_ns + 2 * FORGOTTEN_NS)
		return;
	while (n < c->forgotten.n && now >= c->forgotten.v[n].at_ns + FORGOTTEN_NS) {
		struct forgotten f = c->forgotten.v[n++];
		struct process *p = &c->processes.v[f.process];

		if (is_referred_to(c, f.process) || vec_push(&c->free_processes, f.process)) {
			f.at_ns = now;
			c->forgotten.v[kept++] = f;
			continue;
		}
		drop_index(&c->by_key, key_hash(&p->key), f.process);
		drop_index(&c->by_tgid, p->key.tgid, f.process);
		process_fini(c, p);
	}
	memmove(c->forgotten.v + kept, c->forgotten.v + n,
		(c->forgotten.n - n) * sizeof(*c->forgotten.v));
	c->forgotten.n -= n - kept;
}

/* The first thread has ended, which the side band tells; others may go on (pthread_exit in main). */
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

/* A stack of it waits for a file's symbols: what it had mapped says which. */
static bool is_waited_for(struct collect *c, uint32_t process)
{
	vec_foreach(raw, &c->raw)
		if (raw->process == process && !merge_ready(c, raw))
			return true;
	return false;
}

/* What was in the rings when it ended has been read FLUSHES_AFTER_END flushes later. */
void process_forget_ended(struct collect *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->live.n; i++) {
		struct process *p = &c->processes.v[c->live.v[i]];

		if (p->ended && p->ended++ > FLUSHES_AFTER_END) {
			p->headless = !p->replaced && has_threads(p);
			if (!p->headless && !is_waited_for(c, c->live.v[i])) {
				forget(c, c->live.v[i]);
				continue;
			}
			p->ended = 1;
		}
		c->live.v[kept++] = c->live.v[i];
	}
	c->live.n = kept;
	reuse_forgotten(c);
}
