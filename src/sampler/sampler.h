/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel side as one object: loads the programs, feeds their maps, drains their rings. Nothing
 * outside of this room knows libbpf. What the records mean is abi/records.h.
 */
#ifndef SAMPLER_SAMPLER_H
#define SAMPLER_SAMPLER_H

#include <sys/types.h>
#include "base/util.h"
#include "records.h"
#include "sampler/events.h"
#include "sampler/unwind_store.h"

struct sampler_config {
	struct event event;
	bool whole_machine;   /* every process; else only those of sampler_add_root() */
	bool all_processes;   /* also those that aren't Python; with .whole_machine and .native */
	bool follow_children; /* and their descendants */
	bool watch_throttle;
	bool patient; /* sampler_fd() wakes for a process that has to be looked at, not for a known executable */
	enum native_mode native;
	bool native_instructions; /* addresses of instructions, not only of functions */
	bool kernel;		  /* kernel stacks */
	size_t unwind_bytes;	  /* most memory of the unwind tables */
	size_t ring_bytes;	  /* per CPU, a power of two of pages; 0 = by the number of CPUs */
	/* Called by sampler_drain() for each record; the bytes are valid during the call. */
	void (*record)(void *ctx, const void *data, size_t n);
	void *ctx;
};

/*
 * All rings together, but at least SAMPLER_RING_LEAST each: a second of samples, and new stacks of
 * 24 KiB in a burst.
 */
#define SAMPLER_RINGS_BYTES (8u << 20)
#define SAMPLER_RING_LEAST  (1u << 20)

struct sampler;

/* Loads and verifies the programs and opens the event on all CPUs, disabled. 0 or -errno + message.
 */
_must_use_ int sampler_open(struct sampler **ret, const struct sampler_config *config);
void sampler_close(struct sampler *s);

/* Of libbpf: "1.1". */
const char *sampler_library_version(void);

/* Starts and stops taking samples. 0 or -errno + message. */
_must_use_ int sampler_enable(struct sampler *s, bool on);

/* A process asked for (-p, --), also before it exists as Python. 0 or -errno. */
_must_use_ int sampler_add_root(struct sampler *s, pid_t tgid);

/* It has ended: its number may become another process's. */
void sampler_remove_root(struct sampler *s, pid_t tgid);

/* Makes @layout usable; *index is for py_where.layout. Equal layouts share one. -ENOSPC: too many.
 */
_must_use_ int sampler_add_layout(struct sampler *s, const struct py_layout *layout,
				  uint16_t *index);
const struct py_layout *sampler_layout(const struct sampler *s, uint16_t index);

/* What native stacks are unwound with; NULL if none are asked for. */
struct unwind_store *sampler_unwind(struct sampler *s);

/* Does every unmapping count in unwind_store_unmaps()? Else only a new mapping in the place of a known one. */
bool sampler_sees_unmaps(const struct sampler *s);

/*
 * What is known of a process image; @where may be NULL if @state isn't PROC_PYTHON. @space: the slot of
 * its mappings in the unwind store, 0 = none. A key with only .tgid: nobody sampled it yet; holds if the image is still at @place then (else NULL).
 */
_must_use_ int sampler_set_proc(struct sampler *s, const struct proc_key *key,
				enum proc_state state, const struct py_where *where,
				const struct image_place *place, uint32_t space);
/*
 * Before its sampler_set_proc(): process @s->tgid has @s->n interpreters, of which .where is the first; less than two: it hasn't several
 * any more. 0; -E2BIG: there are too many such processes.
 */
_must_use_ int sampler_set_several(struct sampler *s, const struct proc_several *several);
/* Whatever its executable says: the next sample of this process asks. */
void sampler_suspect(struct sampler *s, pid_t tgid);

/* An executable whose processes the kernel program may recognize by itself. */
_must_use_ int sampler_add_exe(struct sampler *s, const struct exe_key *key,
			       const struct exe_entry *entry);

/*
 * CPUs came online or the machine slept: events of a CPU that was offline never run again, so all are
 * opened anew. 0 or -errno + message: what isn't open then isn't sampled.
 */
_must_use_ int sampler_renew_cpus(struct sampler *s);

/*
 * Until @until_ns, CLOCK_MONOTONIC, new processes of user @uid (SAMPLER_ALL_USERS: of anybody) are counted, without stacks
 * and without an answer of user space.
 */
#define SAMPLER_ALL_USERS UINT32_MAX
void sampler_crowd(struct sampler *s, uint32_t uid, uint64_t until_ns);

/*
 * What was sent is forgotten: stacks are sent again when they are met again, with their code objects and
 * with other ids.
 */
void sampler_send_again(struct sampler *s);

/*
 * The caller sleeps longer than usual from its next sampler_drain() on: a code object that is new, or a thread, makes
 * sampler_fd() readable then.
 */
void sampler_settle(struct sampler *s, bool on);

/* Readable when user space was asked something (PENDING process). */
int sampler_fd(const struct sampler *s);

/*
 * Calls config.record for what is in the rings; 1 if there is more, which wakes nobody: it takes its time in turns as long as
 * samples are taken. 0 or -errno + message.
 */
_must_use_ int sampler_drain(struct sampler *s);

struct sampler_stats {
	uint64_t counters[COUNT_MAX]; /* enum bpf_counter, summed over CPUs */
	uint64_t throttled, throttled_ns;
	uint64_t run_ns, run_count; /* kernel's statistics, 0 unless kernel.bpf_stats_enabled */
	uint64_t longest_ns;	    /* the longest run, likewise */
	uint64_t long_samples;	    /* runs of more than 0.5 ms, likewise */
};
void sampler_stats(struct sampler *s, struct sampler_stats *ret);

/* Memory of the maps, as far as the kernel says. */
size_t sampler_map_bytes(struct sampler *s);

/* What counter @i (enum bpf_counter) counts. */
const char *sampler_counter_words(unsigned i);

#endif
