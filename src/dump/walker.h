/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel program's walkers (bpf/), which read stacks, compiled for user space. With
 * process_vm_readv() they read threads that don't run, and make the same records as of a sample. A
 * thread of krait can run only one walk at a time.
 */
#ifndef DUMP_WALKER_H
#define DUMP_WALKER_H

#include <sys/types.h>

#include "base/util.h"
#include "records.h"

struct walker;

/*
 * How the walkers get the unwind rows of native stacks (how to find a frame's caller). Each
 * function returns NULL if there is no chunk, table or rule with that number.
 */
struct walker_rows {
	const struct unwind_chunk *(*chunk)(void *ctx, uint32_t number);
	struct unwind_table *(*table)(void *ctx, uint32_t number);
	const struct unwind_rule *(*rule)(void *ctx, uint32_t number);
};

struct walker_config {
	const struct py_layout *(*layout)(void *ctx, uint16_t index);
	/* is called with each record, of @n bytes; the record is valid during the call */
	void (*record)(void *ctx, const void *data, size_t n);
	void *ctx;
	const struct walker_rows *rows;
	/* only those native frames are unwound that the innermost Python function called */
	bool leaf;
	/*
	 * native frames have the addresses of instructions, not only of functions, so that lines
	 * can be shown
	 */
	bool instructions;
};

struct walker *walker_new(const struct walker_config *config); /* returns NULL if memory runs out */
void walker_free(struct walker *w);

struct walker_thread {
	struct proc_key proc;
	/* the interpreter of the thread; NULL: the thread isn't Python */
	const struct py_where *where;
	/* the process isn't Python, so it is no failure if the thread has no Python frames */
	bool other;
	uint64_t tp; /* the thread's thread pointer */
	/*
	 * Address of the pointer to the thread's PyThreadState; 0: the walker finds the thread
	 * state as for a sample.
	 */
	uint64_t slot;
	const struct unwind_space *space; /* the process's mappings; NULL: none are known */
};

/* Registers of a blocked thread, by their DWARF numbers; 0: not known. */
#define WALKER_REGS 32
struct walker_regs {
	uint64_t pc, reg[WALKER_REGS];
};

/* walker_regs_of() takes the registers from the kernel's record of a thread. */
struct rec_task;
void walker_regs_of(const struct rec_task *rec, struct walker_regs *ret);
/* Returns the stack pointer. */
uint64_t walker_sp(const struct walker_regs *regs);

/* Tells whether the thread has Python frames in interpreter .where, which must not be NULL. */
bool walker_runs(struct walker *w, const struct walker_thread *t);

/*
 * Walks the thread's Python frames. *hash: a hash over the frames, which differs if the frames
 * differ; not set if .where is NULL.
 */
enum walk_outcome walker_python(struct walker *w, const struct walker_thread *t, uint64_t *hash);

/*
 * Returns what the thread has to do with the GIL. To be called after walker_python() of the same
 * thread. @call: the arguments of the futex call in which the thread is; NULL: the thread is in no
 * futex call. @sp: the thread's stack pointer. *holder: if the thread waits for the GIL, the
 * address of the thread state that holds the GIL; 0: no thread state holds it, or that isn't known.
 */
enum gil_state walker_gil(struct walker *w, const struct walker_thread *t, const uint64_t *call,
			  uint64_t sp, uint64_t *holder);

/*
 * Unwinds the thread's native frames from its registers @regs (NULL: don't unwind). To be called
 * after walker_python() of the same thread. @kernel: addresses of the kernel's frames, innermost
 * first.
 */
enum native_outcome walker_native(struct walker *w, const struct walker_thread *t,
				  const struct walker_regs *regs, const __u64 *kernel,
				  size_t n_kernel);

/*
 * Returns the address in the outermost native frame that was found, where unwinding ended; 0: no
 * frame was found.
 */
uint64_t walker_end(const struct walker *w);

/* Sends the stack that was walked last, as records. *ret: a sample with that stack. */
void walker_sample(struct walker *w, pid_t tid, uint64_t time_ns, struct rec_sample *ret);

/* Does what walker_sample() does, and sends the sample too. */
void walker_send(struct walker *w, pid_t tid, uint64_t time_ns);

#endif
