/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walkers of the kernel programs (bpf/) read stacks. Here they are compiled for user space: by
 * process_vm_readv() they read the stacks of threads that don't run. They make the same records as
 * for a sample. A thread of krait can run only one walk at a time.
 */
#ifndef DUMP_WALKER_H
#define DUMP_WALKER_H

#include <sys/types.h>

#include "base/util.h"
#include "records.h"

struct walker;

/*
 * Gives the walkers the unwind rows of native stacks (how to find a frame's caller). Each function
 * returns NULL if there is no chunk, table or rule with that number.
 */
struct walker_rows {
	const struct unwind_chunk *(*chunk)(void *ctx, uint32_t number);
	struct unwind_table *(*table)(void *ctx, uint32_t number);
	const struct unwind_rule *(*rule)(void *ctx, uint32_t number);
};

struct walker_config {
	const struct py_layout *(*layout)(void *ctx, uint16_t index);
	/* called with each record, which has @n bytes and is valid during the call */
	void (*record)(void *ctx, const void *data, size_t n);
	void *ctx;
	const struct walker_rows *rows;
	/* of the native frames, unwind only those that the innermost Python function called */
	bool leaf;
	/*
	 * native frames get the addresses of instructions, not only those of functions, so that
	 * lines can be shown
	 */
	bool instructions;
};

/* returns NULL if there is no memory */
struct walker *walker_new(const struct walker_config *config);
void walker_free(struct walker *w);

struct walker_thread {
	struct proc_key proc;
	/* the interpreter that runs the thread; NULL: the thread isn't Python */
	const struct py_where *where;
	/* the process isn't Python, so a thread without Python frames is no failure */
	bool other;
	uint64_t tp; /* the thread's thread pointer (register fs or TPIDR_EL0) */
	/*
	 * Address of a pointer to the thread's PyThreadState. 0: the walker finds the thread state
	 * as it does for a sample.
	 */
	uint64_t slot;
	const struct unwind_space *space; /* the process's mappings; NULL: they aren't known */
};

/* Registers of a blocked thread, indexed by DWARF number. A register that is 0 isn't known. */
#define WALKER_REGS 32
struct walker_regs {
	uint64_t pc, reg[WALKER_REGS];
};

/* Sets the registers from the kernel program's record of a thread. */
struct rec_task;
void walker_regs_of(const struct rec_task *rec, struct walker_regs *ret);
/* Returns the stack pointer that is in @regs. */
uint64_t walker_sp(const struct walker_regs *regs);

/* Tells whether the thread has Python frames in interpreter .where, which must not be NULL. */
bool walker_runs(struct walker *w, const struct walker_thread *t);

/*
 * Walks the thread's Python frames. *hash: a hash over the frames, so other frames give another
 * hash; it isn't set if .where is NULL.
 */
enum walk_outcome walker_python(struct walker *w, const struct walker_thread *t, uint64_t *hash);

/*
 * Takes @n frames (at most ABI_MAX_FRAMES) that something else than a walk has read, the innermost
 * first, and @outcome, how their reading ended. Their code objects must have been sent already.
 * Returns a hash over the frames.
 */
uint64_t walker_take(struct walker *w, const struct walker_thread *t,
		     const struct wire_frame *frames, size_t n, enum walk_outcome outcome);

/*
 * Tells what the thread has to do with the GIL. Call it after walker_python() for the same thread.
 * @call: the arguments of the futex call in which the thread is; NULL: it is in no futex call. @sp:
 * its stack pointer. *holder: if the thread waits for the GIL, the address of the thread state that
 * holds the GIL; 0: no thread state holds it, or it isn't known which.
 */
enum gil_state walker_gil(struct walker *w, const struct walker_thread *t, const uint64_t *call,
			  uint64_t sp, uint64_t *holder);

/*
 * Unwinds the thread's native frames, starting from its registers @regs (NULL: don't unwind). Call
 * it after walker_python() for the same thread. @kernel: addresses of the kernel's frames,
 * innermost first.
 */
enum native_outcome walker_native(struct walker *w, const struct walker_thread *t,
				  const struct walker_regs *regs, const __u64 *kernel,
				  size_t n_kernel);

/*
 * Returns an address in the outermost native frame that was found: there the unwinding ended. 0: no
 * frame was found.
 */
uint64_t walker_end(const struct walker *w);

/* Sends the stack that was read last, as records. *ret: a sample with that stack. */
void walker_sample(struct walker *w, pid_t tid, uint64_t time_ns, struct rec_sample *ret);

/* Sends the stack that was read last, and a sample with that stack. */
void walker_send(struct walker *w, pid_t tid, uint64_t time_ns);

#endif
