/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps what perf reports (the side band) of the mappings of processes that have just exec'ed; see
 * told.h.
 */
#include "collect/space/told.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "collect/native/native.h"
#include "collect/process/process.h"
#include "collect/space/space.h"
#include "proc/read/stat.h"

/*
 * how many processes have a list of their mappings since their exec; a new list replaces the oldest
 */
#define IMAGES	 128
#define MAPPINGS 24 /* the most mappings in a list: a Python that just began has eight */

struct told_map {
	uint64_t start, end, offset;
	uint64_t file; /* number of the file for native_file_at() */
};

struct told_image {
	uint32_t tgid; /* number of the process; 0: this entry is free */
	uint32_t n;
	/* the list lacks mappings, or something about a mapping isn't known exactly */
	bool broken;
	uint64_t exec_ns;
	struct told_map map[MAPPINGS]; /* ascending by address */
};

struct told {
	struct told_image image[IMAGES];
	size_t oldest;	    /* index in .image of the entry that is replaced next */
	struct map by_tgid; /* process number -> 1 + index in .image */
	uint64_t newest_ns; /* time of the newest event that has come */
};

bool told_init(struct collect *c)
{
	return (c->spaces->told = calloc(1, sizeof(*c->spaces->told)));
}

void told_fini(struct collect *c)
{
	if (c->spaces->told)
		map_fini(&c->spaces->told->by_tgid);
	free(TAKE_PTR(c->spaces->told));
}

static struct told_image *image_with(struct told *t, uint32_t tgid)
{
	const uint64_t *i = map_get(&t->by_tgid, tgid);

	return i ? &t->image[*i - 1] : NULL;
}

static void forget(struct told *t, struct told_image *i)
{
	if (i->tgid)
		map_del(&t->by_tgid, i->tgid);
	i->tgid = 0;
}

static struct told_image *take_oldest(struct told *t)
{
	struct told_image *i = &t->image[t->oldest];

	t->oldest = (t->oldest + 1) % IMAGES;
	forget(t, i);
	return i;
}

/*
 * If newer events came before this exec, some of them may have been about mappings that the process
 * made after the exec. In that case the process's list lacks these mappings.
 */
void told_execed(struct collect *c, uint32_t tgid, uint64_t time_ns)
{
	struct told *t = c->spaces->told;
	struct told_image *i = image_with(t, tgid) ?: take_oldest(t);

	if (!i->tgid && map_put(&t->by_tgid, tgid, (uint64_t)(i - t->image) + 1))
		return;
	i->tgid = tgid;
	i->n = 0;
	i->broken = time_ns < t->newest_ns;
	i->exec_ns = time_ns;
	t->newest_ns = MAX(t->newest_ns, time_ns);
}

