/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads the kernel programs, fills their maps and reads their rings. Only this folder uses libbpf.
 * What the records mean is in abi/records.h.
 */
#ifndef SAMPLER_SAMPLER_H
#define SAMPLER_SAMPLER_H

#include <sys/types.h>
#include "base/util.h"
#include "proc/proc.h"
#include "records.h"
#include "sampler/sources/event_set.h"
#include "sampler/unwind/store.h"

/*
 * One of the events of a recording. Samples of the event carry the event's index as
 * rec_sample.source.
 */
struct sampler_source {
	struct event event;
	bool kernel; /* samples of this event have kernel frames */
};

struct sampler_config {
	struct sampler_source sources[ABI_MAX_SOURCES];
	unsigned n_sources; /* how many of .sources are set; at least 1 */
	/* every process is sampled; false: only the processes of sampler_add_root() are sampled */
	bool whole_machine;
	/* processes without Python are also sampled; only with .whole_machine and .native */
	bool all_processes;
	/* descendants of the processes of sampler_add_root() are also sampled */
	bool follow_children;
	/* how much of one CPU's time stacks of waits may take, in millionths; 0: 1 % */
	uint32_t wait_budget_ppm;
	bool watch_throttle;
	bool patient; /* a process of a known executable doesn't make sampler_fd() readable */
	enum native_mode native;
	/*
	 * addresses of instructions are sent, so that lines can be shown; false: only those of
	 * functions
	 */
	bool native_instructions;
	size_t unwind_bytes; /* the most bytes of memory of the unwind tables */
	/*
	 * size of each CPU's ring, a power of two of pages; 0: it depends on the rate and the
	 * number of CPUs
	 */
	size_t ring_bytes;
	/* Called by sampler_drain() for each record; the bytes are valid during the call. */
	void (*record)(void *ctx, const void *data, size_t n);
	void *ctx;
};

/*
 * How many bytes all rings have together, up to 1,000 samples a second and CPU. At higher rates the
 * number grows in proportion, up to SAMPLER_RINGS_MOST. Each ring has at least SAMPLER_RING_LEAST
 * bytes: enough for a second of samples at 999 Hz and for new stacks of 24 KiB that come all at
 * once.
 */
#define SAMPLER_RINGS_BYTES (8u << 20)
#define SAMPLER_RINGS_MOST  (32u << 20)
#define SAMPLER_RING_LEAST  (1u << 20)

struct sampler;

/*
 * Loads and verifies the programs. Opens the events on all CPUs, not yet enabled. 0 or -errno +
 * message.
 */
_must_use_ int sampler_open(struct sampler **ret, const struct sampler_config *config);
void sampler_close(struct sampler *s);

/* Returns the version of libbpf, such as "1.1". */
const char *sampler_library_version(void);

/*
 * Starts or stops the taking of samples. In any case sets *ret_ns to the moment (CLOCK_MONOTONIC)
 * from which, or until which, samples are taken and waits are counted. 0 or -errno + message.
 */
_must_use_ int sampler_enable(struct sampler *s, bool on, uint64_t *ret_ns);

/*
 * Changes the rate of those clocks that don't name a rate themselves; possible while samples are
 * taken. Each sample weighs the period with which it was taken, so the shares of functions in the
 * profile don't change. 0; -EINVAL + message: no kernel offers this rate.
 */
_must_use_ int sampler_set_rate(struct sampler *s, uint32_t hz);

/*
 * Changes sampler_config.wait_budget_ppm to @ppm, which isn't 0; possible while waits are recorded.
 */
void sampler_set_wait_budget(struct sampler *s, uint32_t ppm);

/*
 * Adds a process that the user asked for (-p, --), even if it doesn't run Python yet. 0 or -errno.
 */
_must_use_ int sampler_add_root(struct sampler *s, pid_t tgid);

/*
 * Removes a process of sampler_add_root() after its end, because another process may get its
 * number.
 */
void sampler_remove_root(struct sampler *s, pid_t tgid);

/*
 * Makes @layout (where a version of Python keeps its data) known to the kernel programs, and sets
 * *@index to the value for py_where.layout. Equal layouts have one index. 0; -ENOSPC: there are too
 * many layouts.
 */
_must_use_ int sampler_add_layout(struct sampler *s, const struct py_layout *layout,
				  uint16_t *index);
const struct py_layout *sampler_layout(const struct sampler *s, uint16_t index);

