/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges of which the latest counts; see code_map.h. */
#include "symbol/code_map.h"

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

/* All the addresses at which a range begins or ends, ascending, each once. Their number. */
static size_t cut_points(const struct code_map *m, uint64_t *points)
{
	size_t n = 0, unique = 0;

	vec_foreach(e, &m->list) {
		points[n++] = e->start;
		points[n++] = e->end;
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

/* The first cell at or behind @i that nobody owns yet; shortens the way for the next search. */
static uint32_t next_free(uint32_t *next, uint32_t i)
{
	while (next[i] != i) {
		next[i] = next[next[i]];
		i = next[i];
	}
	return i;
}

/* The latest range takes its cells first, each earlier one what is left. owner[]: range + 1. */
static void paint(const struct code_map *m, const uint64_t *points, size_t n, uint32_t *next,
		  uint32_t *owner)
{
	for (size_t i = 0; i < n; i++) {
		next[i] = (uint32_t)i;
		owner[i] = 0;
	}
	for (size_t i = m->list.n; i-- > 0;) {
		const struct code_range *e = &m->list.v[i];
		uint32_t end = point_index(points, n, e->end);
		uint32_t c = next_free(next, point_index(points, n, e->start));

		for (; c < end; c = next_free(next, c)) {
			owner[c] = (uint32_t)i + 1;
			next[c] = c + 1;
		}
	}
}

/* Neighbouring cells of one owner as one range. */
static int collect(const struct code_map *m, const uint64_t *points, size_t n,
		   const uint32_t *owner, struct code_map *ret)
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
		e = m->list.v[owner[i] - 1];
		e.start = points[i];
		e.end = points[i + 1];
		r = vec_push(&ret->list, e);
		if (r)
			return r;
	}
	return 0;
}

int code_map_settle(struct code_map *m)
{
	_cleanup_free_ uint64_t *points = NULL;
	_cleanup_free_ uint32_t *next = NULL, *owner = NULL;
	struct code_map settled = {};
	size_t n = 2 * m->list.n;
	int r;

	if (m->sorted == m->list.n)
		return 0;
	points = reallocarray(NULL, n, sizeof(*points));
	next = reallocarray(NULL, n, sizeof(*next));
	owner = reallocarray(NULL, n, sizeof(*owner));
	if (!points || !next || !owner)
		return -ENOMEM;
	n = cut_points(m, points);
	paint(m, points, n, next, owner);
	r = collect(m, points, n, owner, &settled);
	if (r) {
		code_map_fini(&settled);
		return r;
	}
	code_map_fini(m);
	*m = settled;
	m->sorted = m->list.n;
	return 0;
}

const struct code_range *code_map_find(const struct code_map *m, uint64_t addr)
{
	size_t n = count_upto(m->list.v, m->sorted, start, addr);

	return n && addr < m->list.v[n - 1].end ? &m->list.v[n - 1] : NULL;
}
