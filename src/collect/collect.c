/* SPDX-License-Identifier: BSD-2-Clause */
/* How the collector begins and ends, and the steps of collect_flush(); see collect.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "base/work/worker.h"
#include "collect/budget/absent.h"
#include "collect/budget/crowd.h"
#include "collect/budget/look.h"
#include "collect/code/codes.h"
#include "collect/code/same.h"
#include "collect/code/together.h"
#include "collect/internal.h"
#include "collect/stack/bodies.h"
#include "collect/thread/thread.h"
#include "symbol/elf/debuginfod.h"

void collect_begin(struct collect *c, uint64_t start_ns)
{
	c->config.start_ns = start_ns;
	c->began = true;
	c->start_boot_ns = clock_ns(CLOCK_BOOTTIME);
}

/*
 * Called when a process is forgotten: frees what the code in all folders other than process/ keeps
 * for this process.
 */
static void close_process(struct collect *c, struct process *p)
{
	crowd_turn(c, p);
	space_forget(c, p);
	made_close(c, p);
	space_free_tables(c, p);
	codes_forget(c, p);
	thread_forget_all(c, p);
}

static bool init(struct collect *c)
{
	c->intake = calloc(1, sizeof(*c->intake));
	c->command = calloc(1, sizeof(*c->command));
	return c->intake && c->command &&
	       processes_init(c, sizeof(struct made_code), close_process) && look_init(c) &&
	       crowd_init(c) && threads_init(c) && codes_init(c) && same_init(c) &&
	       together_init(c) && images_init(c) && !natives_init(c) &&
	       spaces_init(c, &made_code_of_spaces) && made_init(c) && stacks_init(c);
}

/* Frees everything except what jobs still read. False: a job or a read of memory still runs. */
static bool fini(struct collect *c)
{
	bool freed = !c->natives || native_work_fini(c);

	freed &= absent_fini(c);
	if (c->processes)
		processes_fini(c);
	together_fini(c);
	same_fini(c);
	codes_fini(c);
	threads_fini(c);
	crowd_fini(c);
	look_fini(c);
	stacks_fini(c);
	made_fini(c);
	spaces_fini(c);
	images_fini(c);
	intake_fini(c);
	if (c->command) {
		free(c->command->path);
		vec_fini(&c->command->programs);
	}
	free(c->command);
	return freed;
}

bool collect_free(struct collect *c)
{
	if (!c)
		return true;
	foresee_remember(c);
	if (!fini(c))
		return false;
	natives_fini(c);
	free(c);
	return true;
}

struct collect *collect_new(const struct collect_config *config)
{
	struct collect *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->start_boot_ns = clock_ns(CLOCK_BOOTTIME);
	c->config = *config;
	c->profile = config->profile;
	c->flushes = 1;
	if (!init(c)) {
		(void)!fini(c);
		natives_fini(c);
		free(c);
		return NULL;
	}
	c->marks = profile_mapping(
		c->profile,
		&(struct profile_mapping){.name = profile_string(c->profile, MARK_MAPPING),
					  .kind = KIND_MARK});
	return c;
}

int collect_fd(const struct collect *c)
{
	return c->natives->worker ? worker_fd(c->natives->worker) : -1;
}

/* In the last collect_flush(): waits until the names that stacks need have been read. */
static void await_names(struct collect *c)
{
	stacks_ask_for_names(c);
	native_work_take(c, true);
}

/*
 * How long one collect_flush() may read code that was made at run time, in all processes together.
 */
#define MADE_CODE_NS (50 * NSEC_PER_MSEC)

/* Takes in what has come since the last collect_flush(), other than records. */
static void take_in(struct collect *c)
{
	first_look(c);
	/* takes over the symbols and unwind rows that worker threads have made */
	native_work_take(c, false);
	/* frees names now, before this collect_flush() uses any of them */
	memory_keep_to(c);
	absent_take(c);
}

/* Forgets tables of unwind rows that were dropped from the kernel's maps to make room. */
static void take_given_up(struct collect *c)
{
	uint32_t table;

	while (c->config.unwind && (table = c->config.unwind->given_up(c->config.ctx))) {
		c->stats.rows_given_up++;
		made_given_up(c, table);
		native_rows_given_up(c, table);
	}
}