/*
 * Returns the store of the tables by which native stacks are unwound; NULL: no native stacks are
 * recorded.
 */
struct unwind_store *sampler_unwind(struct sampler *s);

/*
 * Does unwind_store_unmaps() count every unmapping? If not, krait notices an unmapping only when a
 * new mapping takes its place.
 */
bool sampler_sees_unmaps(const struct sampler *s);

/*
 * Sets what is known of a process since its latest exec. @where may be NULL unless @state is
 * PROC_PYTHON. @space: the slot of its mappings in the unwind store; 0: none. If the process wasn't
 * sampled yet, @key has only .tgid; @place then says where its program lies in memory, and the
 * entry holds as long as the program lies there. Otherwise @place is NULL.
 */
_must_use_ int sampler_set_proc(struct sampler *s, const struct proc_key *key,
				enum proc_state state, const struct py_where *where,
				const struct image_place *place, uint32_t space);
/*
 * Tells which interpreters process @several->tgid has; to be called before sampler_set_proc() for
 * this process. The first interpreter is that of .where. @several->n below 2: the process no longer
 * has several interpreters. 0; -E2BIG: too many processes have several interpreters.
 */
_must_use_ int sampler_set_several(struct sampler *s, const struct proc_several *several);
/*
 * Makes the kernel program ask user space about this process at the process's next sample, even if
 * its executable is known.
 */
void sampler_suspect(struct sampler *s, pid_t tgid);
/*
 * Returns how many pages the process of @key maps executable now. @task: rec_proc.task of the
 * process's first record. 0: not known.
 */
uint64_t sampler_code_pages(struct sampler *s, const struct proc_key *key, uint64_t task);

/* Adds an executable by which the kernel program may recognize processes by itself. */
_must_use_ int sampler_add_exe(struct sampler *s, const struct exe_key *key,
			       const struct exe_entry *entry);

/*
 * Opens all events anew after CPUs came online or the machine slept, because events of a CPU that
 * was offline never run again. 0 or -errno + message: CPUs whose event isn't open aren't sampled.
 */
_must_use_ int sampler_renew_cpus(struct sampler *s);

/*
 * Makes the kernel programs only count samples of new processes of user @uid (SAMPLER_ALL_USERS: of
 * all users) until @until_ns, CLOCK_MONOTONIC. For these samples they take no stacks, and don't ask
 * user space about the processes.
 */
#define SAMPLER_ALL_USERS UINT32_MAX
void sampler_crowd(struct sampler *s, uint32_t uid, uint64_t until_ns);

/*
 * Makes the kernel programs forget what they have sent. Stacks that they see again are sent again
 * with new ids, and so are the code objects of these stacks.
 */
void sampler_send_again(struct sampler *s);

/*
 * @on true: the caller tells that it will sleep longer than usual after its next sampler_drain().
 * From then until a call with @on false, a new code object or thread makes sampler_fd() readable.
 */
void sampler_settle(struct sampler *s, bool on);

/*
 * Returns a descriptor that is readable when the kernel program has asked user space about a
 * process (PROC_PENDING).
 */
int sampler_fd(const struct sampler *s);

/*
 * Calls config.record for each record in the rings. While sampling runs, each ring is read for a
 * limited time only: returns 1 if records are left, for which krait won't be woken up. Otherwise 0,
 * or -errno + message.
 */
_must_use_ int sampler_drain(struct sampler *s);

/*
 * Returns how many rounds are over. A round begins in sampler_drain() before any ring is read, and
 * is over once each ring was read up to the record that was written last when the round began. In
 * most cases it is over at the end of the same call. While a ring is so full that sampler_drain()
 * leaves records in it, the round takes several calls. A round takes 2 s at most (ROUND_MOST_NS).
 */
uint32_t sampler_rounds(const struct sampler *s);

/*
 * If waits are recorded: calls @fn for each wait that isn't over, or whose record isn't sent yet.
 * @wait is the record that the wait would have if it were over now. @left: the program chose not to
 * take the wait's stack. Such a wait gets no record of its own, unless it takes WAIT_LONG_NS or
 * longer.
 */
typedef void (*sampler_open_fn)(void *ctx, const struct rec_wait *wait, bool left);
void sampler_open_waits(struct sampler *s, sampler_open_fn fn, void *ctx);

/* Returns the number of waits so far of which no stack was taken. */
uint64_t sampler_waits_left(struct sampler *s);

