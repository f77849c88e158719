/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the agent's processes other than the sampler share: the starter, which starts writers
 * (starter.c), and the hook's process, which runs the user's program (hook.c). The sampler forks
 * them before it has threads, kernel programs and other files. The starter executes no other
 * program.
 */
#ifndef AGENT_CHILD_H
#define AGENT_CHILD_H

#define CHILD_FD 3 /* in these processes: the descriptor of the connection to the sampler */

/*
 * Closes all descriptors except the standard ones and @fd. @fd gets the number CHILD_FD. Before
 * Linux 5.9 the other descriptors stay open.
 */
void child_keep(int fd);

/*
 * Sets what the child does at SIGINT and the other signals that a user or a service manager sends
 * to all processes of the agent. With SIG_IGN the child goes on until the sampler closes its end of
 * CHILD_FD.
 */
void child_signals(void (*how)(int));

#endif
