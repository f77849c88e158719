/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel program's walkers (bpf/), compiled for user space. With process_vm_readv() they read
 * the stacks of threads that don't run, and produce the same records as for a sample. Each thread
 * of krait runs one walk at a time.
 */
#ifndef DUMP_WALKER_H
#define DUMP_WALKER_H

#include <sys/types.h>

#include "base/util.h"
#include "records.h"

struct walker;

/* Where the rows are that native stacks are unwound with. NULL: there is none of that number. */
struct walker_rows {
	const struct unwind_chunk *(*chunk)(void *ctx, uint32_t number);
	struct unwind_table *(*table)(void *ctx, uint32_t number);
	const struct unwind_rule *(*rule)(void *ctx, uint32_t number);
};

struct walker_config {
	const struct py_layout *(*layout)(void *ctx, uint16_t index);
	/* gets a record of @n bytes, which is valid during the call */
	void (*record)(void *ctx, const void *data, size_t n);
	void *ctx;
	const struct walker_rows *rows;
	bool leaf; /* native frames are unwound only up to the innermost Python frame */
	/* stacks have the addresses of instructions, not only of functions, so lines are shown */
	bool instructions;
};

struct walker *walker_new(const struct walker_config *config); /* returns NULL if memory runs out */
void walker_free(struct walker *w);

struct walker_thread {
	struct proc_key proc;
	/* the interpreter of the thread; NULL: the thread isn't Python */
	const struct py_where *where;
	/* the thread's process isn't Python either, so no Python frames are missing */
	bool other;
	uint64_t tp; /* the thread's thread pointer */
	/*
	 * Address of the pointer to the thread's PyThreadState; 0: look for the thread state as a
	 * sample does.
	 */
	uint64_t slot;
	const struct unwind_space *space; /* the process's mappings; NULL: none are known */
};

/* Registers of a blocked thread, by their DWARF numbers; 0: not known. */
#define WALKER_REGS 32
struct walker_regs {
	uint64_t pc, reg[WALKER_REGS];
};

/* Takes the registers from the kernel's record of a thread. */
struct rec_task;
void walker_regs_of(const struct rec_task *rec, struct walker_regs *ret);
/* The stack pointer. */
uint64_t walker_sp(const struct walker_regs *regs);

/* Tells whether the thread has Python frames in interpreter .where, which must not be NULL. */
bool walker_runs(struct walker *w, const struct walker_thread *t);

/* Walks the thread's Python frames. *@hash differs whenever the frames differ. */
enum walk_outcome walker_python(struct walker *w, const struct walker_thread *t, uint64_t *hash);

/*
 * What the thread has to do with the GIL. To be called after walker_python() of the same thread.
 * @call: the arguments of the futex call that it is in, NULL: none; @sp: its stack pointer.
 * *holder: if it waits, the address of the thread state that holds the GIL; 0: nobody holds it, or
 * not known.
 */
enum gil_state walker_gil(struct walker *w, const struct walker_thread *t, const uint64_t *call,
			  uint64_t sp, uint64_t *holder);

/*
 * Unwinds the thread's native frames. To be called after walker_python() of the same thread.
 * @kernel: kernel addresses, innermost first.
 */
enum native_outcome walker_native(struct walker *w, const struct walker_thread *t,
				  const struct walker_regs *regs, const __u64 *kernel,
				  size_t n_kernel);

/* The address in the outermost native frame found, where unwinding ended; 0: no frame was found. */
uint64_t walker_end(const struct walker *w);

/* Hands on, as records, the stack that was walked last. *@ret: a sample of it. */
void walker_sample(struct walker *w, pid_t tid, uint64_t time_ns, struct rec_sample *ret);

/* As walker_sample(), and hands the sample on too. */
void walker_send(struct walker *w, pid_t tid, uint64_t time_ns);

#endif
