/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What worker threads do with files, such as compiling unwind rows and reading symbols; see
 * native_job.h.
 */
#include "collect/native/native_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "base/nomem.h"
#include "base/work/slice.h"
#include "symbol/elf/dwarf_lines.h"
#include "symbol/elf/elf_names.h"
#include "symbol/elf/function_parts.h"
#include "symbol/kernel_names.h"
#include "symbol/madecode/gdb_jit.h"
#include "symbol/pytables/method_names.h"

/*
 * Limits of the work on one file, which a worker's thread does while other files wait. torch (300
 * MB) takes 1.5 s for unwind rows and 0.7 s for names. As long as krait looks for the list of code
 * registered for gdb, all files of a process wait.
 */
#define ROWS_WORK  (2000 * SLICE_MS)
#define NAMES_WORK (4000 * SLICE_MS)
#define LIST_WORK  (100 * SLICE_MS)

static void note(struct job *j, int r)
{
	j->r = r;
	j->why = r ? strdup(err_msg()) : NULL;
	j->no_memory |= err_memory_failed();
}

static int nobody_waits(void)
{
	return err_set(-ECANCELED, "the recording ended before this work was done");
}

/*
 * Fills the kernel's tables with the unwind rows, in the job's thread. The tables belong to the
 * sampler, which may be closed while a job still hangs. Once the sampler is closed, worker_enter()
 * returns false.
 */
static int fill(const struct job *j)
{
	int r;

	if (!j->config->unwind->fills_aside)
		return 0;
	if (!worker_enter())
		return nobody_waits();
	r = native_rows_fill(j->config, j->file, &j->rows);
	worker_leave();
	return r;
}

void job_compile_rows(struct worker_job *job)
{
	struct job *j = (struct job *)job;
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	struct slice slice;
	int r;

	worker_step("unwind tables");
	slice_begin(&slice, ROWS_WORK);
	slice_limit_memory(&slice, memory_for_job(j->config));
	r = native_rows_compile(j->file, j->config->cache, &j->rows);
	slice_end(&slice);
	j->cut = slice.cut;
	j->compile_ns = clock_ns(CLOCK_MONOTONIC) - start;
	note(j, r ? r : fill(j));
}

/*
 * Loads unwind rows from the cache. An error is ignored: the rows will be compiled once a stack
 * needs them.
 */
void job_load_rows(struct worker_job *job)
{
	struct job *j = (struct job *)job;

	worker_step("unwind tables");
	note(j, native_rows_load(j->file, j->config->cache, &j->rows));
	if (!j->r)
		note(j, fill(j));
}

void job_prove_rows(struct worker_job *job)
{
	struct job *j = (struct job *)job;
	int r;

	worker_step("unwind tables");
	r = native_rows_prove(j->file, &j->rows);
	note(j, r ? r : fill(j));
}

/*
 * Writes unwind rows to the cache, unless jobs were cancelled, because in that case the rows may be
 * incomplete.
 */
void job_keep_rows(struct worker_job *job)
{
	struct job *j = (struct job *)job;

	worker_step("unwind tables for the next recording");
	note(j, worker_cancelled() ? nobody_waits()
				   : native_rows_keep(j->file, j->config->cache, &j->rows));
}

static int read_names(struct job *j, int root)
{
	_cleanup_elf_ struct elf_file *elf = NULL;
	const struct native_file *f = j->file;

	worker_step("names");
	if (elf_file_open(f->fd, f->path, &elf) || method_names_open(elf, &j->methods))
		j->methods = NULL;
	if (elf && function_parts_open(elf, &j->parts))
		log_info("%s: %s", f->path, err_about(err_msg(), f->path));
	if (j->config->native_lines && dwarf_lines_open(f->fd, f->path, root, &j->lines)) {
		log_info("%s: no lines: %s", f->path, err_about(err_msg(), f->path));
		j->lines = NULL;
	}
	/* reading the names is the last step, so its error is the job's error */
	return elf_names_open(f->fd, f->path, root, &j->names);
}

void job_drop_names(struct job *j)
{
	elf_names_free(TAKE_PTR(j->names));
	dwarf_file_free(TAKE_PTR(j->lines));
	method_names_free(TAKE_PTR(j->methods));
	function_parts_free(TAKE_PTR(j->parts));
}

void job_open_names(struct worker_job *job)
{
	_cleanup_close_ int own = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct job *j = (struct job *)job;
	struct slice slice;

	slice_begin(&slice, NAMES_WORK);
	slice_limit_memory(&slice, memory_for_job(j->config));
	note(j, read_names(j, j->file->root < 0 ? own : j->file->root));
	slice_end(&slice);
	j->cut = slice.cut;
	if (!native_file_changed(j->file))
		return;
	job_drop_names(j);
	free(j->why);
	note(j, err_set(-ESTALE, "the file changed while it was read"));
}

void job_find_list(struct worker_job *job)
{
	const char *const name = GDB_JIT_SYMBOL;
	_cleanup_elf_ struct elf_file *elf = NULL;
	struct job *j = (struct job *)job;
	struct elf_symbol sym = {};
	struct slice slice;

	worker_step("list of code made at run time");
	slice_begin(&slice, LIST_WORK);
	slice_limit_memory(&slice, memory_for_job(j->config));
	note(j, elf_file_open(j->file->fd, j->file->path, &elf));
	if (!j->r && elf_file_find(elf, &name, &sym, 1))
		j->list = sym.value;
	slice_end(&slice);
	j->cut = slice.cut;
}

void job_read_kernel(struct worker_job *job)
{
	struct job *j = (struct job *)job;

	worker_step("names");
	note(j, kernel_names_open(j->config->kallsyms, &j->kernel));
}
