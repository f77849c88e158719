/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out which CPUs are online, because per-CPU events are opened on them. The numbers of CPUs
 * may have gaps.
 */
#ifndef PROC_MACHINE_CPUS_H
#define PROC_MACHINE_CPUS_H

#include "base/util.h"
#include "base/vec.h"

/* a list with this CPU number or a higher one is refused: no kernel supports so many CPUs */
#define CPUS_MAX 65536

typedef VEC(int) cpu_vec;

/*
 * Parses a CPU list ("0-3,5,8-11\n") of @n bytes. 0: *@ret has the CPUs' numbers, ascending;
 * -EINVAL, -ENOMEM.
 */
_must_use_ int cpus_parse(const char *text, size_t n, cpu_vec *ret);

/*
 * Lists the online CPUs that /sys names; without /sys, the CPUs from 0 to
 * sysconf(_SC_NPROCESSORS_ONLN) - 1. 0 or -errno.
 */
_must_use_ int cpus_online(cpu_vec *ret);

/*
 * What cpus_changed() saw when it was last called. The caller zero-initialises the struct, and
 * calls cpus_watch_fini() in every case.
 */
struct cpus_watch {
	bool seen;
	int fd_plus_1; /* 1 + the descriptor of the list of online CPUs; 0: it isn't open */
	size_t n;
	int64_t slept_ns;
	char list[1024]; /* the list of online CPUs in /sys, or its beginning */
};

/*
 * Have CPUs come online or gone offline since the last call? True also if the machine slept since
 * the last call, because all CPUs but one go offline for that.
 */
bool cpus_changed(struct cpus_watch *w);
void cpus_watch_fini(struct cpus_watch *w);

#endif
