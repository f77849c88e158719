/* SPDX-License-Identifier: BSD-2-Clause */
/* Prepares the agent's processes other than the sampler; see child.h. */
#include "agent/child.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"

void child_keep(int fd)
{
	dup2(fd, CHILD_FD);
	(void)syscall(SYS_close_range, CHILD_FD + 1, ~0u, 0);
}

void child_signals(void (*how)(int))
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE};

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], how);
}
