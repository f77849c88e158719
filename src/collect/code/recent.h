/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The latest ids of stacks and code objects. A process that makes code all the time has new ids
 * without end, so krait can't keep all ids. The kernel programs forget an id once SENT_WAYS newer
 * ids of its set came (abi/sent.h). When they see it again, they send its contents again. krait
 * forgets an id later than the kernel programs do: once more than twice as many newer ids of its
 * set came.
 */
#ifndef COLLECT_CODE_RECENT_H
#define COLLECT_CODE_RECENT_H

#include <stdint.h>
#include <string.h>

#include "sent.h"

#define RECENT_KEPT (2 * SENT_WAYS)

/* Sets of ids. In each set the latest id is first. An id of 0 means that the entry is free. */
struct recent {
	uint64_t id[SENT_SETS][RECENT_KEPT];
};

/*
 * Makes @id the first of its set, because it came or was used. Returns where in the set it was;
 * RECENT_KEPT - 1 if it wasn't there. *gone: the id that is forgotten to make room for @id; 0:
 * none.
 */
static inline size_t recent_to_front(struct recent *r, uint64_t id, uint64_t *gone)
{
	uint64_t *set = r->id[sent_set_of(id) % SENT_SETS];
	size_t i = 0;

	*gone = 0;
	if (set[0] == id) /* mostly */
		return 0;
	while (i < RECENT_KEPT - 1 && set[i] != id)
		i++;
	*gone = set[i] != id ? set[i] : 0;
	memmove(set + 1, set, i * sizeof(*set));
	set[0] = id;
	return i;
}

#endif
