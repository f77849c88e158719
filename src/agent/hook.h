/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that the user wants to be run when a trigger fires (krait agent run --on-trigger). A
 * process of its own runs it, one run at a time. It is made before the sampler has anything to
 * inherit, and has no capability. Under root it becomes krait's own user, or nobody.
 *
 * The program's arguments are the trigger's word, what it says, and the window that is pinned, as
 * krait last takes it. The second is partly from names of processes, so it may be anything that
 * pin_words() makes. Its standard output is the agent's standard error.
 */
#ifndef AGENT_HOOK_H
#define AGENT_HOOK_H

#include "agent/agent.h"
#include "store/pins/pins.h"

/*
 * Starts that process, if .on_trigger isn't NULL. *ret: the pipe to it, or -1. Closing it ends the
 * process, after a run that goes on. 0 or -errno + message.
 */
_must_use_ int hook_begin(const struct agent_options *o, int *ret);

/* Has the program run for @p. Never waits: if too many runs are due, this one is left out. */
void hook_run(int fd, const struct pin *p);

#endif
