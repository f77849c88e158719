/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The collector: what its rooms share, and a pointer to the state of each room. A room's own header
 * says what its state is.
 */
#ifndef COLLECT_COMMON_STATE_H
#define COLLECT_COMMON_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "collect/common/config.h"
#include "collect/common/stats.h"

/*
 * CPU time between two flushes for asking processes what only they have. A process that makes large
 * code objects all the time would else keep krait from all others. What isn't asked in time stays
 * unknown.
 */
#define ASKED_NS (250 * NSEC_PER_MSEC)

struct collect {
	struct collect_config config;
	struct profile *profile;
	struct collect_stats stats;
	uint64_t start_boot_ns; /* CLOCK_BOOTTIME of the profile's time 0 */
	bool began;		/* samples are taken: collect_begin() */
	uint32_t flushes;  /* number of this flush, from 1 on; collect_flush() alone counts it */
	bool last;	   /* it is the last flush */
	bool hurried;	   /* .config.wait has said that it is enough */
	bool news;	   /* see collect_news() */
	bool no_memory;	   /* for what a record says; the next flush fails */
	uint64_t asked_ns; /* spent of ASKED_NS */
	uint32_t marks;	   /* profile mapping of marks */
	size_t n_waiting;  /* samples that wait to be handed on */
	struct {
		size_t codes; /* bytes of all code objects */
		size_t maps;  /* of what perf maps and jitdumps say */
		size_t names; /* of all files' names and lines, at the last flush */
		size_t rows;  /* of what is kept of their unwind tables, likewise */
		size_t lists; /* of all processes' lists for gdb, likewise */
	} kept;

	struct processes *processes; /* process/process.h */
	struct images *images;	     /* interp/image.h */
	struct natives *natives;     /* native/native.h */
	struct spaces *spaces;	     /* space/space.h */
	struct made *made;	     /* madecode/made.h */
	struct stacks *stacks;	     /* stack/stack.h */
	struct intake *intake;	     /* collect/internal.h */
	struct command *command;     /* likewise */
};

/*
 * Bytes of the profile's tables and of code objects; bytes of names, of files and of code made at
 * run time.
 */
size_t collect_bytes(const struct collect *c);
size_t collect_kept_bytes(const struct collect *c);

/* No more may be kept until something was given up, or what is rare was summed up. */
bool collect_is_full(const struct collect *c);

/*
 * The most bytes that all names may take, of files and of code made at run time; the most that
 * one job may take while it runs.
 */
size_t memory_for_names(const struct collect *c);
size_t memory_for_job(const struct collect_config *config);

#endif
