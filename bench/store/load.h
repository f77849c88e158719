/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Made-up samples for measurements of the store: services with call graphs of their own, and
 * processes that run them. Half of the services are like a web service, a fifth are idle, a fifth
 * do batch work, and a tenth have very many functions and hardly wait ("symbols"). The services'
 * shares of the samples fall as 1/rank. Stacks repeat about as often as in real recordings: the
 * tool prints the numbers of distinct stacks and of nodes for each sample, so that they can be
 * compared.
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

/* Sets in @p, an empty profile, which values the samples have. */
void load_begin(struct load *l, struct profile *p);

/* Makes the next sample in @p. The sample has no time yet. */
struct profile_sample load_sample(struct load *l, struct profile *p);

/* Returns a random number from 0 on and below 1. */
double load_random(struct load *l);

#endif
