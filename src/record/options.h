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
	VEC(const char *) comms;      /* globs for the names of processes */
	VEC(const char *) cgroups;    /* globs for the paths of control groups */
	VEC(const char *) containers; /* names, or beginnings of ids */
	char **cmd; /* NULL-terminated command that the caller starts in session.spawn, or NULL */
	bool no_children; /* only the processes of .pids themselves */

	/* Sampling. Exactly one of freq_hz and count is non-zero. */
	uint64_t duration_ns; /* 0 = until a signal or the end of all targets */
	uint32_t freq_hz;
	uint64_t count;	   /* how much of the event, in its unit (ns for clocks), makes a sample */
	const char *event; /* perf's name, as event_parse() takes it */

	/* Native and kernel frames. */
	/* which native frames are wanted; in stacks without Python always all of them */
	enum native_mode native;
	bool interpreter_frames; /* NATIVE_MODE_FULL only: don't hide the interpreter's own
				  * frames */
	/* native frames get lines and inlined functions, by DWARF; not with NATIVE_MODE_NONE */
	bool native_lines;
	bool kernel; /* the kernel's frames are wanted too */
	/* addresses in the kernel are shown as they are, for users who may know them */
	bool kernel_addresses;
	/* record other processes than Python too; only without .pids and .cmd */
	bool all;
	/* for the unwind tables: bytes, 8 MiB to 4 GiB, BPF maps included; 0: krait chooses */
	uint64_t unwind_memory;

	uint64_t memory; /* for what is recorded: bytes, 8 MiB to 4 GiB; 0: krait chooses */

	/* Labels for every sample; the file with the target's own intervals, or NULL. */
	VEC(struct profile_label_text) labels;
	const char *label_intervals;
};

#endif
