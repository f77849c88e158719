/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a byte of a process's memory, in a thread that may wait for ever; see locked.h. */
#include "proc/locked.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/work/thread.h"

#define PATIENCE_MS 1000

struct probe {
	int fd, done;
	atomic_int users; /* how many threads use this struct; the last of them frees it */
};

static void put(struct probe *p)
{
	if (atomic_fetch_sub(&p->users, 1) > 1)
		return;
	close(p->fd);
	close(p->done);
	free(p);
}

static void *probe(void *arg)
{
	struct probe *p = arg;
	uint64_t one = 1;
	char byte;

	(void)!read(p->fd, &byte, 1);
	(void)!write(p->done, &one, sizeof(one));
	put(p);
	return NULL;
}

static bool start(struct probe *p)
{
	pthread_t thread;

	return !thread_start(&thread, probe, p) && !pthread_detach(thread);
}

bool proc_is_locked(const struct proc *proc)
{
	struct probe *p = malloc(sizeof(*p));
	bool answered = true;
	struct pollfd wait;

	if (!p)
		return false;
	*p = (struct probe){.fd = openat(proc->dirfd, "cmdline", O_RDONLY | O_CLOEXEC),
			    .done = eventfd(0, EFD_CLOEXEC),
			    .users = 2};
	wait = (struct pollfd){.fd = p->done, .events = POLLIN};
	if (p->fd < 0 || p->done < 0 || !start(p))
		p->users = 1;
	else
		answered = poll(&wait, 1, PATIENCE_MS) != 0;
	put(p);
	return !answered;
}
