/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel program's walkers (bpf/), compiled for user space: stacks of threads that don't run are read
 * out of their processes as a sample of them would be, with process_vm_readv(), and leave here as the
 * same records. One walk at a time in each thread of krait.
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
	void (*record)(void *ctx, const void *data, size_t n); /* valid during the call */
	void *ctx;
	const struct store *store;
	bool leaf; /* native frames up to the innermost Python frame's only */
};

struct walker *walker_new(const struct walker_config *config); /* NULL: out of memory */
void walker_free(struct walker *w);

struct walker_thread {
	struct proc_key proc;
	const struct py_where *where; /* NULL: it isn't Python */
	bool other;		      /* nor is its process: nothing is missing then */
	uint64_t tp;		      /* thread pointer */
	uint64_t
		slot; /* address of the pointer to its thread state; 0: look for it as a sample does */
	uint32_t space; /* slot of its mappings in the store; 0: none */
};

/* Registers of a blocked thread, by DWARF number; those that aren't known are 0. */
#define WALKER_REGS 32
struct walker_regs {
	uint64_t pc, reg[WALKER_REGS];
};

/* Has it Python frames in that interpreter? .where isn't NULL. */
bool walker_runs(struct walker *w, const struct walker_thread *t);

/* Walks its Python frames: outcome, and a hash that differs when they do. */
enum walk_outcome walker_python(struct walker *w, const struct walker_thread *t, uint64_t *hash);

/*
 * What it has to do with the GIL; after walker_python() of the same thread. @call: the arguments of the
 * futex call that it is in, NULL: none; @sp: its stack pointer. *holder: if it waits, the address of the
 * thread state that holds it, 0 = nobody does, or not known.
 */
enum gil_state walker_gil(struct walker *w, const struct walker_thread *t, const uint64_t *call,
			  uint64_t sp, uint64_t *holder);

/* Its native frames; after walker_python() of the same thread. @kernel: addresses, innermost first. */
enum native_outcome walker_native(struct walker *w, const struct walker_thread *t,
				  const struct walker_regs *regs, const __u64 *kernel,
				  size_t n_kernel);

/* Where unwinding ended: the address in the outermost frame it found; 0: it found none. */
uint64_t walker_end(const struct walker *w);

/* Hands on what was walked last, as records, and its sample. */
void walker_send(struct walker *w, pid_t tid, uint64_t time_ns);

#endif
