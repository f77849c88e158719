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
#include "dump/store.h"
#include "records.h"

struct walker;

struct walker_config {
	const struct py_layout *(*layout)(void *ctx, uint16_t index);
	/* gets a record of @n bytes, which is valid during the call */
	void (*record)(void *ctx, const void *data, size_t n);
	void *ctx;
	const struct store *store;
	bool leaf; /* native frames are unwound only up to the innermost Python frame */
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
	uint32_t space; /* slot of the process's mappings in the store; 0: none */
};

/* Registers of a blocked thread, by their DWARF numbers; 0: not known. */
#define WALKER_REGS 32
struct walker_regs {
	uint64_t pc, reg[WALKER_REGS];
};

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

/* Hands on, as records, what was walked last, and a sample of that. */
void walker_send(struct walker *w, pid_t tid, uint64_t time_ns);

#endif
