/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives threads the work that takes long for a large file, and takes the results: unwind rows and
 * symbols. A job puts rows into the kernel's maps itself. All other results reach the collector
 * when the job is taken back.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "collect/native/native_job.h"
#include "symbol/elf/elf_names.h"
#include "symbol/elf/function_parts.h"
#include "symbol/kernel_names.h"
#include "symbol/pytables/method_names.h"

/* Gives a thread a job. False: out of memory; the next collect_flush() fails and says so. */
static bool give(struct collect *c, struct native_file *f, const struct step *step, bool urgent)
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j) {
		c->no_memory = true;
		return false;
	}
	j->file = f;
	j->rows.interpreter = f && f->interpreter;
	j->config = &c->config;
	j->asked_ns = clock_ns(CLOCK_MONOTONIC);
	j->step = step;
	j->job.run = step->run;
	j->job.group = f ? f->dev : 0;
	worker_give(c->natives->worker, &j->job, urgent);
	return true;
}

static void give_step(struct collect *c, struct job *j, const struct step *step)
{
	j->step = step;
	j->job.run = step->run;
	worker_give(c->natives->worker, &j->job, false);
}

static const struct step *take_kept(struct collect *c, struct job *j)
{
	(void)c;
	if (j->r)
		log_info("%s: can't save its unwind tables in the cache: %s", j->file->path,
			 j->why ? j->why : "");
	return NULL;
}

static const struct step keep = {job_keep_rows, take_kept, FOR_NEXT};

static const struct step *take_proven(struct collect *c, struct job *j);

static const struct step prove = {job_prove_rows, take_proven, FOR_BOTH};

/*
 * Returns true if the thread that made the unwind rows found out only afterwards that the file
 * holds CPython. In that case the rows are made again.
 */
static bool came_too_early(struct collect *c, struct job *j)
{
	if (j->rows.interpreter || !j->file->interpreter || j->file->rows != ROWS_THERE)
		return false;
	native_rows_again(c, j->file);
	return true;
}

/*
 * Chooses the job's next step after its unwind rows are in use: to complete the rows, or to write
 * them to disk.
 */
static const struct step *after_rows(struct collect *c, struct job *j)
{
	if (j->r || came_too_early(c, j))
		return NULL;
	if (j->rows.partial) {
		j->file->proving = true;
		return &prove;
	}
	return j->config->cache && j->rows.compiled && !j->cut ? &keep : NULL;
}

static const struct step *take_proven(struct collect *c, struct job *j)
{
	native_rows_take_proven(c, j->file, &j->rows, j->r, j->why ? j->why : "");
	j->file->proving = false;
	return after_rows(c, j);
}

static void take_rows(struct collect *c, struct job *j)
{
	native_rows_take(c, j->file, &j->rows, j->r, j->why ? j->why : "");
	log_debug("%s: its unwind tables (%zu rows) were ready %llu ms after they were asked for; "
		  "making them took %llu ms",
		  j->file->path, j->rows.rows.rows.n,
		  (unsigned long long)((clock_ns(CLOCK_MONOTONIC) - j->asked_ns) / NSEC_PER_MSEC),
		  (unsigned long long)(j->compile_ns / NSEC_PER_MSEC));
}

static const struct step *take_compiled(struct collect *c, struct job *j)
{
	take_rows(c, j);
	return after_rows(c, j);
}

static const struct step *take_cached(struct collect *c, struct job *j)
{
	if (j->r != -ENOENT) {
		take_rows(c, j);
		(void)came_too_early(c, j);
		return NULL;
	}
	j->file->uncached = true;
	j->file->rows = ROWS_NONE;
	return NULL;
}

static const struct step *take_names(struct collect *c, struct job *j)
{
	struct native_file *f = j->file;

	if (j->r)
		log_info("%s: no symbols: %s", f->path, err_about(j->why ? j->why : "", f->path));
	f->names = TAKE_PTR(j->names);
	f->methods = TAKE_PTR(j->methods);
	f->parts = TAKE_PTR(j->parts);
	f->lines = TAKE_PTR(j->lines);
	f->named = NAMES_TRIED;
	known_natives_forget(c);
	return NULL;
}

static const struct step *take_list(struct collect *c, struct job *j)
{
	(void)c;
	j->file->list = j->list;
	j->file->list_found = LIST_TRIED;
	return NULL;
}

static const struct step *take_kernel(struct collect *c, struct job *j)
{
	kernel_take(c, TAKE_PTR(j->kernel), j->why ? j->why : "");
	return NULL;
}

void native_work_rows(struct collect *c, struct native_file *f)
{
	static const struct step compile = {job_compile_rows, take_compiled, FOR_STACKS};

	if (!give(c, f, &compile, true))
		f->rows = ROWS_NONE;
}

void native_work_cached_rows(struct collect *c, struct native_file *f)
{
	static const struct step load = {job_load_rows, take_cached, FOR_STACKS};

	if (!give(c, f, &load, true))
		f->rows = ROWS_NONE;
}

