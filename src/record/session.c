/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connects sampler, side band (perf's reports of what processes do), collector and profile for one
 * recording; see session.h.
 */
#include "record/session.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "unwind/cache.h"
#include "proc/files/keeper.h"
#include "proc/machine/memory.h"
#include "record/adapters.h"

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
	if (session_events_wait(&s->events)) {
		static const char *const names[] = {[VALUE_GIL_WAIT] = "gil_wait",
						    [VALUE_GIL_BLAME] = "gil_blame",
						    [VALUE_LOCK_BLAME] = "lock_blame"};

		for (size_t i = 0; i < COLLECT_WAIT_VALUES; i++)
			m->values[m->n_values++] =
				(struct profile_value_type){names[i], "nanoseconds"};
	}
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
	 * Notes krait's current directory, which is that of the command. A short command may end
	 * before krait can read its directory.
	 */
	if (s->options->cmd && getcwd(cwd, sizeof(cwd)))
		profile_add_comment(s->profile, "cwd", cwd);
	if (words.n && !words.failed) {
		profile_add_comment(s->profile, "command", words.s);
		s->title = str_take(&title);
	}
}

/*
 * Are kernel frames wanted for the samples of @e? Not if @e counts only user code: the counter
 * overflows in user code, but its interrupt may come a little later, in the kernel.
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
#define UNWIND_SMALLEST ((uint64_t)8 << 20) /* the least that .unwind_memory may be */
/* if krait's control group is small, the unwind tables take 1/UNWIND_PART of its memory */
#define UNWIND_PART 4

/*
 * Returns how much memory unwind tables may take. UNWIND_LEAST is enough for Python, numpy, polars,
 * pyarrow and OpenSSL, but not for PyTorch with CUDA and Triton.
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
		.wait_budget_ppm = s->options->wait_budget_ppm,
		.watch_throttle = true,
		.patient = s->patient,
		.native = s->options->native,
		.native_instructions = s->options->native_lines,
		.unwind_bytes = unwind_bytes(s),
		.record = session_on_record,
		.ctx = s,
	};
	/*
	 * perf's reports of what processes do seldom wake krait up: what needs an answer at once
	 * comes through the kernel programs' rings (PROC_PENDING)
	 */
	struct sideband_config side = {
		.ops = &session_sideband_ops, .ctx = s, .wakeup_bytes = SIDEBAND_RING_BYTES / 2};
	int r;

	for (unsigned i = 0; i < s->events.n; i++)
		config.sources[i] = (struct sampler_source){s->events.v[i],
							    event_wants_kernel(s, &s->events.v[i])};
	r = sampler_open(&s->sampler, &config);
	return r ? r : sideband_open(&s->sideband, &side);
}

/* Makes the cache of unwind tables. Everything also works without the cache. */
static void make_cache(struct session *s)
{
	_cleanup_free_ char *dir = caller_cache_dir(&s->caller);
	const struct caller *by = &s->caller;

	if (dir)
		s->cache =
			unwind_cache_new(dir, by->other ? by->uid : geteuid(), by->gid, by->other);
}

/*
 * How many descriptors are kept free, for examining processes and for writing files. All others may
 * be used to hold libraries open.
 */
#define FREE_FILES 24

/* Returns how many descriptors are in use: the number of the lowest free descriptor. */
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
 * for examining a process. So this function raises the limit. The command's child was forked
 * before, and keeps the old limit.
 */
static void raise_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Sets *ret to how many libraries may be held open in addition to the files that are open now. */
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
	int wait = session_events_wait_index(&s->events);
	struct collect_config config = {
		.profile = s->profile,
		.ops = &session_collect_ops,
		.ctx = s,
		.unwind = s->options->native != NATIVE_MODE_NONE ? &session_unwind_ops : NULL,
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
		.users = s->options->users,
		.waits = wait >= 0,
		.wait_source = wait >= 0 ? (unsigned)wait : 0,
		.idle_at = s->options->idle_at.v,
		.n_idle_at = s->options->idle_at.n,
		.may_see = s->rights.from_file ? rights_may_see : NULL,
		.prompt = s->prompt,
		.added = session_on_added,
		.failed = session_on_failed,
		.wait = session_on_wait,
		.rounds = session_on_rounds,
		.met_file = s->sources ? session_on_file : NULL,
		.texts = s->texts,
	};
	int r = allow_files(&config.max_files);

	if (r)
		return r;
	if (s->options->services.n)
		config.services = s->services = services_new(&s->options->services, -1);
	if (s->options->services.n && !s->services)
		return err_nomem();
	/* /proc/kallsyms is opened before krait gives up the right to see kernel addresses. */
	if (wants_kernel(s))
		config.kallsyms = s->kallsyms_fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	s->collect = collect_new(&config);
	return s->collect ? 0 : err_sys(-ENOMEM, "collector");
}

/*
 * Raises krait's priority. krait needs little CPU time, but needs it at once when a process is new
 * or a ring is full. On a busy machine it would wait tens of milliseconds for a CPU. If krait may
 * not raise its priority, it goes on as it is.
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
	 * The sampler is closed after collect_free(), which gives the collector's entries in the
	 * sampler's maps back. If a thread hangs, the cache isn't freed, because that thread may
	 * still use it.
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
	services_free(s->services);
	profile_free(s->profile);
	proc_match_fini(&s->match);
	map_fini(&s->exits);
	map_fini(&s->clocks);
	vec_fini(&s->forks);
	vec_foreach(text, &s->interval_warnings)
		free(*text);
	vec_fini(&s->interval_warnings);
	vec_fini(&s->labels);
	vec_fini(&s->asked);
	vec_fini(&s->met_waits);
	free(s->title);
	caller_fini(&s->caller);
	if (s->kallsyms_fd >= 0)
		close(s->kallsyms_fd);
	vec_foreach(fd, &s->target_fds)
		close(*fd);
	vec_fini(&s->target_fds);
	vec_fini(&s->uses.all);
	cpus_watch_fini(&s->cpus);
	throttled_fini(&s->throttled_before);
	throttled_fini(&s->throttled);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
}
