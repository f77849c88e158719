/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a session records, and how. The caller fills in the struct and checks it, and keeps it, with
 * all that it points to, as long as the session exists. Zeros are valid, except that one of
 * .freq_hz and .count must be set.
 */
#ifndef RECORD_OPTIONS_H
#define RECORD_OPTIONS_H

#include <sys/types.h>
#include "base/vec.h"
#include "proc/service/service.h"
#include "profile/profile.h"
#include "unwind.h"

#define WAIT_BUDGET_PPM 10000u

struct session_options {
	/*
	 * Targets. Only one of .pids and .cmd may be set. If nothing is set, every Python process
	 * is a target.
	 */
	/* numbers of target processes in krait's PID namespace, above 0, none of them twice */
	VEC(pid_t) pids;
	VEC(const char *) comms; /* globs for the names of target processes */
	/* globs for the paths of target processes' control groups */
	VEC(const char *) cgroups;
	/* names of target processes' containers, or beginnings of the containers' ids */
	VEC(const char *) containers;
	/* command that the caller starts in session.spawn, NULL-terminated; NULL: none */
	char **cmd;
	/* children of the processes of .pids aren't targets */
	bool no_children;

	/*
	 * Sampling. Exactly one of .freq_hz and .count isn't 0; neither is used for events that
	 * name a rate themselves.
	 */
	uint64_t duration_ns; /* how long to sample; 0: until a signal or the end of all targets */
	uint32_t freq_hz;
	/*
	 * a sample is taken each time when this much of an event was counted, in its unit (ns for
	 * clocks)
	 */
	uint64_t count;
	/* perf's names of events, in the form for event_parse(); none: cpu-clock */
	VEC(const char *) events;
	/* besides cpu-clock, also record what threads wait for; only if .events is empty */
	bool wall;
	/* how much of one CPU's time stacks of waits may take, in millionths; 0: WAIT_BUDGET_PPM */
	uint32_t wait_budget_ppm;

	/* functions in which threads wait without work: MODULE.FUNCTION */
	VEC(const char *) idle_at;

	/* Which native and kernel frames are recorded. */
	/* which native frames are wanted; for processes without Python it is always all of them */
	enum native_mode native;
	/* with NATIVE_MODE_FULL: the interpreter's own frames aren't hidden */
	bool interpreter_frames;
	/* native frames get lines and inlined functions from DWARF; not with NATIVE_MODE_NONE */
	bool native_lines;
	bool kernel; /* frames of the kernel are also recorded */
	/* kernel addresses are shown unchanged, for users who may know them */
	bool kernel_addresses;
	/* processes without Python are also recorded; only if .pids and .cmd aren't set */
	bool all;
	/*
	 * the most bytes that the unwind tables may take, BPF maps included, 8 MiB to 4 GiB; 0:
	 * krait chooses
	 */
	uint64_t unwind_memory;

	/* the most bytes that recorded data may take, 8 MiB to 4 GiB; 0: krait chooses */
	uint64_t memory;

	bool users; /* label samples with their process's user */
	/*
	 * although waits are recorded, krait reads the rings less often if no new process, thread
	 * or code comes (run.c)
	 */
	bool seldom;
	/* where names of services come from; .n 0: samples have no labels of services */
	struct service_rules services;

	/*
	 * .labels: labels that every sample gets. .label_intervals: path of a file in which the
	 * target itself says in which intervals of time it has which labels; NULL: none.
	 */
	VEC(struct profile_label_text) labels;
	const char *label_intervals;
};

#endif
