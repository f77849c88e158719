/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executable mappings of each process, for unwinding and for naming native code. They are read
 * from /proc when a process is met, when the side band reports a new mapping, when something was
 * unmapped, and when a stack has unknown code. Each reading has a version, which stacks carry. So
 * addresses are always named by the mappings that they were sampled with.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/nomem.h"
#include "collect/budget/crowd.h"
#include "collect/budget/upkeep.h"
#include "collect/space/space.h"

/* how many readings of one process's mappings are kept; more if unnamed stacks pin them */
#define SPACES_KEPT 16
/* least time between two readings of one process's mappings */
#define READ_SOON_NS (5 * NSEC_PER_MSEC)
/* least time between two readings, as a multiple of the CPU time that one takes */
#define READ_SHARE 10
/* upper bound of the time between two readings that READ_SHARE gives */
#define READ_APART_NS (100 * NSEC_PER_MSEC)
/* readings because of unknown code, after which the time between two of them doubles each time */
#define FREE_READS 8
/* after so long without a reading of mappings, FREE_READS counts anew */
#define READ_RESET_NS (10 * NSEC_PER_SEC)

static void space_free(struct space *s)
{
	if (s)
		vec_fini(&s->maps);
	free(s);
}

bool spaces_init(struct collect *c, const struct space_code *code)
{
	c->spaces = calloc(1, sizeof(*c->spaces));
	if (c->spaces)
		c->spaces->code = code;
	return c->spaces;
}

