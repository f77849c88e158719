/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A made-up load for the measurements of the store: services with call graphs of their own, and
 * processes that run them. Half of the services are like a web service, a fifth each idle and
 * batch, a tenth computes symbols; their shares of the load fall as 1/rank. Stacks repeat about as
 * in real recordings: the tool prints distinct stacks and nodes a sample, to be compared.
 */
#ifndef BENCH_STORE_LOAD_H
#define BENCH_STORE_LOAD_H

#include "profile/profile.h"

struct load_options {
	unsigned processes, services;
	uint32_t seed;
};

struct load;
struct load *load_new(const struct load_options *o);
void load_free(struct load *l);

/* Sets in @p, an empty profile, which values the load's samples have. */
void load_begin(struct load *l, struct profile *p);

/* Makes the next sample in @p, without a time. */
struct profile_sample load_sample(struct load *l, struct profile *p);

/* A random number from 0 on and below 1. */
double load_random(struct load *l);

#endif
