/* SPDX-License-Identifier: BSD-2-Clause */
/* Which CPUs are online; per-CPU events are opened on them. The numbers may have gaps. */
#ifndef PROC_MACHINE_CPUS_H
#define PROC_MACHINE_CPUS_H

#include "base/util.h"
#include "base/vec.h"

#define CPUS_MAX 65536 /* a list with a higher CPU number is refused: no kernel supports it */

typedef VEC(int) cpu_vec;

/*
 * Parses a CPU list ("0-3,5,8-11\n") of @n bytes. 0, with the CPUs' numbers ascending in *@ret;
 * -EINVAL, -ENOMEM.
 */
_must_use_ int cpus_parse(const char *text, size_t n, cpu_vec *ret);

/*
 * Lists the online CPUs, as /sys says; without /sys, 0 .. sysconf(_SC_NPROCESSORS_ONLN) - 1. 0 or
 * -errno.
 */
_must_use_ int cpus_online(cpu_vec *ret);

/*
 * What cpus_changed() saw at its last call. All zero: cpus_changed() wasn't called yet. Call
 * cpus_watch_fini() in every case.
 */
struct cpus_watch {
	bool seen;
	int fd_plus_1; /* 1 + the descriptor of the list of online CPUs; 0: it isn't open */
	size_t n;
	int64_t slept_ns;
	char list[1024]; /* beginning of the list of online CPUs that /sys has */
};

/*
 * Have CPUs come online or gone offline since the last call? True also if the machine slept since
 * the last call, because all CPUs but one go offline for that.
 */
bool cpus_changed(struct cpus_watch *w);
void cpus_watch_fini(struct cpus_watch *w);

#endif