/* Frees the index, and the spaces that stacks have pinned; the others went with their processes. */
void spaces_fini(struct collect *c)
{
	if (!c->spaces)
		return;
	map_foreach(slot, &c->spaces->by_version)
		space_free((struct space *)(uintptr_t)slot->value);
	map_fini(&c->spaces->by_version);
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

/* No version is used twice, so a space that is found is the one that was pinned. */
void space_unpin(struct collect *c, uint32_t version)
{
	struct space *s = find_space(c, version);

	if (!s)
		return;
	s->users--;
	free_if_unused(c, s);
}

/* The process lets go of the space. */
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

/* Keeps @s as the latest reading of @p, and takes ownership if it returns 0. */
static int keep_space(struct collect *c, struct process *p, struct space *s)
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

/*
 * Since when the mapping has held the same code: since an earlier reading, if the side band
 * reported no change of it; else since @read_ns.
 */
static uint64_t same_since(const struct space *before, const struct space_map *m, uint64_t read_ns)
{
	const struct space_map *was = before ? space_map_at(before, m->start) : NULL;

	return was && was->lasting && was->start == m->start && was->end == m->end &&
			       was->remade_ns == UINT64_MAX
		       ? was->since_ns
		       : read_ns;
}

/* Adds a mapping that has no file: the code in it was made at run time. */
static int add_anonymous(struct collect *c, struct process *p, const struct mapping *m,
			 struct space *s)
{
	uint64_t end, at = m->start;
	int r = 0;

	for (; !r && at < m->end; at = end) {
		struct space_map part = {
			.start = at, .lasting = mapping_is_lasting(m), .remade_ns = UINT64_MAX};

		end = c->spaces->code->until(p, m, at);
		part.end = end;
		part.since_ns = same_since(space_latest(c, p), &part, s->read_ns);
		if (part.lasting)
			s->since_ns = MAX(s->since_ns, part.since_ns);
		c->spaces->code->table(c, p, m, &part);
		r = vec_push(&s->maps, part);
	}
	return r;
}

static int add_mapping(struct collect *c, struct process *p, const struct proc *proc,
		       const struct maps *maps, const struct mapping *m, struct space *s)
{
	struct space_map at = {.start = m->start, .end = m->end};
	const char *path = maps_path(maps, m);
	struct native_file *f = native_file_of(c, proc, m, path, &at.file);

	c->spaces->code->met(c, p, proc, m, path, f);
	if (!f) /* the mapping has no file, or a file without code: /dev/zero, a memfd */
		return add_anonymous(c, p, m, s);
	if (!native_file_vaddr(f, m->offset, &at.vaddr))
		at.file = 0;
	return vec_push(&s->maps, at);
}

typedef VEC(struct unwind_mapping) mapping_vec;

/* Adds the mapping @all, which has no table. It is divided where parts of it have one. */
static int add_parts(const struct collect *c, const struct process *p, struct unwind_mapping all,
		     mapping_vec *list)
{
	uint64_t end = all.end;
	int r = 0;

	while (!r && all.start < end) {
		const struct space_part *g = c->spaces->code->next(p, all.start, end);
		struct unwind_mapping part = all;

		if (g && g->start == all.start) {
			part.table = g->table;
			part.end = g->end;
		} else if (g) {
			part.end = g->start;
		}
		r = vec_push(list, part);
		all.start = part.end;
	}
	return r;
}

static int hand_over(struct collect *c, const struct process *p, const struct space *s,
		     struct unwind_space *head)
{
	mapping_vec list = {};
	int r = 0;

	vec_foreach(m, &s->maps) {
		struct unwind_mapping u = {
			.start = m->start, .end = m->end, .table = m->table, .key = m->key};

		if (m->file) {
			u.table = native_file_at(c, m->file)->table;
			u.key = (uint32_t)(m->vaddr - native_file_at(c, m->file)->base);
		}
		r = r ? r : u.table ? vec_push(&list, u) : add_parts(c, p, u, &list);
	}
	head->version = s->version;
	head->owner_start_ns = p->key.start_ns;
	head->owner_tgid = p->key.tgid;
	head->owner_exec = p->key.exec_id;
	r = r ? r : c->config.unwind->set_space(c->config.ctx, p->slot, head, list.v, list.n);
	vec_fini(&list);
	return r;
}

/* At the first reading: gives the process a slot of its own. A fork used its parent's until now. */
static int take_slot(struct collect *c, struct process *p)
{
	int r = p->slot ? 0 : c->config.unwind->new_space(c->config.ctx, &p->slot);

	return r ? r
		 : c->config.ops->set_proc(c->config.ctx, &p->key, p->state, &p->where, &p->place,
					   p->slot);
}

static bool same_mappings(const struct maps *a, const struct maps *b)
{
	if (a->list.n != b->list.n)
		return false;
	for (size_t i = 0; i < a->list.n; i++)
		if (a->list.v[i].start != b->list.v[i].start ||
		    a->list.v[i].ino != b->list.v[i].ino || a->list.v[i].end != b->list.v[i].end)
			return false;
	return true;
}

/*
 * Hands the mappings to the kernel program, and checks that they were complete. Without the kprobe
 * (.sees_unmaps) the kernel program notices a new mapping only if it replaces one that the program
 * knows. So while mappings are read, it counts all new mappings whose address the kernel chooses.
 * Most of them hold no code. If there was one, the mappings are read once more; if they are the
 * same, they are valid. A mapping at an address that a program chooses itself (MAP_FIXED) isn't
 * counted: a loader does so inside a range of addresses that the kernel chose before, and the side
 * band reports the others later.
 */
static int hand_over_checked(struct collect *c, struct process *p, const struct proc *proc,
			     const struct maps *maps, const struct space *s,
			     struct unwind_space *head)
{
	const struct collect_unwind_ops *ops = c->config.unwind;
	_cleanup_maps_ struct maps again = {};
	int r = hand_over(c, p, s, head);
	uint64_t unmaps;

	if (r || c->config.sees_unmaps)
		return r;
	ops->read_space(c->config.ctx, p->slot, false);
	unmaps = ops->unmaps(c->config.ctx, p->slot);
	if (unmaps == head->at_unmaps)
		return 0;
	if (maps_read(proc->dirfd, MAPS_EXEC, &again) || !same_mappings(maps, &again))
		space_wanted(p, SPACE_GONE);
	else
		ops->allow_space(c->config.ctx, p->slot, unmaps);
	return 0;
}

static int try_to_read(struct collect *c, struct process *p, struct proc *proc)
{
	_cleanup_maps_ struct maps maps = {};
	struct space *s = calloc(1, sizeof(*s));
	struct unwind_space head = {};
	bool first = !p->slot;
	uint64_t began_ns;
	int r = s ? 0 : err_nomem();

	if (!r && first)
		r = take_slot(c, p);
	if (!r && proc->dirfd < 0)
		r = proc_open(proc, p->key.tgid);
	if (!r && !c->config.sees_unmaps)
		c->config.unwind->read_space(c->config.ctx, p->slot, true);
	head.at_unmaps = r ? 0 : c->config.unwind->unmaps(c->config.ctx, p->slot);
	began_ns = clock_ns(CLOCK_MONOTONIC);
	r = r ? r : proc_maps(proc, MAPS_EXEC, &maps);
	head.read_ns = clock_ns(CLOCK_MONOTONIC);
	if (s)
		*s = (struct space){.version = ++c->spaces->last,
				    .process = process_index(c, p),
				    .unmaps = head.at_unmaps,
				    .read_ns = began_ns,
				    .remade_ns = UINT64_MAX};
	vec_foreach(m, &maps.list)
		/* not [vsyscall], which lies in the upper half of the address space */
		if (m->start < SPACE_UNUSED)
			r = r ? r : add_mapping(c, p, proc, &maps, m, s);
	r = r ? r : hand_over_checked(c, p, proc, &maps, s, &head);
	r = r ? r : keep_space(c, p, s);
	if (r && p->slot)
		c->config.unwind->read_space(c->config.ctx, p->slot, false);
	if (r)
		space_free(s);
	else
		space_free_tables(c, p);
	return r;
}

void space_read_in(struct collect *c, struct process *p, struct proc *proc)
{
	uint64_t began_ns = upkeep_begin();

	crowd_turn(c, p);
	p->space_stale = SPACE_FRESH;
	p->space_ns = clock_ns(CLOCK_MONOTONIC);
	if (try_to_read(c, p, proc))
		log_debug("mappings of process %u can't be read: %s", p->key.tgid, err_msg());
	p->read_ns = upkeep_end(c, p, began_ns);
}

void space_read(struct collect *c, struct process *p)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;

	space_read_in(c, p, &proc);
}

