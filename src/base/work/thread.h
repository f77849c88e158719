/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts threads beside the main one. */
#ifndef BASE_WORK_THREAD_H
#define BASE_WORK_THREAD_H

#include <pthread.h>

/*
 * Starts a thread that calls @run(@arg). No signal is delivered to it: signals are for the main
 * thread. 0 or errno, as pthread_create().
 */
int thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg);

#endif