/*
 * Reads what may have changed in processes. No sample in this collect_flush() needs the result: a
 * sample that needs a new mapping waits until the next collect_flush(). So the counter c->flushes
 * goes up after the mappings were read. After that, the code in these mappings that was made at run
 * time is read.
 */
static void look_after_processes(struct collect *c, bool last)
{
	/* reads the names of threads whose first samples were just added to the profile */
	thread_names(c, last ? NAMES_OF_ALL : NAMES_OF_DUE);
	process_look_again(c);
	space_read_stale(c);
	c->flushes++;
	crowd_turn(c, NULL);
	made_refresh(c, clock_ns(CLOCK_MONOTONIC) + MADE_CODE_NS);
	together_look(c);
}

/* Called after the rings were read: notes how many rounds are over. */
static void count_rounds(struct collect *c)
{
	c->rounds = c->config.rounds ? c->config.rounds(c->config.ctx) : c->rounds + 1;
}

/* Asks processes for what only they have in memory: names of modules, and source text. */
static void ask(struct collect *c)
{
	crowd_turn(c, NULL);
	bodies_find(c); /* finds the names of modules, which the frames of imports need */
	c->asked_ns = 0;
}

/*
 * Doesn't read the lists in which processes register code made at run time for gdb: only
 * collect_flush() reads them. If a process ends before the next collect_flush(), such code of the
 * process has no names.
 */
void collect_ask(struct collect *c)
{
	count_rounds(c);
	hand_on_meet(c);
	thread_names(c, NAMES_OF_DUE);
	ask(c);
	crowd_tell(c);
}

/*
 * One round: names stacks and adds samples to the profile, as far as possible. All other stacks and
 * samples wait for the next round. docs/architecture.md explains the order of the steps: each step
 * needs the results of earlier steps.
 */
int collect_flush(struct collect *c, bool last)
{
	int r;

	c->last = last;
	count_rounds(c);
	ask(c);
	made_flush(c);
	take_in(c); /* takes over the results of jobs */
	if (last)
		await_names(c);
	r = hand_on_all(c, last, stacks_name(c, last));
	r = accounts_hand_on(c, last, r);
	look_after_processes(c, last);
	take_given_up(c);
	/*
	 * ended processes are forgotten only here, because nothing in the rest of this function
	 * refers to them
	 */
	process_forget_ended(c);
	/*
	 * the kernel programs are told only here, after all costs of this collect_flush() were
	 * charged
	 */
	crowd_tell(c);
	if (!r && (profile_failed(c->profile) || c->no_memory))
		r = err_set(-ENOMEM, "out of memory for the profile");
	c->no_memory = false;
	return r;
}

bool collect_news(struct collect *c)
{
	bool news = c->news || c->n_waiting || c->stacks->raw.n;

	c->news = false;
	return news;
}

/* Counts the names that stacks needed, but that weren't read before the recording ended. */
static void count_unread(const struct collect *c, struct collect_stats *ret)
{
	ret->unread_kernel = kernel_is_asked(c);
	vec_foreach(f, &c->natives->files) {
		size_t n = strlen((*f)->path);

		if ((*f)->named != NAMES_ASKED || ret->unread_files++)
			continue;
		snprintf(ret->unread_file, sizeof(ret->unread_file), "%s",
			 (*f)->path + n - MIN(n, sizeof(ret->unread_file) - 1));
	}
}

void collect_stats(struct collect *c, struct collect_stats *ret)
{
	*ret = c->stats;
	if (c->last)
		count_unread(c, ret);
	ret->unfetched = debuginfod_unfetched();
	ret->unreadable = reader_stats();
	ret->kept.stacks = c->stacks->named.n;
	ret->kept.threads = threads_kept(c);
	ret->kept.codes = 0;
	vec_foreach(i, &c->processes->live) {
		ret->kept.codes += process_at(c, *i)->codes.n;
		made_stats(process_at(c, *i), ret);
	}
	thread_runtimes(c, ret);
	ret->unsupported = c->intake->unsupported.v;
	ret->n_unsupported = c->intake->unsupported.n;
}

uint64_t collect_due_ns(const struct collect *c)
{
	uint64_t first_ns =
		c->config.unwind && c->command->first.tgid ? c->command->first.due_ns : UINT64_MAX;

	return MIN(first_ns, space_due_ns(c));
}