/*
 * When the mappings may be read next. Readings are some time apart, and code that stays unknown
 * (made at run time) must not make krait read all the time.
 */
static uint64_t due_ns(const struct process *p)
{
	uint64_t apart = MIN(MAX(READ_SOON_NS, p->read_ns * READ_SHARE), READ_APART_NS);

	/* of an eager process: half of the time may be spent on reading */
	if (p->eager && p->space_ns < p->eager_ns)
		return p->space_ns + 2 * p->read_ns;

	if (p->space_stale == SPACE_ODD && p->reads >= FREE_READS)
		apart = MAX(apart, READ_APART_NS << MIN(p->reads - FREE_READS, 6u));
	return p->space_ns + apart;
}

static bool is_stale(const struct process *p)
{
	return !process_has_ended(p) && (!p->expected || p->eager) && has_stacks(p) &&
	       p->space_stale;
}

uint64_t space_due_ns(const struct collect *c)
{
	uint64_t due = UINT64_MAX;

	for (size_t i = 0; c->config.unwind && i < c->processes->live.n; i++) {
		const struct process *p = process_live(c, i);

		if (is_stale(p))
			due = MIN(due, MAX(due_ns(p), p->spaces.n ? upkeep_due_ns(c, p) : 0));
	}
	return due;
}

void space_read_stale(struct collect *c)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!c->config.unwind)
		return;
	for (size_t i = 0; i < c->processes->live.n; i++) {
		struct process *p = process_live(c, i);

		if (now - p->space_ns > READ_RESET_NS)
			p->reads = 0;
		if (!is_stale(p) || now < due_ns(p) || (p->spaces.n && !upkeep_may(c, p, now)))
			continue;
		p->reads += p->space_stale == SPACE_ODD;
		space_read(c, p);
	}
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
 * Was the same memory made executable before, since the same reading? Some programs do so all the
 * time.
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
 * The mapping at @pc in the latest reading, where @s has none. If nothing was unmapped since @s was
 * read, that mapping was there when code in it was sampled. This doesn't hold for a fork's stack,
 * which was unwound with its parent's mappings.
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
