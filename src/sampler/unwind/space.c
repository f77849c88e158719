/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the mappings of processes in the unwind store; see store.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "sampler/unwind/internal.h"
#include "unwind/rows/chunk.h"

int unwind_store_new_space(struct unwind_store *s, uint32_t *slot)
{
	_locked_ held = unwind_lock(s);

	if (held->free_spaces.n) {
		*slot = s->free_spaces.v[--s->free_spaces.n];
		return 0;
	}
	if (s->spaces.n >= UNWIND_MAX_SPACES)
		return err_set(-ENOSPC, "more than %d processes have native stacks",
			       UNWIND_MAX_SPACES);
	*slot = s->spaces.n;
	return vec_push(&s->spaces, (struct space){});
}

/*
 * Writes the mappings for the kernel program. .version is written last, because the kernel program
 * compares .version before and after it copies the other members.
 */
static void publish_space(struct unwind_space *to, const struct unwind_space *head,
			  const struct space *space)
{
	__atomic_store_n(&to->version, 0, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	to->at_unmaps = head->at_unmaps;
	to->owner_start_ns = head->owner_start_ns;
	to->owner_tgid = head->owner_tgid;
	to->owner_exec = head->owner_exec;
	to->read_ns = head->read_ns;
	to->chunks = space->chunks;
	memcpy(to->chunk, space->chunk, sizeof(to->chunk));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&to->version, head->version, __ATOMIC_SEQ_CST);
}

void unwind_store_free_space(struct unwind_store *s, uint32_t slot)
{
	_locked_ held = unwind_lock(s);
	struct space *space = &held->spaces.v[slot];

	publish_space(&s->shared[slot], &(struct unwind_space){}, &(struct space){});
	for (uint32_t i = 0; i < space->chunks; i++)
		unwind_chunk_give_back(s, space->chunk[i]);
	space->chunks = 0;
	(void)!vec_push(&s->free_spaces, slot);
}

void unwind_store_read_space(struct unwind_store *s, uint32_t slot, bool begins)
{
	__atomic_store_n(&s->shared[slot].reading, begins, __ATOMIC_SEQ_CST);
}

uint64_t unwind_store_unmaps(const struct unwind_store *s, uint32_t slot)
{
	return __atomic_load_n(&s->shared[slot].unmaps, __ATOMIC_SEQ_CST);
}

int unwind_store_set_space(struct unwind_store *s, uint32_t slot, const struct unwind_space *head,
			   const struct unwind_mapping *m, size_t n)
{
	_locked_ held = unwind_lock(s);
	struct space old = held->spaces.v[slot], new = {};
	int r;

	n = MIN(n, (size_t)SPACE_CHUNKS * SPACE_MAPPINGS);
	r = unwind_make_room(s, (n + SPACE_MAPPINGS - 1) / SPACE_MAPPINGS);
	for (size_t i = 0; !r && i < n; i += SPACE_MAPPINGS) {
		uint32_t *chunk = &new.chunk[new.chunks];

		r = unwind_chunk_take(s, 0, chunk);
		if (r)
			break;
		new.chunks++;
		space_chunk_fill(&s->making, m + i, MIN(n - i, (size_t)SPACE_MAPPINGS));
		r = unwind_chunk_write(s, *chunk, &s->making);
	}
	if (!r) {
		s->spaces.v[slot] = new;
		publish_space(&s->shared[slot], head, &new);
	}
	for (uint32_t i = 0; i < (r ? new.chunks : old.chunks); i++)
		unwind_chunk_give_back(s, r ? new.chunk[i] : old.chunk[i]);
	return r ? err_sys(r, "there is no room for the mappings of process %u", head->owner_tgid)
		 : 0;
}

void unwind_store_allow_space(struct unwind_store *s, uint32_t slot, uint64_t at_unmaps)
{
	__atomic_store_n(&s->shared[slot].at_unmaps, at_unmaps, __ATOMIC_SEQ_CST);
}