/*
 * If waits are recorded: calls .blocked for each thread that waits and whose stack no kernel
 * program has taken. A wait of which the kernel program chose not to take the stack is left out if
 * it began after .left_until_ns. Only threads of processes that are known to run Python are looked
 * at; unless @tgids is NULL, only those of processes in @tgids. @proc is what the kernel programs
 * know of the process. @since_ns: when the wait began; 0: before sampling. Before .blocked is
 * called, .polled is called for each thread that waits: it returns the descriptor if the thread is
 * in a poll() of a single descriptor, else -1. 0 or -errno + message.
 */
struct rec_task;
struct sampler_blocked {
	int (*polled)(void *ctx, const struct rec_task *task);
	void (*blocked)(void *ctx, const struct proc_entry *proc, const struct rec_task *task,
			uint64_t since_ns);
	uint64_t left_until_ns;
	void *ctx;
};
_must_use_ int sampler_blocked(struct sampler *s, const pid_vec *tgids,
			       const struct sampler_blocked *to);

/*
 * Does this kernel let sampler_blocked() read threads? If not, sampler_blocked() finds no threads.
 */
bool sampler_reads_blocked(const struct sampler *s);

/*
 * Is @task still in the wait that began at @since_ns and whose stack wasn't taken? If so, the
 * thread has slept without a break since it was read.
 */
bool sampler_still_waits(const struct sampler *s, const struct rec_task *task, uint64_t since_ns);

/* Sets *ret to the interpreters of process @tgid. False: the process doesn't have several. */
bool sampler_several(struct sampler *s, uint32_t tgid, struct proc_several *ret);

/*
 * Adds the wait of @task, whose stack and GIL state are in @sample. If the thread hasn't run since
 * @task was read, the wait counts from when it began (at the earliest from the beginning of
 * sampling) until the thread gets a CPU again. 0 or -errno: there is no room, or the thread has
 * begun another wait.
 */
_must_use_ int sampler_add_wait(struct sampler *s, const struct rec_task *task,
				const struct rec_sample *sample);

/*
 * Notes how long threads of process @tgid have been ready to run until now. To be called before
 * sampling begins, if waits are recorded.
 */
void sampler_begin_accounts(struct sampler *s, pid_t tgid);

/*
 * If waits are recorded: calls @keep with the id of each stack that the record of a wait may still
 * refer to.
 */
void sampler_waiting_stacks(struct sampler *s, void (*keep)(void *ctx, uint64_t stack), void *ctx);

struct sampler_stats {
	uint64_t counters[COUNT_MAX]; /* the counters of enum bpf_counter, summed over all CPUs */
	struct {
		/*
		 * how often the kernel stopped the source's events for the rest of a timer tick,
		 * and for how long in sum
		 */
		uint64_t throttled, throttled_ns;
		/*
		 * if there are several sources: how long the kernel program ran for those samples
		 * of this source that it sent
		 */
		uint64_t busy_ns;
	} sources[ABI_MAX_SOURCES];
	/*
	 * how long the programs ran in sum, and how often they ran, by the kernel's statistics; 0
	 * unless kernel.bpf_stats_enabled is set
	 */
	uint64_t run_ns, run_count;
	/* time of a program's longest run; 0 unless kernel.bpf_stats_enabled is set */
	uint64_t longest_ns;
	/* how many runs took more than 0.5 ms; 0 unless kernel.bpf_stats_enabled is set */
	uint64_t long_samples;
	/*
	 * how many runs the kernel skipped because a BPF program was running on the CPU already
	 * (bpf_prog_info.recursion_misses); older kernels don't count them: kprobes are counted
	 * since 6.7 (dd8657894c11), raw tracepoints since about 6.1, programs of perf events never
	 */
	uint64_t skipped;
};
/*
 * Returns how many records were lost in the kernel, because a ring was full, there was no ring, or
 * the memory for walking a stack was in use.
 */
uint64_t sampler_lost(const struct sampler_stats *s);
void sampler_stats(struct sampler *s, struct sampler_stats *ret);
/* Returns what sampler_lost() would return of the present counters, in fewer system calls. */
uint64_t sampler_lost_now(struct sampler *s);

/* Returns how many bytes of memory the BPF maps take, as far as the kernel tells. */
size_t sampler_map_bytes(struct sampler *s);

/* Returns in words what counter @i (enum bpf_counter) counts. */
const char *sampler_counter_words(unsigned i);

#endif
