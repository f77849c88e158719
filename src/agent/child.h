/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the agent's processes beside the sampler have in common (starter.c, hook.c). fork() makes
 * them before the sampler has threads, kernel programs and other files, and they run no other
 * program.
 */
#ifndef AGENT_CHILD_H
#define AGENT_CHILD_H

#define CHILD_FD 3 /* number of the child's descriptor to the sampler */

/*
 * Closes all descriptors except the standard ones and @fd, which becomes CHILD_FD. Before Linux 5.9
 * the others stay open.
 */
void child_keep(int fd);

/*
 * Sets what signals do that a user or a service manager sends to all processes of the agent. With
 * SIG_IGN the child goes on until the sampler closes its end of CHILD_FD.
 */
void child_signals(void (*how)(int));

#endif
