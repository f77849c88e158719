/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads mappings from /proc, or takes those that perf has reported (told.h): when a process is new,
 * when perf reports a new mapping, when something was unmapped, and when a stack has unknown code.
 * Hands the mappings to the kernel programs.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "base/nomem.h"
#include "collect/budget/crowd.h"
#include "collect/budget/upkeep.h"
#include "collect/space/internal.h"
#include "collect/space/told.h"

/* the least time between two readings of one process's mappings */
#define READ_SOON_NS (5 * NSEC_PER_MSEC)
/* the least time between two readings, as a multiple of the CPU time that a reading takes */
#define READ_SHARE 10
/* the most time between two readings that READ_SHARE may demand */
#define READ_APART_NS (100 * NSEC_PER_MSEC)
/*
 * after this many readings because of unknown code, each further one doubles the time until the
 * next
 */
#define FREE_READS 8
/* if mappings weren't read for this long, FREE_READS counts from 0 again */
#define READ_RESET_NS (10 * NSEC_PER_SEC)

/*
 * Returns since when the mapping has held the same code. If perf has reported no change of the
 * mapping since the reading @before, returns the time that is known from that reading; else
 * @read_ns.
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

/*
 * Adds mapping @all, which has no unwind table. If parts of it have tables, adds each of these
 * parts as a mapping of its own instead.
 */
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

/*
 * Gives the process its own slot (place in the kernel's map of mappings) when its mappings are
 * first read. A fork uses its parent's slot until then.
 */
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
 * Does the process still have the mappings in @maps? @maps NULL: does it still have those that perf
 * has reported (told.h)?
 */
static bool still_has(const struct collect *c, const struct process *p, struct proc *proc,
		      const struct maps *maps)
{
	_cleanup_maps_ struct maps again = {};

	if (!maps)
		return told_still(c, p, proc);
	return !proc_ensure(proc, p->key.tgid) && !maps_read(proc->dirfd, MAPS_EXEC, &again) &&
	       same_mappings(maps, &again);
}

/*
 * Hands the mappings to the kernel program, and checks that they were complete. Without the kprobe
 * (.sees_unmaps) the kernel program notices a new mapping only if it replaces one that the program
 * knows. So while mappings are read, the kernel program counts all new mappings whose address the
 * kernel chooses. Most of them hold no code. If a mapping was counted, the mappings are read once
 * more; if both readings are the same, they are valid. A mapping at an address that a program
 * chooses itself (MAP_FIXED) isn't counted. A loader makes such mappings inside a range of
 * addresses that the kernel chose before, and perf reports all other such mappings later. @maps: as
 * for still_has().
 */
static int hand_over_checked(struct collect *c, struct process *p, struct proc *proc,
			     const struct maps *maps, const struct space *s,
			     struct unwind_space *head)
{
	const struct collect_unwind_ops *ops = c->config.unwind;
	int r = hand_over(c, p, s, head);
	uint64_t unmaps;

	if (r || c->config.sees_unmaps)
		return r;
	ops->read_space(c->config.ctx, p->slot, false);
	unmaps = ops->unmaps(c->config.ctx, p->slot);
	if (unmaps == head->at_unmaps)
		return 0;
	if (still_has(c, p, proc, maps))
		ops->allow_space(c->config.ctx, p->slot, unmaps);
	else
		space_wanted(p, SPACE_GONE);
	return 0;
}

/*
 * May the list of the mappings that perf has reported (told.h) be used in place of /proc? Not if a
 * stack had code that isn't in the list, or if something was unmapped. Not for a process that is
 * .eager either: it has just begun, and maps so much that the list is out of date.
 */
static bool may_be_told(const struct process *p, enum space_stale why)
{
	return why != SPACE_ODD && (why != SPACE_GONE || !p->spaces.n) && !p->eager;
}

/*
 * Sets *ret to the process's mappings; or adds the mappings to @s directly, if perf's reports
 * (told.h) tell all about them. *told: these reports were used in place of /proc.
 */
static int get_maps(struct collect *c, struct process *p, struct proc *proc, enum space_stale why,
		    struct maps *ret, struct space *s, bool *told)
{
	*told = may_be_told(p, why) && told_maps(c, p, proc, ret, s);
	log_debug("mappings of process %u: %s", p->key.tgid,
		  *told ? "taken from perf's mmap events" : "read from /proc");
	if (*told)
		return 0;
	maps_fini(ret);
	return proc_ensure(proc, p->key.tgid) ?: proc_maps(proc, MAPS_EXEC, ret);
}

static int try_to_read(struct collect *c, struct process *p, struct proc *proc,
		       enum space_stale why)
{
	_cleanup_maps_ struct maps maps = {};
	struct space *s = calloc(1, sizeof(*s));
	struct unwind_space head = {};
	bool first = !p->slot, told = false;
	uint64_t began_ns;
	int r = s ? 0 : err_nomem();

	if (!r && first)
		r = take_slot(c, p);
	if (!r && !c->config.sees_unmaps)
		c->config.unwind->read_space(c->config.ctx, p->slot, true);
	head.at_unmaps = r ? 0 : c->config.unwind->unmaps(c->config.ctx, p->slot);
	began_ns = clock_ns(CLOCK_MONOTONIC);
	if (s)
		*s = (struct space){.version = ++c->spaces->last,
				    .process = process_index(c, p),
				    .unmaps = head.at_unmaps,
				    .read_ns = began_ns,
				    .remade_ns = UINT64_MAX};
	r = r ? r : get_maps(c, p, proc, why, &maps, s, &told);
	head.read_ns = clock_ns(CLOCK_MONOTONIC);
	vec_foreach(m, &maps.list)
		/* leaves out [vsyscall], which lies in the upper half of the address space */
		if (m->start < SPACE_UNUSED)
			r = r ? r : add_mapping(c, p, proc, &maps, m, s);
	r = r ? r : hand_over_checked(c, p, proc, told ? NULL : &maps, s, &head);
	r = r ? r : space_keep(c, p, s);
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
	enum space_stale why = p->space_stale;

	crowd_turn(c, p);
	p->space_stale = SPACE_FRESH;
	p->space_ns = clock_ns(CLOCK_MONOTONIC);
	if (try_to_read(c, p, proc, why))
		log_debug("mappings of process %u can't be read: %s", p->key.tgid, err_msg());
	p->read_ns = upkeep_end(c, p, began_ns);
}

void space_read(struct collect *c, struct process *p)
{
	_cleanup_proc_ struct proc proc = PROC_INIT;

	space_read_in(c, p, &proc);
}

/*
 * Returns when the mappings may be read next. Between two readings there is a least time: code that
 * stays unknown because it was made at run time must not make krait read all the time.
 */
static uint64_t due_ns(const struct process *p)
{
	uint64_t apart = MIN(MAX(READ_SOON_NS, p->read_ns * READ_SHARE), READ_APART_NS);

	/* an .eager process has just begun: reading its mappings may take half of krait's time */
	if (p->eager && p->space_ns < p->eager_ns)
		return p->space_ns + 2 * p->read_ns;

	if (p->space_stale == SPACE_ODD && p->reads >= FREE_READS)
		apart = MAX(apart, READ_APART_NS << MIN(p->reads - FREE_READS, 6u));
	return p->space_ns + apart;
}

static bool is_stale(const struct process *p)
{
	return p->space_stale && !process_has_ended(p) && (!p->expected || p->eager) &&
	       has_stacks(p);
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
