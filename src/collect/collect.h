/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The collector: records in, profile out. It keeps what is known of each process (and, after an
 * exec, of each new program in it): its interpreter, copies of its code objects, its threads and
 * their labels. It names each distinct stack once and adds samples to the profile. It knows the
 * records of abi/records.h, but not where they come from.
 */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

#include <sys/types.h>
#include "collect/common/config.h"
#include "collect/common/stats.h"

struct collect;

/* Creates a collector. @config is copied; what @config points to must stay. NULL: out of memory. */
struct collect *collect_new(const struct collect_config *config);

/*
 * Frees @c. Before that, waits for jobs whose results the next recording can use, as long as
 * collect_config.wait allows. False: a thread still works on a file, or hangs in it. Then what that
 * thread reads stays in memory. The caller must never free collect_config.cache, and must end the
 * process by _exit().
 */
bool collect_free(struct collect *c);

/* Takes one record of @n bytes. A malformed record is only counted. */
void collect_record(struct collect *c, const void *data, size_t n);

/*
 * Called each time the kernel programs' records were read: adds the samples whose stacks are
 * complete to the profile. @last: no more records come; what is missing is marked. Returns 0, or
 * -errno + message; samples that weren't added are kept for the next call.
 */
_must_use_ int collect_flush(struct collect *c, bool last);

/*
 * Called when the kernel programs' rings were read but collect_flush() is put off: asks processes
 * for names of threads and for code's texts and modules, because the processes may end before the
 * next collect_flush().
 */
void collect_ask(struct collect *c);

/*
 * Has anything come since the last call, other than samples whose process, thread and code are
 * known?
 */
bool collect_news(struct collect *c);

/*
 * collect_bytes(): bytes of the profile's tables and of code objects. collect_kept_bytes(): bytes
 * of what is kept of files and of code made at run time, such as names.
 */
size_t collect_bytes(const struct collect *c);
size_t collect_kept_bytes(const struct collect *c);

/*
 * To be called while the profile is rebased (gets new ids, profile/remake/rebase.h): replaces the
 * ids of everything that later samples may refer to by the new ids. Samples that wait are added
 * afterwards. 0 or -ENOMEM + message.
 */
struct rebase;
_must_use_ int collect_rebase(struct collect *c, struct rebase *r);

/*
 * The kernel programs were told to send everything again (sampler_send_again()): frees the code
 * objects that haven't come since the last call.
 */
void collect_next_round(struct collect *c);

/*
 * Reads the names of threads that have appeared since their process was last asked for names.
 * Samples that were added before also get these names. To be called before the profile is handed
 * over.
 */
void collect_name_threads(struct collect *c);

/*
 * Makes the sample that the record of a wait would become, without adding it: for waits that aren't
 * over. The profile may get a new label set. Returns 1; 0 if the wait's process or stack isn't
 * known yet, or if the process isn't wanted; -ENOMEM + message.
 */
_must_use_ int collect_peek_wait(struct collect *c, const struct rec_wait *rec,
				 struct profile_sample *ret);

/*
 * Returns when (CLOCK_MONOTONIC) collect_flush() has something to do even without new records;
 * UINT64_MAX: it has nothing to do.
 */
uint64_t collect_due_ns(const struct collect *c);

/*
 * Returns the profile's id of a stack that has only the kernel frames @pc[@n], innermost first: for
 * a thread whose process can't be read.
 */
uint32_t collect_kernel_stack(struct collect *c, const __u64 *pc, size_t n);

/*
 * These functions are for callers that walk stacks themselves. collect_want_rows() asks for the
 * unwind rows of the code at @pc; @version is the number of the reading of the process's mappings
 * (a space) in which @pc lies. It returns true if these rows may be made. collect_await() waits
 * until the rows are made. With them the walk gets further, and may need more rows.
 */
bool collect_want_rows(struct collect *c, uint32_t version, uint64_t pc);
void collect_await(struct collect *c);

/* Tells whether unwind rows that some stack needs are being made, or completed. */
bool collect_rows_coming(const struct collect *c);

/*
 * Returns a descriptor that is readable when there is a reason to call collect_flush() before the
 * rings are read next; -1: there is none.
 */
int collect_fd(const struct collect *c);

struct collect_mapping {
	uint32_t tgid;
	uint64_t addr, len, offset, dev, ino;
	const char *path;
	uint64_t time_ns;
	bool gone; /* the process has ended or exec'ed since the mapping was made */
};

/*
 * Events that perf reports: a process mapped an executable file or made memory executable
 * (collect_mapped()); a thread ended; a thread's name changed; an execve replaced the program of a
 * process. Records from before and after an event may come later than the event.
 */
void collect_mapped(struct collect *c, const struct collect_mapping *m);
void collect_exit(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns);
void collect_comm(struct collect *c, uint32_t tgid, uint32_t tid, const char *comm);
void collect_exec(struct collect *c, uint32_t tgid, uint64_t time_ns);

/* Process @tgid, the command of `krait record --`, has just exec'ed. */
void collect_started(struct collect *c, uint32_t tgid);

/*
 * Events that perf reports were lost: examines processes again that may have become Python since
 * they were examined.
 */
void collect_look_again(struct collect *c);

/*
 * Examines process @tgid now, before it is sampled, and tells the kernel programs. 1: Python that
 * can be profiled. 0: not Python. -ENOTSUP + message: Python that krait doesn't support. -errno:
 * the process is gone, or krait lacks the rights.
 */
_must_use_ int collect_examine(struct collect *c, pid_t tgid);

/*
 * Returns the name of the Python for which collect_examine() last returned -ENOTSUP, such as "PyPy
 * 3.11".
 */
const char *collect_not_understood(const struct collect *c);
/*
 * Returns the address of the GIL of the PyPy for which collect_examine() last returned -ENOTSUP; 0:
 * it isn't a PyPy whose frames krait may be able to read (python/pypy/pypy.h).
 */
uint64_t collect_pypy_gil(const struct collect *c);

/*
 * Sets what mark `[unsupported: ...]` says in stacks of process @key (records.h), which a REC_PROC
 * has introduced.
 */
void collect_set_unsupported(struct collect *c, const struct proc_key *key, const char *what);

/*
 * To be called before the first sample: gives the kernel programs the mappings of the processes
 * that were examined, and the unwind rows of the files in them. Stops at @until_ns
 * (CLOCK_MONOTONIC). What isn't ready by then is made when a stack needs it.
 */
void collect_prepare(struct collect *c, uint64_t until_ns);

/* Sampling begins: @start_ns (CLOCK_MONOTONIC) becomes time 0 of the profile. */
void collect_begin(struct collect *c, uint64_t start_ns);

/*
 * Executable file @fd is going to be run by a fork of krait. If it holds an interpreter, the kernel
 * programs know the process from its first sample on. Until the fork execs, they ignore the
 * process. @path is for messages. 0 or -errno; -ENOENT: what the file holds can't be known before
 * it runs.
 */
_must_use_ int collect_teach(struct collect *c, int fd, const char *path);

/*
 * krait forgets a stack when many newer stacks have come (code/recent.h). Returns true if krait
 * could soon forget stacks of threads that still wait. In that case the caller calls
 * collect_keep_stack() for these stacks. After that, this function returns false until many more
 * stacks have come.
 */
bool collect_keeps_due(struct collect *c);
/* Notes that samples with stack @id are still to come, so that krait doesn't forget the stack. */
void collect_keep_stack(struct collect *c, uint64_t id);

void collect_stats(struct collect *c, struct collect_stats *ret);

#endif
