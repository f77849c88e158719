/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a session records, and how. The caller fills and checks it, and keeps it, with all that it
 * points to, as long as the session. Zeros are valid except for .event and for one of .freq_hz and
 * .count.
 */
#ifndef RECORD_OPTIONS_H
#define RECORD_OPTIONS_H

#include <sys/types.h>
#include "base/vec.h"
#include "profile/profile.h"
#include "unwind.h"

struct session_options {
	/* Targets. pids and cmd exclude each other; nothing set = every Python process. */
	VEC(pid_t) pids;	      /* in krait's PID namespace; > 0; no value twice */
	VEC(const char *) comms;      /* globs */
	VEC(const char *) cgroups;    /* globs */
	VEC(const char *) containers; /* names or id prefixes */
	char **cmd; /* NULL-terminated command that the caller starts in session.spawn, or NULL */
	bool no_children; /* only the processes of .pids themselves */

	/* Sampling. Exactly one of freq_hz and count is non-zero. */
	uint64_t duration_ns; /* 0 = until a signal or the end of all targets */
	uint32_t freq_hz;
	uint64_t count;	   /* event units per sample (ns for clocks) */
	const char *event; /* perf's name, as event_parse() takes it */

	/* Native and kernel frames. */
	enum native_mode native; /* in stacks without Python always all of them */
	bool interpreter_frames; /* NATIVE_MODE_FULL only: don't hide the interpreter's own
				  * frames */
	bool native_lines;     /* lines and inlined functions by DWARF; not with NATIVE_MODE_NONE */
	bool kernel;	       /* the kernel's frames too */
	bool kernel_addresses; /* shown as they are, for users who may know them */
	bool all;	       /* other processes than Python too; no pids, no cmd */
	uint64_t unwind_memory; /* bytes, 8 MiB to 4 GiB, BPF maps included; 0: krait chooses */

	uint64_t memory; /* bytes, 8 MiB to 4 GiB; 0: krait chooses */

	/* Labels for every sample; the file with the target's own intervals, or NULL. */
	VEC(struct profile_label_text) labels;
	const char *label_intervals;
};

#endif