void native_work_names(struct collect *c, struct native_file *f)
{
	static const struct step names = {job_open_names, take_names, FOR_STACKS};

	f->named = f->fd >= 0 && give(c, f, &names, false) ? NAMES_ASKED : NAMES_TRIED;
}

void native_work_list(struct collect *c, struct native_file *f)
{
	static const struct step list = {job_find_list, take_list, FOR_STACKS};

	f->list_found = f->fd >= 0 && give(c, f, &list, false) ? LIST_ASKED : LIST_TRIED;
}

void native_work_kernel(struct collect *c)
{
	static const struct step kernel = {job_read_kernel, take_kernel, FOR_STACKS};
	struct kernel_names *names = NULL;
	int r;

	if (c->natives->worker && give(c, NULL, &kernel, false))
		return;
	r = kernel_names_open(c->config.kallsyms, &names);
	kernel_take(c, names, r ? err_msg() : "");
}

static void job_free(struct job *j)
{
	native_rows_fini(&j->rows);
	job_drop_names(j);
	kernel_names_free(j->kernel);
	free(j->why);
	free(j);
}

/*
 * Counts a job that was ended early because its limit of work (slice) was reached. The summary at
 * the recording's end says of how many files something is missing; a file counts twice if both
 * unwind rows and names are missing.
 */
static void count_cut(struct collect *c, struct job *j)
{
	if (!j->cut || j->counted)
		return;
	c->stats.tables_cut++;
	log_info("%s: the file's symbols or unwind information are too large to be read to the end",
		 j->file->path);
	j->counted = true;
}

static void take(struct collect *c, struct job *j)
{
	const struct step *next;

	count_cut(c, j);
	if (j->no_memory && j->step->use != FOR_NEXT)
		log_warn("%s: out of memory for its unwind tables or names; native frames may be "
			 "missing or without names",
			 j->file ? j->file->path : "the kernel");
	j->no_memory = false;
	next = j->step->done(c, j);
	if (next)
		give_step(c, j, next);
	else
		job_free(j);
}

#define ASK_MS 50 /* time in milliseconds between two calls of config.wait */

/* Says in words what the collector waits for: "names of /usr/lib/libx.so". */
static const char *describe(struct collect *c, char *text, size_t n)
{
	const char *step = NULL;
	const struct job *j = (struct job *)worker_running(c->natives->worker, &step);

	if (!j)
		snprintf(text, n, "names");
	else
		snprintf(text, n, "%s of %s", step ? step : "names",
			 j->file ? j->file->path : "the kernel");
	return text;
}

/*
 * A job counts as making progress each time it has had this much more CPU time. On a busy machine
 * that may take seconds.
 */
#define PROGRESS_NS (NSEC_PER_SEC / 4)

/*
 * Returns a number that grows whenever a job has ended or has made progress. While jobs run, this
 * thread only waits, so the CPU time of krait's process is that of the jobs.
 */
static unsigned progress(struct worker *w)
{
	return worker_count(w) + (unsigned)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) / PROGRESS_NS);
}

/*
 * Waits until all jobs are done, or until config.wait ends the wait. After config.wait has ended
 * one wait, krait waits for nothing any more.
 */
static void await(struct collect *c)
{
	char what[PATH_MAX + 64];

	while (!c->hurried && !worker_wait(c->natives->worker, ASK_MS)) {
		if (!c->config.wait ||
		    c->config.wait(c->config.ctx, describe(c, what, sizeof(what)),
				   progress(c->natives->worker)))
			continue;
		c->hurried = true;
		worker_cancel(c->natives->worker);
	}
}

void native_work_take(struct collect *c, bool all)
{
	struct worker_job *job;

	if (!c->natives->worker)
		return;
	if (all)
		await(c);
	while ((job = worker_take(c->natives->worker)))
		take(c, (struct job *)job);
}

/*
 * Drops the jobs that haven't begun, but with @later keeps those whose results the next recording
 * can use.
 */
static void drop_jobs(struct collect *c, bool later)
{
	struct worker_job *job, *kept = NULL;

	while ((job = worker_drop(c->natives->worker)))
		if (later && ((struct job *)job)->step->use != FOR_STACKS) {
			job->next = kept;
			kept = job;
		} else {
			job_free((struct job *)job);
		}
	while ((job = kept)) {
		kept = job->next;
		worker_give(c->natives->worker, job, false);
	}
}

/*
 * Ends a job after the recording. Its results are dropped, except unwind rows that were completed:
 * these are written to the cache.
 */
static void finish(struct collect *c, struct job *j)
{
	bool proved = j->step == &prove && !j->r && !j->cut && c->config.cache && !c->hurried;

	if (proved)
		give_step(c, j, &keep);
	else
		job_free(j);
}

bool native_work_fini(struct collect *c)
{
	struct worker_job *job;
	bool freed;

	if (!c->natives->worker)
		return true;
	drop_jobs(c, true);
	do {
		await(c);
		while ((job = worker_take(c->natives->worker)))
			finish(c, (struct job *)job);
	} while (!c->hurried && !worker_wait(c->natives->worker, 0));
	drop_jobs(c, false);
	freed = worker_abandon(c->natives->worker);
	c->natives->worker = NULL;
	return freed;
}
