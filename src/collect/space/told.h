/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executable mappings of processes that exec'ed lately, as perf has reported them (the side
 * band). Reading the mappings from /proc, in a child process, would be a fifth of what a new
 * process costs.
 *
 * The side band tells of all memory that becomes executable, not of what is unmapped. So a list is
 * used only if the process maps as much code as the list has, all of that code lies in files that
 * are known, nothing was mapped over that code, and no event was lost. Otherwise the mappings are
 * read from /proc.
 */
#ifndef COLLECT_SPACE_TOLD_H
#define COLLECT_SPACE_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/space/space.h"
#include "proc/read/maps.h"

struct collect;
struct proc;
struct process;

_must_use_ bool told_init(struct collect *c);
void told_fini(struct collect *c);

/*
 * These events of the side band are taken in: process @tgid has exec'ed; it has mapped @m, from the
 * file @path, or has made @m executable; its first thread has ended. They come in order of time;
 * only an event that another CPU was just writing may come after newer events.
 */
void told_execed(struct collect *c, uint32_t tgid, uint64_t time_ns);
void told_mapped(struct collect *c, uint32_t tgid, const struct mapping *m, const char *path,
		 uint64_t time_ns);
void told_ended(struct collect *c, uint32_t tgid);
/* Called when events were lost: makes all lists count as incomplete. */
void told_forget(struct collect *c);

/*
 * Sets @ret to the mappings of process @p; call maps_fini() in every case. If krait knows all about
 * the mapped files, adds the mappings to @s instead, and @ret stays empty. Opens @proc if it is
 * needed and isn't open. False: the mappings aren't known exactly, and have to be read. This
 * function may miss what the process maps or unmaps during the call, so the caller must check that
 * by other means.
 */
_must_use_ bool told_maps(struct collect *c, struct process *p, struct proc *proc, struct maps *ret,
			  struct space *s);

/*
 * Called after told_maps(), before other events are read: are the mappings that told_maps()
 * returned still all that the process has?
 */
_must_use_ bool told_still(const struct collect *c, const struct process *p, struct proc *proc);

#endif
