/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of the unwind store: slabs (BPF maps), up to a limit, and the chunks of 4 KiB in them.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sampler/inner_maps.h"
#include "sampler/unwind/internal.h"

#define SLAB_BYTES (UNWIND_SLAB_CHUNKS * sizeof(struct unwind_chunk))
/*
 * if .limbo (chunks that a program may still read) has at least this many chunks, the store waits
 * until these are free instead of taking more memory
 */
#define LIMBO_WORTH 64

/* Bytes of the maps that exist even without any unwind rows. */
#define FIXED_BYTES                                                                                \
	(UNWIND_MAX_TABLES * sizeof(struct unwind_table) +                                         \
	 UNWIND_MAX_KERNEL_RULES * sizeof(struct unwind_rule) +                                    \
	 UNWIND_MAX_SPACES * sizeof(struct unwind_space))

uint32_t unwind_store_slabs(size_t bytes)
{
	return MAX((bytes - MIN(bytes, FIXED_BYTES)) / SLAB_BYTES, (size_t)1);
}

int unwind_put(int map, uint32_t key, const void *value)
{
	return bpf_map_update_elem(map, &key, value, BPF_ANY) ? -errno : 0;
}

static int make_slab(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "krait_slab", sizeof(uint32_t),
				sizeof(struct unwind_chunk), UNWIND_SLAB_CHUNKS, NULL);

	return fd < 0 ? -errno : fd;
}

static int put_slabs(const struct unwind_store *s, uint32_t first, const int *fd, uint32_t n)
{
	_cleanup_free_ uint32_t *number = calloc(n, sizeof(*number));

	if (!number)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		number[i] = first + i;
	return inner_maps_put(s->maps.slabs, number, fd, n);
}

static int make_slabs(const struct unwind_store *s, uint32_t first, int *fd, uint32_t n)
{
	uint32_t made = 0;
	int r = 0;

	while (!r && made < n) {
		fd[made] = make_slab();
		r = MIN(fd[made], 0);
		made += !r;
	}
	r = r ? r : put_slabs(s, first, fd, n);
	while (r && made)
		close(fd[--made]);
	return r;
}

/*
 * Makes slabs (BPF maps) for @chunks more chunks, or as many as the limit allows. Releases .lock
 * while it does so, but holds .supply, so that no other thread makes slabs.
 */
static int add_slabs(struct unwind_store *s, size_t chunks)
{
	uint32_t first = s->slabs.n, chunk = first * UNWIND_SLAB_CHUNKS,
		 n = MIN((chunks + UNWIND_SLAB_CHUNKS - 1) / UNWIND_SLAB_CHUNKS,
			 (size_t)(s->max_slabs - first));
	_cleanup_free_ int *fd = calloc(n, sizeof(*fd));
	int r;

	if (!n)
		return -ENOSPC;
	r = fd ? vec_reserve(&s->free, s->free.n + (size_t)n * UNWIND_SLAB_CHUNKS) : -ENOMEM;
	if (r)
		return r;
	pthread_mutex_unlock(&s->lock);
	r = make_slabs(s, first, fd, n);
	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; !r && i < n; i++)
		/* this can't fail, because memory for the descriptors of all slabs was reserved */
		s->slabs.v[s->slabs.n++] = fd[i];
	for (uint32_t i = n * UNWIND_SLAB_CHUNKS; !r && i; i--)
		r = vec_push(&s->free, chunk + i - 1);
	return r;
}

/* Moves the first @n numbers from @limbo (a program may still read them) to @free. */
static int let_go(chunk_vec *limbo, size_t n, chunk_vec *free)
{
	int r = vec_reserve(free, free->n + n);

	if (r || !n)
		return r;
	memcpy(free->v + free->n, limbo->v, n * sizeof(*free->v));
	free->n += n;
	limbo->n -= n;
	memmove(limbo->v, limbo->v + n, limbo->n * sizeof(*limbo->v));
	return 0;
}

/*
 * Makes the chunks and tables in limbo usable again: nobody uses these any more, but a program may
 * still read them. Changing a map of maps waits until every running program has ended
 * (kernel/bpf/syscall.c, maybe_wait_bpf_programs()). After that no program reads these chunks and
 * tables any more.
 */
static int empty_limbo(struct unwind_store *s)
{
	size_t n = s->limbo.n, n_tables = s->limbo_tables.n;
	int r;

	if (!n)
		return -ENOSPC;
	pthread_mutex_unlock(&s->lock);
	r = unwind_put(s->maps.slabs, 0, &s->slabs.v[0]);
	pthread_mutex_lock(&s->lock);
	r = r ? r : let_go(&s->limbo, n, &s->free);
	return r ? r : let_go(&s->limbo_tables, n_tables, &s->free_tables);
}

static int supply(struct unwind_store *s, size_t keep)
{
	int r = 0;

	pthread_mutex_unlock(&s->lock);
	pthread_mutex_lock(&s->supply);
	pthread_mutex_lock(&s->lock);
	if (s->free.n <= keep)
		r = s->limbo.n < LIMBO_WORTH ? add_slabs(s, keep + 1 - s->free.n) : empty_limbo(s);
	if (r == -ENOSPC)
		r = empty_limbo(s);
	pthread_mutex_unlock(&s->supply);
	return r;
}

size_t unwind_chunks_most(const struct unwind_store *s)
{
	return (size_t)s->max_slabs * UNWIND_SLAB_CHUNKS;
}

size_t unwind_chunks_left(const struct unwind_store *s)
{
	return s->free.n + s->limbo.n + (size_t)(s->max_slabs - s->slabs.n) * UNWIND_SLAB_CHUNKS;
}

void unwind_chunks_supply(struct unwind_store *s, size_t keep, size_t n)
{
	int r = 0;

	while (!r && s->free.n < keep + n)
		r = supply(s, keep + n - 1);
}

int unwind_chunk_take(struct unwind_store *s, size_t keep, uint32_t *ret)
{
	int r = 0;

	while (!r && s->free.n <= keep)
		r = supply(s, keep);
	if (!s->free.n)
		return r;
	*ret = s->free.v[--s->free.n];
	return 0;
}

void unwind_chunk_give_back(struct unwind_store *s, uint32_t chunk)
{
	(void)!vec_push(&s->limbo, chunk);
}

int unwind_chunk_write(const struct unwind_store *s, uint32_t chunk, const void *bytes)
{
	return unwind_put(s->slabs.v[chunk / UNWIND_SLAB_CHUNKS], chunk % UNWIND_SLAB_CHUNKS,
			  bytes);
}

int unwind_chunk_read(const struct unwind_store *s, uint32_t chunk, void *bytes)
{
	uint32_t i = chunk % UNWIND_SLAB_CHUNKS;

	return bpf_map_lookup_elem(s->slabs.v[chunk / UNWIND_SLAB_CHUNKS], &i, bytes) ? -errno : 0;
}

size_t unwind_store_bytes(struct unwind_store *s)
{
	_locked_ held = unwind_lock(s);

	return held->slabs.n * SLAB_BYTES;
}
