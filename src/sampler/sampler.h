/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads the kernel programs, fills their maps and drains their rings. Only this folder uses libbpf.
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
	bool kernel; /* samples of this event have the kernel's frames */
};

struct sampler_config {
	struct sampler_source sources[ABI_MAX_SOURCES];
	unsigned n_sources; /* how many of .sources are set; at least 1 */
	/* every process is sampled; else only the processes of sampler_add_root() are */
	bool whole_machine;
	/* processes without Python are also sampled; only with .whole_machine and .native */
	bool all_processes;
	/* descendants of the processes of sampler_add_root() are also sampled */
	bool follow_children;
	/* how much of one CPU's time stacks of waits may take, in millionths; 0: 1 % */
	uint32_t wait_budget_ppm;
	bool watch_throttle;
	bool patient; /* sampler_fd() doesn't wake for a process of a known executable */
	enum native_mode native;
	/* send addresses of instructions, so that lines can be shown, and not only of functions */
	bool native_instructions;
	size_t unwind_bytes; /* the most bytes of memory of the unwind tables */
	/*
	 * size of each CPU's ring, a power of two of pages; 0 = by the rate and the number of CPUs
	 */
	size_t ring_bytes;
	/* Called by sampler_drain() for each record; the bytes are valid during the call. */
	void (*record)(void *ctx, const void *data, size_t n);
	void *ctx;
};

/*
 * The size of all rings together, at up to 1,000 samples a second and CPU. At higher rates it grows
 * in proportion, up to SAMPLER_RINGS_MOST. Each ring has at least SAMPLER_RING_LEAST bytes: enough
 * for a second of samples at 999 Hz and for a burst of new stacks of 24 KiB.
 */
#define SAMPLER_RINGS_BYTES (8u << 20)
#define SAMPLER_RINGS_MOST  (32u << 20)
#define SAMPLER_RING_LEAST  (1u << 20)

struct sampler;

/* Loads and verifies the programs; opens the event on all CPUs, disabled. 0 or -errno + message. */
_must_use_ int sampler_open(struct sampler **ret, const struct sampler_config *config);
void sampler_close(struct sampler *s);

/* Returns the version of libbpf: "1.1". */
const char *sampler_library_version(void);

/*
 * Starts and stops taking samples. Sets *ret_ns in any case: from that moment on, or until that
 * moment, samples are taken and waits are counted (CLOCK_MONOTONIC). 0 or -errno + message.
 */
_must_use_ int sampler_enable(struct sampler *s, bool on, uint64_t *ret_ns);

/*
 * Changes the rate of clocks that don't name a rate themselves, also while samples are taken. Each
 * sample weighs the period of its time, so that no share changes. 0; -EINVAL + message: no kernel
 * offers this rate.
 */
_must_use_ int sampler_set_rate(struct sampler *s, uint32_t hz);

/* Changes sampler_config.wait_budget_ppm to @ppm, which isn't 0; also while waits are recorded. */
void sampler_set_wait_budget(struct sampler *s, uint32_t ppm);

/* Adds a process that was asked for (-p, --), even before it runs Python. 0 or -errno. */
_must_use_ int sampler_add_root(struct sampler *s, pid_t tgid);

/*
 * Removes a process of sampler_add_root() that has ended, because another process may get its
 * number.
 */
void sampler_remove_root(struct sampler *s, pid_t tgid);

/*
 * Makes @layout known to the kernel programs; *@index: the value for py_where.layout. Equal layouts
 * share one index. 0; -ENOSPC: there are too many layouts.
 */
_must_use_ int sampler_add_layout(struct sampler *s, const struct py_layout *layout,
				  uint16_t *index);
const struct py_layout *sampler_layout(const struct sampler *s, uint16_t index);

/* The tables that native stacks are unwound with; NULL if no native stacks are recorded. */
struct unwind_store *sampler_unwind(struct sampler *s);

/*
 * Does unwind_store_unmaps() count every unmapping? If not, an unmapping is only noticed when a new
 * mapping replaces it.
 */
bool sampler_sees_unmaps(const struct sampler *s);

/*
 * Sets what is known of a process image. @where may be NULL unless @state is PROC_PYTHON. @space:
 * the slot of its mappings in the unwind store, 0 = none. If @key has only .tgid, the process
 * wasn't sampled yet. Then @place says where its image lies, and the entry holds as long as that is
 * so. Otherwise @place is NULL.
 */
_must_use_ int sampler_set_proc(struct sampler *s, const struct proc_key *key,
				enum proc_state state, const struct py_where *where,
				const struct image_place *place, uint32_t space);
/*
 * Says which interpreters process @several->tgid has; call it before the process's
 * sampler_set_proc(). The first interpreter is .where. @several->n below 2: the process no longer
 * has several interpreters. 0; -E2BIG: there are too many such processes.
 */
_must_use_ int sampler_set_several(struct sampler *s, const struct proc_several *several);
/*
 * The next sample of this process makes the kernel program ask user space about it, even if its
 * executable is known.
 */
void sampler_suspect(struct sampler *s, pid_t tgid);
/*
 * Returns how many pages the process of @key maps executable now. @task: as its first record says;
 * 0: not known.
 */
uint64_t sampler_code_pages(struct sampler *s, const struct proc_key *key, uint64_t task);

/* Adds an executable by which the kernel program may recognize processes by itself. */
_must_use_ int sampler_add_exe(struct sampler *s, const struct exe_key *key,
			       const struct exe_entry *entry);

