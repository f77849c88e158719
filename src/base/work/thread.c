/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts threads beside the main one; see thread.h. */
#include "base/work/thread.h"

#include <signal.h>

int thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}
