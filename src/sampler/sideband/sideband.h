/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The perf side band reports at once which process maps which file, forks, execs or exits. It is
 * one dummy event and one ring for each online CPU. PIDs are numbers in krait's PID namespace;
 * processes outside of that namespace are left out. Times are CLOCK_MONOTONIC.
 */
#ifndef SAMPLER_SIDEBAND_SIDEBAND_H
#define SAMPLER_SIDEBAND_SIDEBAND_H

#include <sys/types.h>

#include "base/util.h"

/*
 * A mapping that was made executable, by mmap() or later by mprotect() (perf_event_mmap()); from a
 * PERF_RECORD_MMAP2.
 */
struct sideband_mmap {
	uint32_t tgid, tid;
	/* the mapping's address and length, and its offset in the file, all in bytes */
	uint64_t addr, len, pgoff;
	/* number of the mapped file's file system, major << 20 | minor, as in /proc/PID/maps */
	uint64_t dev;
	uint64_t ino, ino_generation;
	uint32_t prot, flags; /* protection and flags of the mapping: PROT_*, MAP_* */
	/*
	 * path of the mapped file, any bytes; "//anon", "[vdso]" and the like for a mapping without
	 * a file
	 */
	const char *path;
	uint64_t time_ns;
	bool gone; /* the process that made this mapping has certainly ended */
};

/*
 * Functions that sideband_drain() calls in order of time. An event that another CPU is just writing
 * comes only with the next sideband_drain(), and may be older than events of this call. Any
 * function may be NULL. Pointers are valid during the call.
 */
struct sideband_ops {
	void (*mmap)(void *ctx, const struct sideband_mmap *m);
	/*
	 * A thread got a new name. @exec: execve() set the name when it replaced the process's
	 * program.
	 */
	void (*comm)(void *ctx, uint32_t tgid, uint32_t tid, const char *comm, bool exec,
		     uint64_t time_ns);
	/* A thread (tgid == parent_tgid) or a process was started. */
	void (*fork)(void *ctx, uint32_t tgid, uint32_t tid, uint32_t parent_tgid,
		     uint32_t parent_tid, uint64_t time_ns);
	/*
	 * A thread ended. A process ends with its last thread (the thread with tid == tgid may end
	 * earlier).
	 */
	void (*exit)(void *ctx, uint32_t tgid, uint32_t tid, uint64_t time_ns);
	/*
	 * @n records were lost. What is known of processes may be wrong now, so the callee has to
	 * look into /proc again. The kernel reports a loss only with the next record that fits into
	 * the ring, perhaps much later. So .lost is also called, with @n 0, when a ring was so full
	 * that a record may have been dropped.
	 */
	void (*lost)(void *ctx, uint64_t n);
};

struct sideband_config {
	const struct sideband_ops *ops;
	void *ctx;
	size_t ring_bytes; /* bytes of each CPU's ring; 0: SIDEBAND_RING_BYTES */
	/*
	 * how many bytes a ring must have for its reader to be woken; 0: any record wakes the
	 * reader
	 */
	uint32_t wakeup_bytes;
};

#define SIDEBAND_RING_BYTES (64u << 10)

struct sideband;

/*
 * Opens the side band on all online CPUs; from this call on, events are recorded. 0; -EACCES/-EPERM
 * if krait lacks the rights, or another -errno; each with a message.
 */
_must_use_ int sideband_open(struct sideband **ret, const struct sideband_config *config);
void sideband_close(struct sideband *s);

/*
 * Opens all events anew after CPUs came online or the machine slept, as sampler_renew_cpus() does.
 * After that calls the functions for what was recorded until now, and .lost with 0.
 */
_must_use_ int sideband_renew_cpus(struct sideband *s);

/* Returns a descriptor for epoll that is readable when sideband_drain() has something to read. */
int sideband_fd(const struct sideband *s);

/* Calls the functions for everything that was recorded until now. Returns the number of records. */
size_t sideband_drain(struct sideband *s);
/*
 * Tells whether the rings may have a record of process @tgid for which sideband_drain() hasn't
 * called a function yet, or is calling it now. True also if the rings have too many records to look
 * through. Records that only say that a thread began, ended or has a new name don't count, because
 * they change nothing that the process maps.
 */
bool sideband_has_more(const struct sideband *s, uint32_t tgid);

/*
 * Makes each mapping and exec of thread @tid make sideband_fd() readable at once, until
 * sideband_unwatch(). One thread at a time can be watched. 0 or -errno + message.
 */
_must_use_ int sideband_watch(struct sideband *s, pid_t tid);
void sideband_unwatch(struct sideband *s); /* does nothing if no thread is being watched */

struct sideband_stats {
	uint64_t records, lost, malformed;
	/* number of records of processes outside krait's PID namespace */
	uint64_t foreign;
	size_t cpus, ring_bytes; /* how many CPUs have a ring, and how many bytes all rings have */
};
void sideband_stats(const struct sideband *s, struct sideband_stats *ret);

#endif
