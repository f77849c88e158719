/* SPDX-License-Identifier: BSD-2-Clause */
/* A library for lock_blame_target.py: a mutex for which threads wait without the GIL. */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default"), noinline))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Takes the mutex, keeps it for @ns, and gives it back. */
EXPORT void krait_own(long ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};

	pthread_mutex_lock(&mutex);
	nanosleep(&t, NULL);
	pthread_mutex_unlock(&mutex);
}
