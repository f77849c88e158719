/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Jobs of native_work.c: what a thread does with one file. A job reads only those members of a
 * native_file that never change (.fd, .root, .path, .base, .table, .version); other members that
 * the job needs are copied (native_rows.interpreter).
 */
#ifndef COLLECT_NATIVE_NATIVE_JOB_H
#define COLLECT_NATIVE_NATIVE_JOB_H

#include "base/work/worker.h"
#include "collect/native/native.h"

struct job;

/* One kind of work on a file that a worker thread does. */
struct step {
	void (*run)(struct worker_job *job); /* does the work, in the worker's thread */
	/*
	 * Takes over the results, on the main thread. Returns the job's next step; NULL: there is
	 * none.
	 */
	const struct step *(*done)(struct collect *c, struct job *j);
	enum {
		FOR_STACKS, /* stacks wait for the result */
		/* stacks don't wait for the result, but this recording and the next one use it */
		FOR_BOTH,
		FOR_NEXT /* only the next recording uses the result */
	} use;
};

struct job {
	struct worker_job job; /* must be the first member, because workers know only this member */
	const struct step *step;
	struct native_file *file;
	const struct collect_config *config;
	struct native_rows rows;
	struct elf_names *names;
	struct method_names *methods;
	struct function_parts *parts;
	struct dwarf_file *lines;
	struct kernel_names *kernel;
	uint64_t list;
	uint64_t asked_ns, compile_ns;
	/*
	 * .cut: the work ended early, because its limit (the slice) was reached; .counted:
	 * stats.tables_cut has counted this
	 */
	bool cut, counted;
	int r;
	char *why; /* text of the error .r */
	/* memory was lacking for a part of the result; the other parts are used */
	bool no_memory;
};

/* native_job.c: the work of each kind of step; runs in a worker's thread. */
void job_compile_rows(struct worker_job *job);
void job_load_rows(struct worker_job *job);
void job_prove_rows(struct worker_job *job);
void job_keep_rows(struct worker_job *job);
void job_open_names(struct worker_job *job);
void job_find_list(struct worker_job *job);
void job_read_kernel(struct worker_job *job);
/* Frees the names that job_open_names() has read. */
void job_drop_names(struct job *j);

#endif
