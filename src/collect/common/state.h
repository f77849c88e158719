/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The collector: what its rooms share, and a pointer to the state of each room. The room's own
 * header describes that state.
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
 * CPU time that krait may spend from one flush to the next on asking processes for what only they
 * have. Without this limit, a process that keeps making large code objects would keep krait from
 * all other processes. What isn't asked in time stays unknown.
 */
#define ASKED_NS (250 * NSEC_PER_MSEC)

struct collect {
	struct collect_config config;
	struct profile *profile;
	struct collect_stats stats;
	uint64_t start_boot_ns; /* CLOCK_BOOTTIME at the profile's time 0 */
	bool began;		/* sampling has begun: collect_begin() was called */
	/* number of the current flush, from 1 on; only collect_flush() increments it */
	uint32_t flushes;
	bool last;	   /* this is the last flush */
	bool hurried;	   /* .config.wait has returned false: don't wait any more */
	bool news;	   /* what collect_news() returns next */
	bool no_memory;	   /* memory ran out while a record was taken in; the next flush fails */
	uint64_t asked_ns; /* CPU time spent of ASKED_NS since the last flush */
	uint32_t marks;	   /* profile id of the mapping that marks have */
	size_t n_waiting;  /* samples in intake.waiting, which weren't handed on yet */
	struct {
		size_t codes; /* bytes of all code objects */
		size_t maps;  /* bytes of what perf maps and jitdumps say */
		size_t names; /* bytes of the names and lines of all files, at the last flush */
		size_t rows;  /* bytes of native_file.fdes of all files, at the last flush */
		/* bytes of all processes' lists of code registered for gdb, at the last flush */
		size_t lists;
	} kept;

	struct processes *processes; /* state of the room process/ (process/process.h) */
	struct images *images;	     /* state of interp/ (interp/image.h) */
	struct natives *natives;     /* state of native/ (native/native.h) */
	struct spaces *spaces;	     /* state of space/ (space/space.h) */
	struct made *made;	     /* state of madecode/ (madecode/made.h) */
	struct stacks *stacks;	     /* state of stack/ (stack/stack.h) */
	struct intake *intake;	     /* state of intake.c (collect/internal.h) */
	struct command *command;     /* what is known of the command (collect/internal.h) */
};

/*
 * collect_bytes(): bytes of the profile's tables and of code objects. collect_kept_bytes(): bytes
 * of names, of files and of code made at run time.
 */
size_t collect_bytes(const struct collect *c);
size_t collect_kept_bytes(const struct collect *c);

/*
 * Is the limit of memory reached? Then no more may be kept until something was given up or the
 * profile was condensed.
 */
bool collect_is_full(const struct collect *c);

/*
 * memory_for_names(): the most bytes that names of files and of code made at run time may take
 * together. memory_for_job(): the most bytes that one job may take while it runs.
 */
size_t memory_for_names(const struct collect *c);
size_t memory_for_job(const struct collect_config *config);

#endif