/*
 * After CPUs came online or the machine slept: events of a CPU that was offline never run again, so
 * all are opened anew. 0 or -errno + message: CPUs whose event isn't open aren't sampled.
 */
_must_use_ int sampler_renew_cpus(struct sampler *s);

/*
 * Until @until_ns, CLOCK_MONOTONIC, samples of new processes of user @uid (SAMPLER_ALL_USERS: of
 * all users) are only counted. No stacks are taken, and user space isn't asked about the processes.
 */
#define SAMPLER_ALL_USERS UINT32_MAX
void sampler_crowd(struct sampler *s, uint32_t uid, uint64_t until_ns);

/*
 * Makes the programs forget what they sent. Stacks that are met again are sent again, with new ids,
 * and so are their code objects.
 */
void sampler_send_again(struct sampler *s);

/*
 * @on: the caller will sleep longer than usual after its next sampler_drain(). Until this function
 * is called with @on false, a new code object or thread makes sampler_fd() readable.
 */
void sampler_settle(struct sampler *s, bool on);

/*
 * A descriptor that is readable when the kernel program has asked user space something
 * (PROC_PENDING).
 */
int sampler_fd(const struct sampler *s);

/*
 * Calls config.record for what is in the rings. Returns 1 if records are left (no wake-up follows):
 * while sampling runs, each ring is drained for a bounded time. 0 or -errno + message.
 */
_must_use_ int sampler_drain(struct sampler *s);

/*
 * If waits are recorded: calls @fn for each wait that isn't over, or whose record isn't sent yet.
 * @wait is the record that the wait would have if the wait were over now. @left: the program chose
 * not to take its stack. Such a wait gets no record of its own, unless it takes WAIT_LONG_NS or
 * longer.
 */
typedef void (*sampler_open_fn)(void *ctx, const struct rec_wait *wait, bool left);
void sampler_open_waits(struct sampler *s, sampler_open_fn fn, void *ctx);

/* Returns for how many waits no stack was taken so far. */
uint64_t sampler_waits_left(struct sampler *s);

/*
 * If waits are recorded: calls .blocked for each thread that waits and whose stack no kernel
 * program has taken. A stack that wasn't chosen is left out if the wait began after .left_until_ns.
 * Only processes that are known to run Python count; unless @tgids is NULL, only processes in
 * @tgids. @proc is what the kernel programs know of the process. @since_ns: when the wait began; 0:
 * before sampling did. Before that, .polled is called for each thread that waits: it returns the
 * descriptor if the thread is in a poll() of one, else -1. 0 or -errno + message.
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
 * Is @task still in the wait that began at @since_ns, whose stack wasn't taken? If so, the thread
 * has slept all the time since it was read.
 */
bool sampler_still_waits(const struct sampler *s, const struct rec_task *task, uint64_t since_ns);

/*
 * Gets the interpreters of a process that has several. False: the process doesn't have several
 * interpreters.
 */
bool sampler_several(struct sampler *s, uint32_t tgid, struct proc_several *ret);

/*
 * Adds the wait of @task, whose stack and GIL state are in @sample. If the thread hasn't run since
 * @task was read, the wait counts from its beginning (at the earliest from that of sampling) until
 * the thread gets a CPU again. 0 or -errno: there is no room, or the thread has begun another wait.
 */
_must_use_ int sampler_add_wait(struct sampler *s, const struct rec_task *task,
				const struct rec_sample *sample);

/*
 * To be called before sampling begins, if waits are recorded: notes how long threads of process
 * @tgid were ready to run until now.
 */
void sampler_begin_accounts(struct sampler *s, pid_t tgid);

/* If waits are recorded: calls @keep with each stack that the record of a wait may still name. */
void sampler_waiting_stacks(struct sampler *s, void (*keep)(void *ctx, uint64_t stack), void *ctx);

struct sampler_stats {
	uint64_t counters[COUNT_MAX]; /* enum bpf_counter, summed over CPUs */
	struct {
		/*
		 * how often the kernel stopped the source for the rest of a timer tick, and how
		 * long in sum
		 */
		uint64_t throttled, throttled_ns;
		/*
		 * with several sources: how long the program took for the source's samples that it
		 * sent
		 */
		uint64_t busy_ns;
	} sources[ABI_MAX_SOURCES];
	/*
	 * how long the programs ran in all, and how often, by the kernel's statistics; 0 unless
	 * kernel.bpf_stats_enabled
	 */
	uint64_t run_ns, run_count;
	/* time of the longest run of a program; 0 unless kernel.bpf_stats_enabled */
	uint64_t longest_ns;
	/* how many runs took more than 0.5 ms; 0 unless kernel.bpf_stats_enabled */
	uint64_t long_samples;
	/*
	 * Runs that the kernel skipped because a BPF program ran on that CPU already
	 * (bpf_prog_info.recursion_misses). Older kernels count nothing: kprobes are counted since
	 * 6.7 (dd8657894c11), raw tracepoints since about 6.1, perf events never.
	 */
	uint64_t skipped;
};
/* Records lost in the kernel: a ring was full, there was no ring, or walk state was in use. */
static inline uint64_t sampler_lost(const struct sampler_stats *s)
{
	return s->counters[COUNT_RING_FULL] + s->counters[COUNT_NO_RING] + s->counters[COUNT_BUSY];
}
void sampler_stats(struct sampler *s, struct sampler_stats *ret);

/* How many bytes of memory the BPF maps take, as far as the kernel says so. */
size_t sampler_map_bytes(struct sampler *s);

/* Returns in words what counter @i (enum bpf_counter) counts. */
const char *sampler_counter_words(unsigned i);

#endif
