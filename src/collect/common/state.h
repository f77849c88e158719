/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The collector: what its folders share, and a pointer to the state of each folder. That state is
 * described in the folder's own header.
 */
#ifndef COLLECT_COMMON_STATE_H
#define COLLECT_COMMON_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system/clock.h"
#include "collect/common/config.h"
#include "collect/common/stats.h"

struct collect {
	struct collect_config config;
	struct profile *profile;
	struct collect_stats stats;
	uint64_t start_boot_ns; /* time 0 of the profile, on CLOCK_BOOTTIME */
	bool began;		/* collect_begin() was called: sampling has begun */
	/* number of the present collect_flush(), from 1 on; the call itself increases it */
	uint32_t flushes;
	uint32_t rounds; /* how many rounds were over when the rings were last read */
	bool last;	 /* the collect_flush() that runs now is the last one of the recording */
	/* .config.wait has returned false: the collector no longer waits for names */
	bool hurried;
	bool news; /* value that the next call of collect_news() returns */
	/* a record was lost for lack of memory, so the next collect_flush() fails */
	bool no_memory;
	/* what asking processes has cost since the budget began anew (budget/asked.h) */
	uint64_t asked_ns;
	/* profile id of the mapping of marks (frames that stand for what isn't known) */
	uint32_t marks;
	size_t n_waiting; /* number of samples in intake.waiting, which aren't in the profile yet */
	struct {
		/* when the bytes that are kept are counted next, CLOCK_MONOTONIC */
		uint64_t due_ns;
		size_t codes; /* bytes that all code objects take */
		size_t maps;  /* bytes that the contents of perf maps and jitdumps take */
		size_t names; /* bytes that names and lines of all files took when counted last */
		size_t rows;  /* bytes that native_file.fdes of all files took when counted last */
		/* bytes that all lists of code registered for gdb took when counted last */
		size_t lists;
		size_t sets; /* bytes of the tables of threads' label sets (thread/labels.c) */
		/*
		 * bytes of the records that wait (struct intake). Giving up names wouldn't make
		 * fewer of them, because they wait for names. So this isn't part of
		 * collect_kept_bytes().
		 */
		size_t waiting;
	} kept;

	struct processes *processes; /* state of process/ (process/process.h) */
	struct look_budgets *look;   /* state of budget/look.c */
	struct crowds *crowds;	     /* state of budget/crowd.c (budget/crowd.h) */
	/*
	 * state of budget/absent.c; NULL: the kernel program hasn't asked for non-resident memory
	 * yet
	 */
	struct absent *absent;
	struct threads *threads;   /* state of thread/ */
	struct codes *codes;	   /* state of code/codes.c */
	struct same *same;	   /* state of code/same.c */
	struct packages *packages; /* state of code/together.c */
	struct images *images;	   /* state of interp/ (interp/image.h) */
	struct natives *natives;   /* state of native/ (native/native.h) */
	struct spaces *spaces;	   /* state of space/ (space/space.h) */
	struct made *made;	   /* state of madecode/ (madecode/made.h) */
	struct stacks *stacks;	   /* state of stack/ (stack/stack.h) */
	struct intake *intake;	   /* state of intake.c (collect/internal.h) */
	/*
	 * state of first.c, teach.c and foresee.c: what is known of the command
	 * (collect/internal.h)
	 */
	struct command *command;
};

/*
 * A record came when collect.rounds was @round, so it came during the round after that. Have all
 * records come by now that the kernel programs wrote before it? Each CPU has its own ring, and
 * earlier records may lie in a ring that was read before the record's ring. The next round begins
 * after the record came, so at its end they have come.
 */
static inline bool collect_has_earlier(const struct collect *c, uint32_t round)
{
	return c->rounds - round >= 2;
}

/*
 * collect_bytes(): bytes of the profile's tables and of code objects. collect_kept_bytes(): bytes
 * of what is kept of files and of code made at run time, such as names.
 */
size_t collect_bytes(const struct collect *c);
size_t collect_kept_bytes(const struct collect *c);

/*
 * Is the limit of memory reached? If so, nothing more may be kept until the caller has condensed
 * the profile (summed up what is rare), or something was freed.
 */
bool collect_is_full(const struct collect *c);

/*
 * memory_for_names(): the most bytes that names of files and of code made at run time may take
 * together. memory_for_job(): the most bytes that one job may take while it runs.
 */
size_t memory_for_names(const struct collect *c);
size_t memory_for_job(const struct collect_config *config);

#endif