static bool same(const struct told_map *a, const struct told_map *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Adds mapping @m to the list. False: there is no room, or another mapping overlaps it. */
static bool add(struct told_image *i, const struct told_map *m)
{
	size_t at = count_upto(i->map, i->n, end, m->start);

	if (at < i->n && i->map[at].start < m->end)
		return same(&i->map[at], m);
	if (i->n == MAPPINGS)
		return false;
	memmove(&i->map[at + 1], &i->map[at], (i->n - at) * sizeof(*m));
	i->map[at] = *m;
	i->n++;
	return true;
}

/*
 * Code that lies in no file makes the list useless, because perf doesn't report when such code is
 * moved.
 */
void told_mapped(struct collect *c, uint32_t tgid, const struct mapping *m, const char *path,
		 uint64_t time_ns)
{
	struct told *t = c->spaces->told;
	struct told_image *i = image_with(t, tgid);
	uint32_t file;

	t->newest_ns = MAX(t->newest_ns, time_ns);
	if (!i || i->broken || time_ns < i->exec_ns)
		return;
	file = native_file_met(c, m, path);
	i->broken = !file || !add(i, &(struct told_map){m->start, m->end, m->offset, file});
}

void told_ended(struct collect *c, uint32_t tgid)
{
	struct told_image *i = image_with(c->spaces->told, tgid);

	if (i)
		forget(c->spaces->told, i);
}

void told_forget(struct collect *c)
{
	for (size_t i = 0; i < IMAGES; i++)
		forget(c->spaces->told, &c->spaces->told->image[i]);
}

/* Returns the list of the mappings of process @p since its exec; NULL: there is none. */
static struct told_image *list_of(struct told *t, const struct process *p)
{
	struct told_image *i = image_with(t, p->key.tgid);

	/*
	 * the kernel program first saw @p at .met_ns; a list from a later exec isn't about what @p
	 * runs
	 */
	return i && !i->broken && i->n && i->exec_ns <= p->met_ns && !p->replaced ? i : NULL;
}

static uint64_t bytes_of(const struct told_image *i)
{
	uint64_t n = 0;

	for (size_t k = 0; k < i->n; k++)
		n += i->map[k].end - i->map[k].start;
	return n;
}

/*
 * Returns how many bytes of code @p maps now, from the kernel program or from /proc; 0: not known.
 */
static uint64_t code_bytes(const struct collect *c, const struct process *p, struct proc *proc)
{
	const struct collect_unwind_ops *ops = c->config.unwind;
	struct proc_status status;
	uint64_t pages = ops->code_pages ? ops->code_pages(c->config.ctx, &p->key, p->task) : 0;

	if (pages)
		return pages * (uint64_t)sysconf(_SC_PAGESIZE);
	if (proc_ensure(proc, p->key.tgid) || proc_status_read(proc->dirfd, "status", &status))
		return 0;
	return status.code_bytes;
}

/*
 * Does process @p map as much code as its list has, and has krait read all that perf has reported
 * of the process? Then nothing in the list was unmapped, because perf reports a mapping before the
 * kernel counts it. (mprotect() and mremap() change the kernel's count before perf's report, or
 * without a report. So if code is unmapped and they make as many bytes of code elsewhere, krait
 * misses that. It does harm only if other code takes the place of the unmapped code, but such code
 * would have been reported.)
 */
static bool is_exact(const struct collect *c, struct told_image *i, const struct process *p,
		     struct proc *proc)
{
	const struct collect_unwind_ops *ops = c->config.unwind;
	uint64_t bytes = ops->untold ? code_bytes(c, p, proc) : 0;

	if (!bytes || ops->untold(c->config.ctx, i->tgid))
		return false;
	i->broken = bytes != bytes_of(i);
	return !i->broken;
}

/* Does krait know all about the files in the list, so that it needn't look at the process? */
static bool is_settled(const struct collect *c, const struct told_image *i)
{
	for (size_t k = 0; k < i->n; k++)
		if (!native_file_is_settled(native_file_at(c, (uint32_t)i->map[k].file)))
			return false;
	return true;
}

static struct mapping mapping_of(const struct told_map *t, const struct native_file *f)
{
	return (struct mapping){.start = t->start,
				.end = t->end,
				.offset = t->offset,
				.dev = f->dev,
				.ino = f->ino,
				.prot = PROT_READ | PROT_EXEC};
}

static int copy_list(const struct collect *c, const struct told_image *i, struct maps *to)
{
	int r = maps_init(to);

	for (size_t k = 0; !r && k < i->n; k++) {
		const struct native_file *f = native_file_at(c, (uint32_t)i->map[k].file);
		struct mapping m = mapping_of(&i->map[k], f);

		r = maps_add(to, &m, f->path, strlen(f->path));
	}
	return r;
}

/*
 * Adds the mappings in the list to @s directly. Called in place of copy_list() if all is known of
 * their files.
 */
static int add_all(struct collect *c, struct process *p, const struct proc *proc,
		   const struct told_image *i, struct space *s)
{
	int r = vec_reserve(&s->maps, i->n);

	for (size_t k = 0; !r && k < i->n; k++) {
		struct native_file *f = native_file_at(c, (uint32_t)i->map[k].file);
		struct mapping m = mapping_of(&i->map[k], f);
		struct space_map at = {.start = m.start, .end = m.end, .file = f->index};

		f->met = true;
		c->spaces->code->met(c, p, proc, &m, f->path, f);
		if (!native_file_vaddr(f, m.offset, &at.vaddr))
			at.file = 0;
		r = vec_push(&s->maps, at);
	}
	if (r)
		s->maps.n = 0;
	return r;
}

bool told_maps(struct collect *c, struct process *p, struct proc *proc, struct maps *ret,
	       struct space *s)
{
	struct told_image *i = list_of(c->spaces->told, p);

	*ret = (struct maps){};
	if (!i || !is_exact(c, i, p, proc))
		return false;
	if (is_settled(c, i))
		return !add_all(c, p, proc, i, s);
	return !proc_ensure(proc, p->key.tgid) && !copy_list(c, i, ret);
}

bool told_still(const struct collect *c, const struct process *p, struct proc *proc)
{
	struct told_image *i = list_of(c->spaces->told, p);

	return i && is_exact(c, i, p, proc);
}
