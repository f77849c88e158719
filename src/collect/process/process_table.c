/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of process images: an image is a process between two execs. Records find an image by
 * its key.
 */
#include <stdlib.h>

#include "base/system/clock.h"
#include "collect/process/process.h"

uint64_t process_key_hash(const struct proc_key *k)
{
	return k->start_ns * 0x9e3779b97f4a7c15ull ^ (uint64_t)k->exec_id << 32 ^ k->tgid;
}

/* Marks @p as ended, because its process number belongs to a later process or exec now. */
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

void process_drop_index(struct map *m, uint64_t key, uint32_t i)
{
	const uint64_t *at = map_get(m, key);

	if (at && *at == i + 1)
		map_del(m, key);
}

/*
 * Sets the complete key of process @p, which krait had examined before its first record. That
 * record has come now, with @key.
 */
static long name_expected(struct collect *c, struct process *p, const struct proc_key *key)
{
	uint32_t i = process_index(c, p);

	if (map_put(&c->processes->by_key, process_key_hash(key), i + 1))
		return -ENOMEM;
	process_drop_index(&c->processes->by_key, process_key_hash(&p->key), i);
	p->key = *key;
	return i;
}

struct process *process_known(const struct collect *c, const struct proc_key *key)
{
	const uint64_t *known = map_get(&c->processes->by_key, process_key_hash(key));

	return known ? process_at(c, (uint32_t)*known - 1) : NULL;
}

/*
 * Creates the process of @key for process_of(). This function isn't inlined in process_of(),
 * because the inlined code set a whole struct process to 0 for each sample, which took a fifth of
 * the sample's time.
 */
static __attribute__((noinline)) long process_new(struct collect *c, const struct proc_key *key)
{
	struct process p = {.key = *key, .state = PROC_PENDING};
	struct process *other = process_newest(c, key->tgid);
	uint32_t i;

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
	if (vec_push(&c->processes->live, i)) {
		free(p.made);
		return -ENOMEM;
	}
	if (map_put(&c->processes->by_key, process_key_hash(key), i + 1) ||
	    (!p.replaced && map_put(&c->processes->by_tgid, key->tgid, i + 1))) {
		/* Entry @i is free again, so .by_key must not lead to it. */
		process_drop_index(&c->processes->by_key, process_key_hash(key), i);
		c->processes->live.n--;
		free(p.made);
		return -ENOMEM;
	}
	c->processes->free.n--;
	c->processes->all.v[i] = p;
	return i;
}

long process_of(struct collect *c, const struct proc_key *key)
{
	const uint64_t *known = map_get(&c->processes->by_key, process_key_hash(key));

	return known ? (long)*known - 1 : process_new(c, key);
}

void process_exited(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	struct process *p = process_newest(c, tgid);
	const uint64_t *exec_ns = tid == tgid ? map_get(&c->processes->execs, tgid) : NULL;

	if (exec_ns && *exec_ns <= time_ns)
		map_del(&c->processes->execs, tgid);
	if (!p)
		return;
	c->news = true;
	/*
	 * If another thread than the first execs, the first thread ends. Records from after the
	 * exec may have come before that end was reported.
	 */
	if (tid == tgid && p->seen_ns <= time_ns)
		p->ended = 1;
}

void process_execed(struct collect *c, uint32_t tgid, uint64_t time_ns)
{
	struct process *p = process_newest(c, tgid);

	(void)!map_put(&c->processes->execs, tgid, time_ns);
	if (!p || p->seen_ns > time_ns)
		/*
		 * records from after the exec came before perf reported it, so @p is the new entry
		 */
		return;
	several_forget(c, p);
	replace(p);
	map_del(&c->processes->by_tgid, tgid);
}
