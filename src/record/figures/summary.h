/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The figures at a recording's end: what was recorded, and what was lost. Every loss is counted.
 */
#ifndef RECORD_FIGURES_SUMMARY_H
#define RECORD_FIGURES_SUMMARY_H

#include "base/system/clock.h"
#include "record/session.h"

struct summary {
	struct sampler_stats kernel;
	struct collect_stats collect;
	uint64_t wall_ns;
	/* number of samples of the event that counts CPU time; 0: there is no such event */
	uint64_t cpu_samples;
	/*
	 * .due: how many samples of CPU time there should be, by the CPU time that the targets
	 * used. .missing: how many of them didn't come.
	 */
	uint64_t due, missing;
	/*
	 * .others_ns: how long krait was busy with samples of events other than CPU time.
	 * .shadowed: how many of the .missing samples may have fallen due in that time. A kernel
	 * that leaves interrupts on while a program runs drops such samples (bpf_prog_active).
	 */
	uint64_t others_ns, shadowed;
	/* samples per second of the targets' CPU time; 0: not known */
	double reached_hz;
	/* CPU time of krait itself: .own_cpu_ns in sum, .start_cpu_ns before sampling began */
	uint64_t own_cpu_ns, start_cpu_ns;
	size_t own_rss_bytes, map_bytes;
	/* processes that the command started and that run on after its end; ascending */
	pid_vec daemons;
};

/*
 * Returns how many samples are missing, if @due should have come and @came have come; 0 if the
 * difference may be chance.
 */
uint64_t summary_missing(uint64_t due, uint64_t came);

/*
 * Does the number of samples that came (@came) differ from the number that was asked for (@due)?
 * True if the difference is larger than chance explains, and large enough to matter.
 */
bool summary_rate_is_off(uint64_t due, uint64_t came);

/*
 * Computes the figures, after session_stop() and before the sampler is closed. Adds comments to the
 * profile that say how much processes ran and waited.
 */
void summary_take(struct summary *m, struct session *s);
void summary_fini(struct summary *m);

static inline double summary_seconds(uint64_t ns)
{
	return (double)ns / NSEC_PER_SEC;
}

static inline double summary_percent(double part, double of)
{
	return of > 0 ? 100 * part / of : 0;
}

#endif
