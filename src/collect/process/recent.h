/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that make code all the time send stacks and code objects without end. The kernel
 * programs forget an id after SENT_WAYS newer ones of its set (abi/sent.h), and send it again
 * when it is met again. So krait gives up what more than twice as many newer ones followed.
 */
#ifndef COLLECT_PROCESS_RECENT_H
#define COLLECT_PROCESS_RECENT_H

#include <stdint.h>
#include <string.h>

#include "sent.h"

#define RECENT_KEPT (2 * SENT_WAYS)

/* In each set the latest id is first; 0: unused. */
struct recent {
	uint64_t id[SENT_SETS][RECENT_KEPT];
};

/*
 * @id came or was used: it becomes the first of its set. Returns where it was; RECENT_KEPT - 1 if
 * it wasn't there. *gone: the id that is given up for it, 0 = none.
 */
static inline size_t recent_to_front(struct recent *r, uint64_t id, uint64_t *gone)
{
	uint64_t *set = r->id[sent_set_of(id) % SENT_SETS];
	size_t i = 0;

	while (i < RECENT_KEPT - 1 && set[i] != id)
		i++;
	*gone = set[i] != id ? set[i] : 0;
	memmove(set + 1, set, i * sizeof(*set));
	set[0] = id;
	return i;
}

#endif
