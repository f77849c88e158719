/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that the user wants to be run when a trigger fires (krait agent run --on-trigger). A
 * separate process, the hook's process, runs that program, one run at a time. The sampler forks the
 * hook's process before it has anything that a child could inherit. The hook's process has no
 * capability. If root started the agent, the hook's process becomes krait's own user or the user
 * nobody.
 *
 * The program gets three arguments: the trigger's name, words that say why the trigger fired, and
 * the pinned window of time (its samples are kept), in the form in which `krait last` takes a
 * window. Names of processes may be among the words, so the words may be any text that pin_words()
 * makes. The program's standard output is the agent's standard error.
 */
#ifndef AGENT_HOOK_H
#define AGENT_HOOK_H

#include "agent/agent.h"
#include "store/pins/pins.h"

/*
 * Starts the hook's process, if .on_trigger isn't NULL. *ret: the pipe to it, or -1. When the pipe
 * is closed, the process ends, after the run that is in progress. 0 or -errno + message.
 */
_must_use_ int hook_begin(const struct agent_options *o, int *ret);

/*
 * Asks the hook's process to run the program for @p, a window of time that a trigger has pinned.
 * Never waits: if too many runs are waiting already, this one is left out.
 */
void hook_run(int fd, const struct pin *p);

#endif
