/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts sampler, side band, collector and profile together for one recording; see session.h. */
#include "record/label_intervals.h"
#include "record/session.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/str.h"
#include "unwind/cache.h"
#include "proc/keeper.h"
#include "proc/memory.h"

static int adapter_layout(void *ctx, const struct py_layout *l, uint16_t *index)
{
	struct session *s = ctx;

	return sampler_add_layout(s->sampler, l, index);
}

static const struct py_layout *adapter_get_layout(void *ctx, uint16_t index)
{
	struct session *s = ctx;

	return sampler_layout(s->sampler, index);
}

static int adapter_proc(void *ctx, const struct proc_key *key, enum proc_state state,
			const struct py_where *where, const struct image_place *place,
			uint32_t space)
{
	struct session *s = ctx;

	return sampler_set_proc(s->sampler, key, state, where, place, space);
}

static int adapter_several(void *ctx, const struct proc_several *several)
{
	return sampler_set_several(((struct session *)ctx)->sampler, several);
}

static int adapter_exe(void *ctx, const struct exe_key *key, const struct exe_entry *e)
{
	struct session *s = ctx;

	/* if each process must be examined first, the kernel programs are told of no executable */
	return s->filtered || s->rights.from_file ? 0 : sampler_add_exe(s->sampler, key, e);
}

static void adapter_ask_again(void *ctx, uint32_t tgid)
{
	struct session *s = ctx;

	sampler_suspect(s->sampler, tgid);
}

static void adapter_crowd(void *ctx, uint32_t uid, uint64_t until_ns)
{
	sampler_crowd(((struct session *)ctx)->sampler, uid, until_ns);
}

static int adapter_added(void *ctx, const struct profile_sample *sample)
{
	struct session *s = ctx;

	label_intervals_met(s, sample);
	return s->added ? s->added(s->added_ctx, sample) : 0;
}

static void adapter_met_file(void *ctx, uint32_t tgid, uint64_t start_boot_ns, const char *path)
{
	struct session *s = ctx;

	source_files_met(s->sources, tgid, start_boot_ns, path);
}

static bool adapter_wait(void *ctx, const char *what, unsigned done)
{
	return patience_has(&((struct session *)ctx)->patience, what, done);
}

static const struct collect_ops collect_ops = {
	.add_layout = adapter_layout,
	.layout = adapter_get_layout,
	.set_proc = adapter_proc,
	.set_several = adapter_several,
	.add_exe = adapter_exe,
	.ask_again = adapter_ask_again,
	.crowd = adapter_crowd,
};

static int unwind_new_table(void *ctx, uint32_t *table)
{
	return unwind_store_new_table(sampler_unwind(((struct session *)ctx)->sampler), table);
}

static void unwind_free_table(void *ctx, uint32_t table)
{
	unwind_store_free_table(sampler_unwind(((struct session *)ctx)->sampler), table);
}

static int unwind_fill(void *ctx, uint32_t table, const struct unwind_rows *rows,
		       const struct unwind_fde *eval, size_t n_eval)
{
	return unwind_store_fill(sampler_unwind(((struct session *)ctx)->sampler), table, rows,
				 eval, n_eval);
}

static uint32_t unwind_given_up(void *ctx)
{
	return unwind_store_given_up(sampler_unwind(((struct session *)ctx)->sampler));
}

static int unwind_new_space(void *ctx, uint32_t *slot)
{
	return unwind_store_new_space(sampler_unwind(((struct session *)ctx)->sampler), slot);
}

static void unwind_free_space(void *ctx, uint32_t slot)
{
	unwind_store_free_space(sampler_unwind(((struct session *)ctx)->sampler), slot);
}

static void unwind_read_space(void *ctx, uint32_t slot, bool begins)
{
	unwind_store_read_space(sampler_unwind(((struct session *)ctx)->sampler), slot, begins);
}

static uint64_t unwind_unmaps(void *ctx, uint32_t slot)
{
	return unwind_store_unmaps(sampler_unwind(((struct session *)ctx)->sampler), slot);
}

static int unwind_set_space(void *ctx, uint32_t slot, const struct unwind_space *head,
			    const struct unwind_mapping *m, size_t n)
{
	return unwind_store_set_space(sampler_unwind(((struct session *)ctx)->sampler), slot, head,
				      m, n);
}

static void unwind_allow_space(void *ctx, uint32_t slot, uint64_t at_unmaps)
{
	unwind_store_allow_space(sampler_unwind(((struct session *)ctx)->sampler), slot, at_unmaps);
}

