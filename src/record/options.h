/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a session records, and how. The caller fills and checks it, and keeps it, with all that it
 * points to, as long as the session. Zeros are valid, except that one of .freq_hz and .count must
 * be set.
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
	/* Targets. pids and cmd exclude each other; nothing set = every Python process. */
	VEC(pid_t) pids; /* numbers of target processes in krait's PID namespace; > 0; none twice */
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
	 * Sampling. Exactly one of freq_hz and count is non-zero; events that name a rate
	 * themselves don't use it.
	 */
	uint64_t duration_ns; /* how long to sample; 0: until a signal or the end of all targets */
	uint32_t freq_hz;
	uint64_t count; /* how much of an event, in its unit (ns for clocks), makes a sample */
	/* perf's names of events, as event_parse() takes them; none = cpu-clock */
	VEC(const char *) events;
	/* what threads wait for is recorded as well as cpu-clock; only without .events */
	bool wall;
	/* how much of one CPU's time stacks of waits may take, in millionths; 0: WAIT_BUDGET_PPM */
	uint32_t wait_budget_ppm;

	/* functions in which threads wait without work: MODULE.FUNCTION */
	VEC(const char *) idle_at;

	/* Native and kernel frames. */
	/*
	 * which native frames are wanted; stacks of processes without Python have all of them in
	 * any case
	 */
	enum native_mode native;
	/* with NATIVE_MODE_FULL: the interpreter's own frames aren't hidden */
	bool interpreter_frames;
	/* native frames get lines and inlined functions, by DWARF; not with NATIVE_MODE_NONE */
	bool native_lines;
	bool kernel; /* frames of the kernel are also recorded */
	/* addresses in the kernel are shown as they are, for users who may know them */
	bool kernel_addresses;
	/* processes without Python are also recorded; only without .pids and .cmd */
	bool all;
	/*
	 * the most bytes for the unwind tables, 8 MiB to 4 GiB, BPF maps included; 0: krait chooses
	 */
	uint64_t unwind_memory;

	/* the most bytes for what is recorded, 8 MiB to 4 GiB; 0: krait chooses */
	uint64_t memory;

	bool users; /* label samples with their process's user */
	/* where names of services come from; .n 0: samples have no labels of services */
	struct service_rules services;

	/*
	 * .labels: labels that every sample gets. .label_intervals: a file in which the target
	 * itself says when its time has which labels; NULL: none.
	 */
	VEC(struct profile_label_text) labels;
	const char *label_intervals;
};

#endif
