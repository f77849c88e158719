/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executable mappings of each process, for unwinding and for naming native code. Each reading
 * of them (read.c) has a version, which stacks carry. So each address is named by the mappings that
 * the process had when the stack was sampled.
 */
#include <stdlib.h>

#include "collect/space/internal.h"
#include "collect/space/told.h"

/*
 * how many readings of one process's mappings are kept; more are kept if stacks that wait for names
 * need them
 */
#define SPACES_KEPT 16

void space_free(struct space *s)
{
	if (s)
		vec_fini(&s->maps);
	free(s);
}

bool spaces_init(struct collect *c, const struct space_code *code)
{
	c->spaces = calloc(1, sizeof(*c->spaces));
	if (!c->spaces)
		return false;
	c->spaces->code = code;
	return told_init(c);
}

/*
 * Frees the index, and the readings of mappings (spaces) that stacks still keep from being freed.
 * All others were freed with their processes.
 */
void spaces_fini(struct collect *c)
{
	if (!c->spaces)
		return;
	map_foreach(slot, &c->spaces->by_version)
		space_free((struct space *)(uintptr_t)slot->value);
	map_fini(&c->spaces->by_version);
	told_fini(c);
	free(TAKE_PTR(c->spaces));
}

static struct space *find_space(const struct collect *c, uint32_t version)
{
	const uint64_t *at = map_get(&c->spaces->by_version, version);

	return at ? (struct space *)(uintptr_t)*at : NULL;
}

void space_pin(struct collect *c, uint32_t version)
{
	struct space *s = find_space(c, version);

	if (s)
		s->users++;
}

/* Frees @s once neither its process nor a stack needs it. */
static void free_if_unused(struct collect *c, struct space *s)
{
	if (s->users || s->process != NO_PROCESS)
		return;
	map_del(&c->spaces->by_version, s->version);
	space_free(s);
}

/*
 * No version number is used twice, so the reading of the mappings with number @version is the one
 * that was pinned (kept from being freed).
 */
void space_unpin(struct collect *c, uint32_t version)
{
	struct space *s = find_space(c, version);

	if (!s)
		return;
	s->users--;
	free_if_unused(c, s);
}

/*
 * Called when the process no longer uses version @version of its mappings. Frees these mappings,
 * unless a stack still needs them.
 */
static void drop_version(struct collect *c, uint32_t version)
{
	struct space *s = find_space(c, version);

	if (!s)
		return;
	s->process = NO_PROCESS;
	free_if_unused(c, s);
}

void space_forget(struct collect *c, struct process *p)
{
	if (p->slot)
		c->config.unwind->free_space(c->config.ctx, p->slot);
	p->slot = 0;
	p->space_stale = SPACE_FRESH;
	vec_foreach(version, &p->spaces)
		drop_version(c, *version);
	vec_fini(&p->spaces);
}

void space_retire_table(struct process *p, uint32_t table)
{
	if (table)
		(void)!vec_push(&p->old_tables, table);
}

void space_free_tables(struct collect *c, struct process *p)
{
	vec_foreach(table, &p->old_tables)
		c->config.unwind->free_table(c->config.ctx, *table);
	vec_fini(&p->old_tables);
}

static bool is_pinned(const struct collect *c, uint32_t version)
{
	const struct space *s = find_space(c, version);

	return s && s->users;
}

int space_keep(struct collect *c, struct process *p, struct space *s)
{
	int r = map_put(&c->spaces->by_version, s->version, (uintptr_t)s);

	r = r ? r : vec_push(&p->spaces, s->version);
	if (r) {
		map_del(&c->spaces->by_version, s->version);
		return r;
	}
	if (p->spaces.n > SPACES_KEPT && !is_pinned(c, p->spaces.v[0])) {
		drop_version(c, p->spaces.v[0]);
		memmove(p->spaces.v, p->spaces.v + 1, --p->spaces.n * sizeof(*p->spaces.v));
	}
	return 0;
}

const struct space *space_at(const struct collect *c, uint32_t version)
{
	return find_space(c, version);
}

const struct space_map *space_map_at(const struct space *s, uint64_t pc)
{
	size_t i = count_upto(s->maps.v, s->maps.n, end, pc);

	return i < s->maps.n && s->maps.v[i].start <= pc ? &s->maps.v[i] : NULL;
}

const struct space *space_latest(const struct collect *c, const struct process *p)
{
	return p->spaces.n ? space_at(c, p->spaces.v[p->spaces.n - 1]) : NULL;
}

/*
 * Was the same range made executable already since the latest reading of the mappings? Some
 * programs make the same memory executable all the time.
 */
static bool is_made_again(const struct collect *c, struct process *p, uint64_t start, uint64_t end,
			  uint64_t time_ns)
{
	const struct space *latest = space_latest(c, p);
	const struct made_executable was = p->made_executable;

	if (latest && was.version == latest->version && was.start == start && was.end == end &&
	    time_ns >= was.time_ns)
		return true;
	if (latest && time_ns > latest->read_ns)
		p->made_executable = (struct made_executable){start, end, time_ns, latest->version};
	return false;
}

void space_made_executable(struct collect *c, struct process *p, uint64_t start, uint64_t end,
			   uint64_t time_ns)
{
	if (is_made_again(c, p, start, end, time_ns))
		return;
	vec_foreach(version, &p->spaces) {
		struct space *s = find_space(c, *version);
		size_t i = s ? count_upto(s->maps.v, s->maps.n, end, start) : 0;

		for (; s && i < s->maps.n && s->maps.v[i].start < end; i++) {
			struct space_map *m = &s->maps.v[i];

			if (!m->lasting || (time_ns && time_ns < m->since_ns))
				continue;
			m->remade_ns = MIN(m->remade_ns, time_ns);
			s->remade_ns = MIN(s->remade_ns, time_ns);
		}
	}
}

/*
 * Returns the mapping at @pc in a later reading, because @s has no mapping there. If nothing was
 * unmapped since @s was read, the code at @pc belonged to this mapping when it was sampled. For a
 * stack of a fork that was unwound with its parent's mappings, that isn't certain.
 */
static const struct space_map *find_later(const struct collect *c, const struct space *s,
					  uint32_t process, uint64_t pc)
{
	const struct space *latest;

	if (process == NO_PROCESS || s->process != process || !c->config.sees_unmaps)
		return NULL;
	latest = space_latest(c, process_at(c, process));
	return latest && latest->unmaps == s->unmaps ? space_map_at(latest, pc) : NULL;
}

struct native_file *space_find(const struct collect *c, uint32_t version, uint32_t process,
			       uint64_t pc, uint64_t *vaddr)
{
	const struct space *s = space_at(c, version);
	const struct space_map *m = s ? space_map_at(s, pc) : NULL;

	if (s && !m)
		m = find_later(c, s, process, pc);
	if (!m || !m->file)
		return NULL;
	*vaddr = m->vaddr + (pc - m->start);
	return native_file_at(c, m->file);
}