static const struct collect_unwind_ops unwind_ops = {
	.new_table = unwind_new_table,
	.free_table = unwind_free_table,
	.fill = unwind_fill,
	.given_up = unwind_given_up,
	.new_space = unwind_new_space,
	.free_space = unwind_free_space,
	.read_space = unwind_read_space,
	.unmaps = unwind_unmaps,
	.set_space = unwind_set_space,
	.allow_space = unwind_allow_space,
	.fills_aside = true,
};

static void on_record(void *ctx, const void *data, size_t n)
{
	struct session *s = ctx;

	collect_record(s->collect, data, n);
}

static void on_mmap(void *ctx, const struct sideband_mmap *m)
{
	struct session *s = ctx;

	/*
	 * Examining every program that starts on the machine is most of what krait costs if only
	 * one process was asked for. Forks come in order of time, so the children of that process
	 * are known.
	 */
	if (s->match.by_pid && !s->sideband_lost && !map_get(&s->match.pids, m->tgid))
		return;
	collect_mapped(s->collect, &(struct collect_mapping){.tgid = m->tgid,
							     .addr = m->addr,
							     .len = m->len,
							     .offset = m->pgoff,
							     .dev = m->dev,
							     .ino = m->ino,
							     .path = m->path,
							     .time_ns = m->time_ns,
							     .gone = m->gone});
}

static void on_exit_event(void *ctx, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	struct session *s = ctx;

	collect_exit(s->collect, tgid, tid, time_ns);
	if (tgid == tid)
		session_use_exit(s, (pid_t)tgid, time_ns);
	session_exit(s, tgid, tid);
}

static void on_comm(void *ctx, uint32_t tgid, uint32_t tid, const char *comm, bool exec,
		    uint64_t time_ns)
{
	struct session *s = ctx;

	if (exec)
		collect_exec(s->collect, tgid, time_ns);
	if (exec && s->options->cmd && (pid_t)tgid == s->spawn.pid)
		collect_started(s->collect, tgid);
	if (!exec)
		collect_comm(s->collect, tgid, tid, comm);
}

static void on_fork(void *ctx, uint32_t tgid, uint32_t tid, uint32_t parent_tgid,
		    uint32_t parent_tid, uint64_t time_ns)
{
	struct session *s = ctx;

	if (tgid == parent_tgid || s->options->no_children ||
	    (s->match.by_pid && !map_get(&s->match.pids, parent_tgid)))
		return;
	label_intervals_forked(s, &(struct interval_fork){time_ns, tgid, parent_tgid, parent_tid});
	if (!s->match.by_pid)
		return;
	/* The kernel program itself finds descendants, unless a parent ended in the meantime. */
	if (proc_match_fork(&s->match, parent_tgid, tgid) || sampler_add_root(s->sampler, tgid))
		s->unfollowed++;
}

static void on_lost(void *ctx, uint64_t n)
{
	struct session *s = ctx;

	s->sideband_lost += n;
	/*
	 * A mapping may have been missed: processes that aren't known to be Python are examined
	 * again.
	 */
	collect_look_again(s->collect);
}

static const struct sideband_ops sideband_ops = {
	.mmap = on_mmap,
	.comm = on_comm,
	.fork = on_fork,
	.exit = on_exit_event,
	.lost = on_lost,
};

static int make_match(struct session *s)
{
	const struct session_options *o = s->options;
	int r = 0;

	proc_match_init(&s->match);
	for (size_t i = 0; !r && i < o->comms.n; i++)
		r = vec_push(&s->match.comm, o->comms.v[i]);
	for (size_t i = 0; !r && i < o->cgroups.n; i++)
		r = vec_push(&s->match.cgroup, o->cgroups.v[i]);
	for (size_t i = 0; !r && i < o->containers.n; i++)
		r = vec_push(&s->match.container, o->containers.v[i]);
	s->filtered = o->comms.n || o->cgroups.n || o->containers.n;
	return r ? err_sys(r, "filters") : 0;
}

static int make_profile(struct session *s)
{
	struct profile_meta *m;

	s->profile = profile_new();
	if (!s->profile)
		return err_sys(-ENOMEM, "profile");
	m = profile_meta(s->profile);
	m->values[0] = (struct profile_value_type){"samples", "count"};
	for (unsigned i = 0; i < s->events.n; i++) {
		const struct event *e = &s->events.v[i];

		m->values[1 + i] = (struct profile_value_type){e->sample_type, e->source->unit};
	}
	m->n_values = 1 + s->events.n;
	m->default_value = 1;
	m->period_type = m->values[1];
	m->period = s->events.v[0].period ? s->events.v[0].period : 1;
	vec_foreach(l, &s->options->labels) {
		struct profile_label label = {
			profile_string_n(s->profile, l->key, l->key_len),
			profile_string(s->profile, l->value),
		};
		int r = vec_push(&s->labels, label);

		if (r)
			return err_sys(r, "labels");
	}
	return 0;
}

