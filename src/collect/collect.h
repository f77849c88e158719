/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records in, profile out. Keeps what is known of each process image: its interpreter, the code
 * objects that were copied, its threads and their labels; names each distinct stack once and adds
 * samples to the profile. Knows the records of abi/records.h, not where they come from.
 */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

#include <sys/types.h>
#include "collect/common/config.h"
#include "collect/common/stats.h"

struct collect;

/* NULL on out of memory. @config is copied, what it points to must stay. */
struct collect *collect_new(const struct collect_config *config);

/*
 * Waits for what the next recording has use for, as long as collect_config.wait allows. False: a
 * thread still works on a file, or hangs in it. Then what it reads stays in memory,
 * collect_config.cache is never freed, and the process is ended by _exit().
 */
bool collect_free(struct collect *c);

/* One record of @n bytes; a broken one is counted. */
void collect_record(struct collect *c, const void *data, size_t n);

/*
 * After each drain: adds the samples whose stacks are complete to the profile. @last: nothing more
 * comes, what is missing is marked. 0 or -errno + message; what couldn't be added then is kept for
 * the next time.
 */
_must_use_ int collect_flush(struct collect *c, bool last);

/*
 * Has anything come since the last call, other than samples of known processes, threads and code?
 */
bool collect_news(struct collect *c);

/*
 * Bytes of the profile's tables and of code objects; bytes of names, of files and of code made at
 * run time.
 */
size_t collect_bytes(const struct collect *c);
size_t collect_kept_bytes(const struct collect *c);

/*
 * The profile was condensed (profile/condense.h), and the kernel programs were told to send
 * everything again (sampler_send_again()). Takes the new ids, and gives up the code objects that
 * didn't come since the last call. 0 or -ENOMEM + message.
 */
struct condense;
_must_use_ int collect_condense(struct collect *c, struct condense *condense);

/* A flush then has more to do, CLOCK_MONOTONIC; UINT64_MAX: it doesn't. */
uint64_t collect_due_ns(const struct collect *c);

/*
 * The profile's stack of kernel frames alone, innermost first: for a thread whose process can't
 * be read.
 */
uint32_t collect_kernel_stack(struct collect *c, const __u64 *pc, size_t n);

/*
 * For callers that walk stacks themselves: asks for the unwind rows of the code at @pc in
 * mappings @version. Returns true if rows may come. They are there when collect_await() returns;
 * then there may be more to ask for.
 */
bool collect_want_rows(struct collect *c, uint32_t version, uint64_t pc);
void collect_await(struct collect *c);

/* Rows that some stack wanted, or the second step of such a file, are being made. */
bool collect_rows_coming(const struct collect *c);

/* Readable when there is a reason to flush before the next drain; -1: never. */
int collect_fd(const struct collect *c);

struct collect_mapping {
	uint32_t tgid;
	uint64_t addr, len, offset, dev, ino;
	const char *path;
	uint64_t time_ns;
	bool gone; /* the image that mapped it has ended since */
};

/*
 * The side band says: a process mapped an executable file or made memory executable; a thread
 * ended; its name changed; an execve replaced an image. Records of the time before and after may
 * come later.
 */
void collect_mapped(struct collect *c, const struct collect_mapping *m);
void collect_exit(struct collect *c, uint32_t tgid, uint32_t tid, uint64_t time_ns);
void collect_comm(struct collect *c, uint32_t tgid, uint32_t tid, const char *comm);
void collect_exec(struct collect *c, uint32_t tgid, uint64_t time_ns);

/* The command of `krait record --`, process @tgid, has replaced its image just now. */
void collect_started(struct collect *c, uint32_t tgid);

/* Side band events were lost: processes that may have become Python are examined again. */
void collect_look_again(struct collect *c);

/*
 * Looks at process @tgid now and tells the kernel programs, before it is sampled. 1: Python that
 * can be profiled, 0: not Python, -ENOTSUP with a message: not understood, -errno: gone, no rights.
 */
_must_use_ int collect_examine(struct collect *c, pid_t tgid);

/*
 * Before the first sample: gives the kernel programs the mappings of the examined processes, and
 * the unwind rows of the files in them, until @until_ns (CLOCK_MONOTONIC). What isn't ready by
 * then is made when a stack needs it.
 */
void collect_prepare(struct collect *c, uint64_t until_ns);

/* Now, @start_ns of CLOCK_MONOTONIC, is the profile's time 0: no sample has been taken yet. */
void collect_begin(struct collect *c, uint64_t start_ns);

/*
 * Executable file @fd is going to be run by a fork of krait: if it holds an interpreter the kernel
 * programs know it from its first sample on; until then they ignore krait's own. @path is for
 * messages. 0; -errno, -ENOENT where that can't be said beforehand.
 */
_must_use_ int collect_teach(struct collect *c, int fd, const char *path);

void collect_stats(struct collect *c, struct collect_stats *ret);

#endif
