/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps named ranges of addresses. Where ranges overlap, the one that was added last counts; see
 * code_map.h.
 */
#include "symbol/madecode/code_map.h"

#include "base/cleanup.h"

void code_map_fini(struct code_map *m)
{
	vec_fini(&m->list);
	m->sorted = 0;
}

int code_map_add(struct code_map *m, uint64_t start, uint64_t size, uint32_t name)
{
	return vec_push(&m->list, (struct code_range){start, start + size, start, name});
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Ranges that were added since the map was last sorted, the oldest first. They may overlap. */
struct late {
	const struct code_range *v;
	size_t n;
};

/*
 * Collects the addresses at which a range begins or ends, in ascending order, without duplicates.
 * Returns how many there are.
 */
static size_t cut_points(const struct late *late, uint64_t *points)
{
	size_t n = 0, unique = 0;

	for (size_t i = 0; i < late->n; i++) {
		points[n++] = late->v[i].start;
		points[n++] = late->v[i].end;
	}
	qsort(points, n, sizeof(*points), compare);
	for (size_t i = 0; i < n; i++)
		if (!i || points[i] != points[unique - 1])
			points[unique++] = points[i];
	return unique;
}

static uint32_t point_index(const uint64_t *points, size_t n, uint64_t addr)
{
	const uint64_t *p = bsearch(&addr, points, n, sizeof(*points), compare);

	return (uint32_t)(p - points);
}

/*
 * Returns the index of the first cell (range between two cut points) from @i on that has no owner
 * yet. Changes @next so that later searches take fewer steps.
 */
static uint32_t next_free(uint32_t *next, uint32_t i)
{
	while (next[i] != i) {
		next[i] = next[next[i]];
		i = next[i];
	}
	return i;
}

/*
 * Gives each cell (range between two cut points) an owner. The latest range gets all its cells,
 * each earlier range gets those that are left. owner[] has the index of the range + 1.
 */
static void paint(const struct late *late, const uint64_t *points, size_t n, uint32_t *next,
		  uint32_t *owner)
{
	for (size_t i = 0; i < n; i++) {
		next[i] = (uint32_t)i;
		owner[i] = 0;
	}
	for (size_t i = late->n; i-- > 0;) {
		uint32_t end = point_index(points, n, late->v[i].end);
		uint32_t c = next_free(next, point_index(points, n, late->v[i].start));

		for (; c < end; c = next_free(next, c)) {
			owner[c] = (uint32_t)i + 1;
			next[c] = c + 1;
		}
	}
}

/* Joins adjacent cells (ranges between two cut points) that one new range owns. */
static int collect(const struct late *late, const uint64_t *points, size_t n, const uint32_t *owner,
		   struct code_map *ret)
{
	for (size_t i = 0; i + 1 < n; i++) {
		struct code_range e;
		int r;

		if (!owner[i])
			continue;
		if (i && owner[i] == owner[i - 1]) {
			ret->list.v[ret->list.n - 1].end = points[i + 1];
			continue;
		}
		e = late->v[owner[i] - 1];
		e.start = points[i];
		e.end = points[i + 1];
		r = vec_push(&ret->list, e);
		if (r)
			return r;
	}
	return 0;
}

/*
 * Computes which parts of the new ranges @late aren't covered by later ranges. *@ret has these
 * parts in ascending order, without overlaps.
 */
static int uncover(const struct late *late, struct code_map *ret)
{
	_cleanup_free_ uint64_t *points = reallocarray(NULL, 2 * late->n, sizeof(*points));
	_cleanup_free_ uint32_t *next = reallocarray(NULL, 2 * late->n, sizeof(*next));
	_cleanup_free_ uint32_t *owner = reallocarray(NULL, 2 * late->n, sizeof(*owner));
	size_t n;

	if (!points || !next || !owner)
		return -ENOMEM;
	n = cut_points(late, points);
	paint(late, points, n, next, owner);
	return collect(late, points, n, owner, ret);
}

/* Appends the part of range @e from @start to @end, unless it is empty. */
static int push_part(struct code_map *ret, const struct code_range *e, uint64_t start, uint64_t end)
{
	return start < end
		       ? vec_push(&ret->list, (struct code_range){start, end, e->first, e->name})
		       : 0;
}

/*
 * Sets @ret to all of the new ranges @fresh, and to those parts of @m's sorted ranges that aren't
 * covered by @fresh. Both @fresh and @m are ascending.
 */
static int overlay(const struct code_map *m, const struct code_map *fresh, struct code_map *ret)
{
	const struct code_range *f = fresh->list.v, *end = f + fresh->list.n;
	int r = vec_reserve(&ret->list, m->sorted + 2 * fresh->list.n);

	for (const struct code_range *e = m->list.v; !r && e < m->list.v + m->sorted; e++) {
		uint64_t from = e->start;

		for (; !r && f < end && f->start < e->end; f++) {
			r = push_part(ret, e, from, f->start);
			from = MAX(from, f->end);
			if (f->end > e->end)
				/* the new range @f also covers the beginning of the next range */
				break;
			r = r ? r : vec_push(&ret->list, *f);
		}
		r = r ? r : push_part(ret, e, from, e->end);
	}
	for (; !r && f < end; f++)
		r = vec_push(&ret->list, *f);
	return r;
}

int code_map_settle(struct code_map *m)
{
	struct late late = {m->list.v + m->sorted, m->list.n - m->sorted};
	_cleanup_(code_map_fini) struct code_map fresh = {}, settled = {};
	int r;

	if (!late.n)
		return 0;
	r = uncover(&late, &fresh);
	if (!r)
		r = overlay(m, &fresh, &settled);
	if (r)
		return r;
	settled.sorted = settled.list.n;
	code_map_fini(m);
	*m = settled;
	settled = (struct code_map){};
	return 0;
}

const struct code_range *code_map_find(const struct code_map *m, uint64_t addr)
{
	size_t n = count_upto(m->list.v, m->sorted, start, addr);

	return n && addr < m->list.v[n - 1].end ? &m->list.v[n - 1] : NULL;
}