void session_describe_target(struct session *s)
{
	char cwd[PATH_MAX];
	_cleanup_str_ struct str words = {}, title = {};

	for (char **arg = s->options->cmd; arg && *arg; arg++) {
		str_addf(&words, "%s%s", words.n ? " " : "", *arg);
		str_addf(&title, "%s%s", title.n ? " " : "", title.n ? *arg : path_base(*arg));
	}
	/*
	 * Other processes' directories are read as they are met; a short command has ended by then.
	 */
	if (s->options->cmd && getcwd(cwd, sizeof(cwd)))
		profile_add_comment(s->profile, "cwd", cwd);
	if (words.n && !words.failed) {
		profile_add_comment(s->profile, "command", words.s);
		s->title = str_take(&title);
	}
}

/*
 * Are kernel frames wanted for the samples of @e? Not if @e counts only in user code: its counter
 * overflows there, but interrupts a little later, maybe in the kernel.
 */
static bool event_wants_kernel(const struct session *s, const struct event *e)
{
	return s->options->kernel && !e->exclude_kernel;
}

static bool wants_kernel(const struct session *s)
{
	for (unsigned i = 0; i < s->events.n; i++)
		if (event_wants_kernel(s, &s->events.v[i]))
			return true;
	return false;
}

#define UNWIND_LEAST	((uint64_t)64 << 20)
#define UNWIND_MOST	((uint64_t)512 << 20)
#define UNWIND_SHARE	256
#define UNWIND_SMALLEST ((uint64_t)8 << 20) /* the smallest value that .unwind_memory may have */
#define UNWIND_PART                                                                                \
	4 /* one part in so many of a small control group's memory, which counts the tables */

/*
 * UNWIND_LEAST holds Python, numpy, polars, pyarrow and OpenSSL, but not PyTorch with CUDA and
 * Triton.
 */
static uint64_t unwind_bytes(const struct session *s)
{
	uint64_t least;

	if (s->options->unwind_memory)
		return s->options->unwind_memory;
	least = MIN(UNWIND_LEAST, MAX(memory_allowed() / UNWIND_PART, UNWIND_SMALLEST));
	return MAX(MIN(memory_allowed() / UNWIND_SHARE, UNWIND_MOST), least);
}

static bool is_whole_machine(const struct session *s)
{
	return !s->options->pids.n && !s->options->cmd;
}

static int open_kernel_side(struct session *s)
{
	struct sampler_config config = {
		.n_sources = s->events.n,
		.whole_machine = is_whole_machine(s),
		.all_processes = s->options->all,
		.follow_children = !s->options->no_children,
		.watch_throttle = true,
		.patient = s->patient,
		.native = s->options->native,
		.native_instructions = s->options->native_lines,
		.unwind_bytes = unwind_bytes(s),
		.record = on_record,
		.ctx = s,
	};
	/*
	 * The side band wakes krait up rarely: questions that need an answer at once come through
	 * the rings (PROC_PENDING).
	 */
	struct sideband_config side = {
		.ops = &sideband_ops, .ctx = s, .wakeup_bytes = SIDEBAND_RING_BYTES / 2};
	int r;

	for (unsigned i = 0; i < s->events.n; i++)
		config.sources[i] = (struct sampler_source){s->events.v[i],
							    event_wants_kernel(s, &s->events.v[i])};
	r = sampler_open(&s->sampler, &config);
	return r ? r : sideband_open(&s->sideband, &side);
}

/* Makes the cache of unwind tables, without which everything works too. */
static void make_cache(struct session *s)
{
	_cleanup_free_ char *dir = caller_cache_dir(&s->caller);
	const struct caller *by = &s->caller;

	if (dir)
		s->cache =
			unwind_cache_new(dir, by->other ? by->uid : geteuid(), by->gid, by->other);
}

/*
 * How many descriptors stay free for examining processes and for writing. The others may hold
 * libraries open.
 */
#define FREE_FILES 24

/* Returns how many descriptors are in use: all below the lowest free one. */
static size_t open_files(void)
{
	int fd = fcntl(0, F_DUPFD_CLOEXEC, 0);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? SIZE_MAX : (size_t)fd;
}

/*
 * Each event needs up to four descriptors a CPU. On a machine with many containers, processes have
 * thousands of libraries, and krait holds each open. The usual 1,024 descriptors would leave none
 * for examining a process. So this raises the limit. The command keeps the old one: it was forked
 * before.
 */
