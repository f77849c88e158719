/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of src/sampler that load programs share. */
#ifndef SAMPLER_INTERNAL_H
#define SAMPLER_INTERNAL_H

#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdint.h>
#include "base/map.h"
#include "base/vec.h"
#include "sampler/record_ring.h"
#include "sampler/sampler.h"
#include "sampler/tasks.h"
#include "waits.h"

struct sample_bpf;

struct cpu_ring {
	int cpu, fd;
	struct record_ring records;
};

struct sampler {
	struct sampler_config config;
	struct sample_bpf *skel;
	struct unwind_store *unwind;
	bool sees_unmaps, enabled;
	int rings_fd; /* epoll descriptor that watches all rings */
	uint64_t taken, turn_ends_ns;
	/*
	 * .rounds: see sampler_rounds(). .round_ns: when the present round began (CLOCK_MONOTONIC);
	 * 0: the last round is over.
	 */
	uint32_t rounds;
	uint64_t round_ns;
	/* how many samples of each source were read from the rings so far */
	uint64_t came[ABI_MAX_SOURCES];
	struct event_set sources[ABI_MAX_SOURCES]; /* .config.n_sources */
	/*
	 * links of the programs that watch unmapping and, if waits are recorded, wake-ups and
	 * execve()
	 */
	VEC(struct bpf_link *) links;
	/* link of the program that records waits; NULL: waits aren't recorded */
	struct bpf_link *whole;
	/*
	 * waits_read_open() was called: it gives config.record the waits that aren't over at the
	 * recording's end
	 */
	bool waits_read;
	/* reads blocked threads; NULL: waits aren't recorded, or the kernel doesn't permit it */
	struct tasks *tasks;
	/*
	 * threads, by .host_tid, that may have woken up right before sampler_add_wait() added their
	 * wait
	 */
	struct map doubted;
	/* threads, by .host_tid, whose waits the present call of sampler_blocked() has added */
	struct map added;
	/*
	 * result of clock_behind() in the present call of sampler_blocked(); 0: sampling has just
	 * begun, or the result isn't known
	 */
	uint64_t clock_behind_ns;
	/* rings of all CPUs; the ring of a CPU that goes offline is kept */
	VEC(struct cpu_ring) cpu_rings;
	struct py_layout layouts[ABI_MAX_LAYOUTS];
	unsigned n_layouts;
	struct map several; /* numbers of the processes that are in the kernel's map `several` */
	int n_cpus;
	uint64_t ended_ns; /* when sampling was switched off */
};

/* Passes a message of libbpf on to krait's log, at level -vv. */
int sampler_log_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap);

/*
 * Returns the inode of krait's PID namespace, which the programs get as pidns_inum; 0: krait is in
 * the host's PID namespace.
 */
uint32_t sampler_pidns(void);

/* per_cpu.c: opens a ring and a sampling event on every online CPU. 0 or -errno + message. */
_must_use_ int per_cpu_open(struct sampler *s);
void per_cpu_close(struct sampler *s);

/* Switches all events on or off. 0 or -errno + message. */
_must_use_ int per_cpu_enable(struct sampler *s, bool on);

/*
 * Called after the rings were read: reads how often events were throttled, and changes sampling
 * periods where a change is due.
 */
void per_cpu_vary(struct sampler *s);

/* waits.c: returns the index of the source whose samples are waits; -1: waits aren't recorded. */
int waits_source(const struct sampler *s);

/*
 * Called before the programs are loaded: leaves out programs that the recording's events don't
 * need.
 */
void waits_prepare(struct sampler *s);

/*
 * Attaches the programs that a recording of waits needs in addition to the program that the source
 * of waits names. 0 or -errno + message.
 */
_must_use_ int waits_attach(struct sampler *s);

/*
 * Adds an entry for thread @host_tid to the map `waits`, unless it has one. Also counts the thread
 * as one with an entry, because otherwise the program at task switches doesn't look for the entry.
 * 0 or -errno.
 */
int waits_put(struct sampler *s, uint32_t host_tid, const struct wait_entry *e);

/*
 * Reads the next entry of the map `waits`. *@n: how many keys were read so far; 0 for the first
 * call. False: there are no more entries.
 */
bool waits_next(const struct sampler *s, uint32_t *key, unsigned *n, struct wait_entry *e);

/*
 * Called when sampling has stopped: hands waits that aren't over to config.record. Only the first
 * call does so.
 */
void waits_read_open(struct sampler *s);

/* What the kernel has counted of a thread: its CPU time, and how long it was ready to run. */
struct counted {
	uint64_t cpu_ns, delay_ns;
};
/*
 * Reads from /proc what the kernel has counted of the thread that sample @of is of. False: the
 * thread has ended, or the kernel doesn't count.
 */
bool counted_read(const struct rec_sample *of, struct counted *ret);

/*
 * Returns how much the times in struct counted grew between the moment when the thread of @e last
 * left its CPU (.left_ns) and the recording's end. @now: the times that /proc shows @after_ns after
 * the end. A thread that was off its CPU at the recording's end may have run, or been ready to run,
 * for up to @after_ns since then, so @after_ns is subtracted. A thread that was on a CPU at the end
 * was ready to run only before it got that CPU.
 */
struct counted waits_since_left(const struct wait_entry *e, const struct counted *now,
				uint64_t after_ns);

/*
 * blocked.c: loads the program that reads blocked threads. If this fails, the recording lacks some
 * waits.
 */
void blocked_open(struct sampler *s);

/* May the thread have left the wait of @e before sampler_add_wait() added this wait? */
bool blocked_is_doubted(const struct sampler *s, uint32_t host_tid, const struct wait_entry *e);

/* Reads the rings of all CPUs, as sampler_drain() does. */
_must_use_ int per_cpu_drain(struct sampler *s);

#endif