static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* @ret: how many libraries may be held open, beside what is open now. */
static int allow_files(size_t *ret)
{
	struct rlimit limit = {.rlim_cur = 256};
	size_t used;

	getrlimit(RLIMIT_NOFILE, &limit);
	used = open_files();
	if (used >= limit.rlim_cur || limit.rlim_cur - used < 2 * (rlim_t)FREE_FILES)
		return err_set(
			-EMFILE,
			"too few files may be open to look at processes; raise the limit with "
			"`ulimit -n 65536`");
	*ret = MIN(limit.rlim_cur / 4 * 3, limit.rlim_cur - used - FREE_FILES);
	return 0;
}

static int make_collector(struct session *s)
{
	const struct event *cpu = session_events_cpu(&s->events);
	struct collect_config config = {
		.profile = s->profile,
		.ops = &collect_ops,
		.ctx = s,
		.unwind = s->options->native != NATIVE_MODE_NONE ? &unwind_ops : NULL,
		.sees_unmaps = sampler_sees_unmaps(s->sampler),
		.sees_mapped = true,
		.kallsyms = s->kallsyms_fd,
		.cache = s->cache,
		.interpreter_frames = s->options->interpreter_frames,
		.leaf = s->options->native == NATIVE_MODE_LEAF,
		.end_positions = s->end_positions,
		.native_lines = s->options->native_lines,
		.kernel_addresses = s->options->kernel_addresses,
		.all_processes = s->options->all,
		.whole_machine = is_whole_machine(s),
		.match = s->filtered ? &s->match : NULL,
		.labels = s->labels.v,
		.n_labels = s->labels.n,
		.max_bytes = s->max_bytes,
		.n_sources = s->events.n,
		.cpu_source = cpu ? (int)(cpu - s->events.v) : -1,
		.waits = session_events_wait(&s->events),
		.may_see = s->rights.from_file ? rights_may_see : NULL,
		.prompt = s->prompt,
		.added = adapter_added,
		.wait = adapter_wait,
		.met_file = s->sources ? adapter_met_file : NULL,
		.texts = s->texts,
	};
	int r = allow_files(&config.max_files);

	if (r)
		return r;
	/* This file is opened before krait gives up the right to see addresses. */
	if (wants_kernel(s))
		config.kallsyms = s->kallsyms_fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	s->collect = collect_new(&config);
	return s->collect ? 0 : err_sys(-ENOMEM, "collector");
}

/*
 * krait needs little CPU time, but at once: to answer about new processes, and to make room in the
 * rings. On a busy machine it would wait tens of milliseconds for a CPU. Without the right to raise
 * its priority, krait goes on as it is.
 */
#define NICENESS -10

void session_init(struct session *s, const struct session_options *o)
{
	*s = (struct session){.options = o,
			      .epoll_fd = -1,
			      .kallsyms_fd = -1,
			      .spawn = {.pidfd = -1, .go_fd = -1, .error_fd = -1}};
}

int session_set_up(struct session *s)
{
	int r = session_events_parse(&s->events, s->options);

	if (!r)
		r = make_match(s);
	if (!r)
		r = make_profile(s);
	raise_files();
	if (!r)
		r = open_kernel_side(s);
	make_cache(s);
	if (!r)
		r = make_collector(s);
	(void)setpriority(PRIO_PROCESS, 0, NICENESS);
	return r;
}

void session_end_sampling(struct session *s)
{
	/*
	 * collect_free() gives back its entries in the sampler's maps. If a thread hangs, that
	 * thread may still use the cache.
	 */
	if (collect_free(TAKE_PTR(s->collect)))
		unwind_cache_free(TAKE_PTR(s->cache));
	else
		s->abandoned = true;
	reader_close();
	log_progress(NULL);
	sampler_close(TAKE_PTR(s->sampler));
	sideband_close(TAKE_PTR(s->sideband));
	session_give_back_memory();
}

bool session_hangs(const struct session *s)
{
	keeper_close();
	return s->abandoned;
}

void session_fini(struct session *s)
{
	spawn_fini(&s->spawn);
	session_end_sampling(s);
	session_bound_release(s);
	profile_free(s->profile);
	proc_match_fini(&s->match);
	map_fini(&s->exits);
	map_fini(&s->clocks);
	vec_fini(&s->forks);
	vec_foreach(text, &s->interval_warnings)
		free(*text);
	vec_fini(&s->interval_warnings);
	vec_fini(&s->labels);
	free(s->title);
	caller_fini(&s->caller);
	if (s->kallsyms_fd >= 0)
		close(s->kallsyms_fd);
	vec_foreach(fd, &s->target_fds)
		close(*fd);
	vec_fini(&s->target_fds);
	vec_fini(&s->uses.all);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
}
