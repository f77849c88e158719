/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * krait record: puts sampler, side band and collector together, runs until the end that was asked
 * for, writes the profile.
 */
#include "cli/record.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/doctor.h"
#include "cli/exit.h"
#include "cli/kernel_danger.h"
#include "cli/output.h"
#include "cli/output_name.h"
#include "cli/record_session.h"
#include "cli/signals.h"
#include "cli/summary.h"
#include "cli/viewer.h"
#include "render/render.h"

#define POLL_MS 100 /* rings are emptied this often; nothing wakes krait up for a sample */

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

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
			const struct py_where *where, uint64_t start_code)
{
	struct session *s = ctx;

	return sampler_set_proc(s->sampler, key, state, where, start_code);
}

static int adapter_exe(void *ctx, const struct exe_key *key, const struct exe_entry *e)
{
	struct session *s = ctx;

	/* A filter, or an ordinary user's rights, must see each process: none is recognized unseen. */
	return s->filtered || s->rights.from_file ? 0 : sampler_add_exe(s->sampler, key, e);
}

static void adapter_ask_again(void *ctx, uint32_t tgid)
{
	struct session *s = ctx;

	sampler_suspect(s->sampler, tgid);
}

static const struct collect_ops collect_ops = {
	.add_layout = adapter_layout,
	.layout = adapter_get_layout,
	.set_proc = adapter_proc,
	.add_exe = adapter_exe,
	.ask_again = adapter_ask_again,
};

static void on_record(void *ctx, const void *data, size_t n)
{
	struct session *s = ctx;

	collect_record(s->collect, data, n);
}

static void on_mmap(void *ctx, const struct sideband_mmap *m)
{
	struct session *s = ctx;

	collect_mapped(s->collect, &(struct collect_mapping){m->tgid, m->addr, m->len, m->pgoff,
							     m->dev, m->ino, m->path});
}

static void on_exit_event(void *ctx, uint32_t tgid, uint32_t tid, uint64_t time_ns)
{
	struct session *s = ctx;

	collect_exit(s->collect, tgid, tid);
}

static void on_comm(void *ctx, uint32_t tgid, uint32_t tid, const char *comm, bool exec,
		    uint64_t time_ns)
{
	struct session *s = ctx;

	collect_comm(s->collect, tgid, tid, comm, exec);
}

static void on_fork(void *ctx, uint32_t tgid, uint32_t tid, uint32_t parent_tgid,
		    uint32_t parent_tid, uint64_t time_ns)
{
	struct session *s = ctx;

	/* The kernel program finds descendants by itself unless a parent has ended meanwhile. */
	if (tgid == parent_tgid || !s->match.by_pid || s->options->no_children ||
	    !map_get(&s->match.pids, parent_tgid))
		return;
	if (!proc_match_fork(&s->match, parent_tgid, tgid))
		(void)!sampler_add_root(s->sampler, tgid);
}

static void on_lost(void *ctx, uint64_t n)
{
	struct session *s = ctx;

	s->sideband_lost += n;
	/* A mapping may have been missed: whoever isn't known to be Python is looked at again. */
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
	const struct record_options *o = s->options;
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
	m->values[1] = (struct profile_value_type){s->event.sample_type, s->event.unit};
	m->n_values = 2;
	m->default_value = 1;
	m->period_type = m->values[1];
	m->period = s->event.period ? s->event.period : 1;
	m->time_ns = clock_ns(CLOCK_REALTIME);
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

/* Appends a comment to the recording; what doesn't fit is left out. */
static void add_comment(struct session *s, const char *key, const char *value)
{
	struct profile_meta *m = profile_meta(s->profile);

	if (!value || m->n_comments == ARRAY_SIZE(m->comment))
		return;
	if (asprintf(&m->comment[m->n_comments], "%s: %s", key, value) >= 0)
		m->n_comments++;
}

/* What was profiled, for the picture's title and for whoever reads the recording later. */
static void describe_target(struct session *s)
{
	char cwd[PATH_MAX], link[64] = "/proc/self/cwd";
	_cleanup_str_ struct str title = {};
	ssize_t n;

	for (char **arg = s->options->cmd; arg && *arg; arg++)
		str_addf(&title, "%s%s", title.n ? " " : "", *arg);
	if (s->options->pids.n)
		snprintf(link, sizeof(link), "/proc/%d/cwd", s->options->pids.v[0]);
	n = readlink(link, cwd, sizeof(cwd) - 1);
	if (n > 0 && (s->options->cmd || s->options->pids.n)) {
		cwd[n] = '\0';
		add_comment(s, "cwd", cwd);
	}
	if (title.n && !title.failed) {
		add_comment(s, "command", title.s);
		s->title = str_take(&title);
	}
}

static int make_event(struct session *s)
{
	int r = event_parse(&s->event, s->options->event);

	return r ? r : event_set_rate(&s->event, s->options->freq_hz, s->options->count);
}

static int open_kernel_side(struct session *s)
{
	struct sampler_config config = {
		.event = s->event,
		.whole_machine = !s->options->pids.n && !s->options->cmd,
		.follow_children = !s->options->no_children,
		.watch_throttle = true,
		.record = on_record,
		.ctx = s,
	};
	struct sideband_config side = {.ops = &sideband_ops, .ctx = s};
	int r = sampler_open(&s->sampler, &config);

	return r ? r : sideband_open(&s->sideband, &side);
}

static int make_collector(struct session *s)
{
	struct collect_config config = {
		.profile = s->profile,
		.ops = &collect_ops,
		.ctx = s,
		.match = s->filtered ? &s->match : NULL,
		.labels = s->labels.v,
		.n_labels = s->labels.n,
		.start_ns = clock_ns(CLOCK_MONOTONIC),
		.clock = s->event.clock,
		.may_see = s->rights.from_file ? rights_may_see : NULL,
	};

	s->collect = collect_new(&config);
	return s->collect ? 0 : err_sys(-ENOMEM, "collector");
}

static int add_tree(struct session *s, pid_t pid)
{
	pid_vec tree = {};
	int r = s->options->no_children ? vec_push(&tree, pid) : proc_tree(pid, &tree);

	for (size_t i = 0; !r && i < tree.n; i++) {
		r = sampler_add_root(s->sampler, tree.v[i]);
		if (!r)
			r = map_put(&s->match.pids, tree.v[i], 1);
	}
	s->match.by_pid = true;
	vec_fini(&tree);
	return r;
}

/* One process that was asked for by number. At least one of its tree must be Python. */
static int add_target(struct session *s, pid_t pid)
{
	int r = add_tree(s, pid), any = 0;

	if (r)
		return r;
	map_foreach(p, &s->match.pids) {
		int is = collect_examine(s->collect, p->key);

		if ((is == -ENOTSUP || is == -EPERM) && (pid_t)p->key == pid)
			return is;
		any |= is == 1;
	}
	if (!any)
		return err_set(-EINVAL,
			       "process %d isn't running Python, nor is a child of it; "
			       "`krait record` without -p shows which processes are",
			       pid);
	return 0;
}

/* The whole machine: the processes there are, so that no sample of theirs waits for an answer. */
static int examine_all(struct session *s)
{
	pid_vec all = {};
	int r = proc_list(&all);

	for (size_t i = 0; !r && i < all.n; i++)
		(void)!collect_examine(s->collect, all.v[i]);
	vec_fini(&all);
	return r;
}

static int add_targets(struct session *s)
{
	int r = 0;

	if (s->options->cmd)
		return add_tree(s, s->spawn.pid);
	if (!s->options->pids.n)
		return examine_all(s);
	for (size_t i = 0; !r && i < s->options->pids.n; i++)
		r = add_target(s, s->options->pids.v[i]);
	return r;
}

/* True once every process of -p has ended (a number that is used again isn't that process). */
static bool targets_ended(struct session *s)
{
	if (!s->match.by_pid || s->options->cmd)
		return false;
	map_foreach(p, &s->match.pids) {
		if (!kill((pid_t)p->key, 0) || errno != ESRCH)
			return false;
		proc_match_exit(&s->match, (pid_t)p->key);
	}
	return true;
}

static int drain(struct session *s, bool last)
{
	int r;

	/* Side band first: a mapping is known before the samples that need it. */
	sideband_drain(s->sideband);
	r = sampler_drain(s->sampler);
	if (r >= 0)
		r = collect_flush(s->collect, last);
	return r;
}

static void show_progress(struct session *s, uint64_t now)
{
	struct collect_stats st;

	if (now - s->shown_ns < 500 * NSEC_PER_MSEC)
		return;
	s->shown_ns = now;
	collect_stats(s->collect, &st);
	log_progress("Sampling at %u Hz, %.0f s, %llu samples — Ctrl-C to stop",
		     s->options->freq_hz, (double)(now - s->start_ns) / NSEC_PER_SEC,
		     (unsigned long long)st.samples);
}

static int make_epoll(struct session *s)
{
	int fds[] = {sampler_fd(s->sampler), sideband_fd(s->sideband), s->spawn.pidfd};

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return err_sys(-errno, "epoll");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.fd = fds[i]};

		if (fds[i] >= 0 && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fds[i], &e))
			return err_sys(-errno, "epoll");
	}
	return 0;
}

static bool finished(struct session *s, uint64_t now)
{
	if (signals_stop())
		return true;
	if (s->options->duration_ns && now - s->start_ns >= s->options->duration_ns)
		return true;
	if (s->options->cmd)
		return spawn_ended(&s->spawn);
	return targets_ended(s);
}

static int wait_ms(const struct session *s, uint64_t now)
{
	uint64_t end = s->start_ns + s->options->duration_ns;

	if (!s->options->duration_ns || end > now + POLL_MS * NSEC_PER_MSEC)
		return POLL_MS;
	return end > now ? (int)((end - now) / NSEC_PER_MSEC) + 1 : 0;
}

static int run(struct session *s)
{
	int r = 0;

	for (;;) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		struct epoll_event e[4];

		if (finished(s, now))
			break;
		epoll_wait(s->epoll_fd, e, ARRAY_SIZE(e), wait_ms(s, now));
		r = drain(s, false);
		if (r)
			break;
		show_progress(s, now);
	}
	log_progress(NULL);
	s->end_ns = clock_ns(CLOCK_MONOTONIC);
	return r;
}

/*
 * krait needs little, but at once: answers about new processes, room in the rings. On a busy
 * machine it would wait tens of milliseconds for a CPU. Without the right to, things stay as they are.
 */
#define NICENESS -10

static int set_up(struct session *s)
{
	int r = make_event(s);

	if (!r)
		r = make_match(s);
	if (!r)
		r = make_profile(s);
	if (!r)
		r = open_kernel_side(s);
	if (!r)
		r = make_collector(s);
	(void)setpriority(PRIO_PROCESS, 0, NICENESS);
	return r;
}

static int start(struct session *s)
{
	int r = add_targets(s);

	if (!r)
		r = make_epoll(s);
	if (!r)
		r = sampler_enable(s->sampler, true);
	s->start_ns = clock_ns(CLOCK_MONOTONIC);
	if (!r && s->options->cmd)
		r = spawn_go(&s->spawn);
	return r;
}

static int stop(struct session *s)
{
	int r = sampler_enable(s->sampler, false), q = drain(s, true);

	profile_meta(s->profile)->duration_ns = (int64_t)(s->end_ns - s->start_ns);
	return r ? r : q;
}

static int write_profile(struct session *s)
{
	struct render_options opt = {.title = s->title,
				     .by = s->options->by,
				     .value = s->options->value,
				     .times = s->options->times};
	int r = s->options->format->write(s->profile, s->output.stream, &opt), q;

	if (r)
		return r;
	q = caller_enter(&s->caller);
	r = output_commit(&s->output);
	caller_leave(&s->caller);
	return q ? q : r;
}

static void session_fini(struct session *s)
{
	spawn_fini(&s->spawn);
	sampler_close(s->sampler);
	sideband_close(s->sideband);
	collect_free(s->collect);
	profile_free(s->profile);
	output_fini(&s->output);
	proc_match_fini(&s->match);
	vec_fini(&s->labels);
	free(s->path);
	free(s->title);
	caller_fini(&s->caller);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
}

static int name_output(struct session *s)
{
	if (!s->options->output)
		return output_name(s->options, time(NULL), &s->path);
	s->path = strdup(s->options->output);
	return s->path ? 0 : -ENOMEM;
}

/* Errors that only rights or the kernel explain are EXIT_RIGHTS, all others EXIT_FAILED. */
static int exit_of(int r)
{
	switch (-r) {
	case EPERM:
	case EACCES:
	case ENOSYS:
		return EXIT_RIGHTS;
	}
	return EXIT_FAILED;
}

static int fail(int r, int code)
{
	(void)r;
	log_error("%s", err_msg());
	return code;
}

/* The closing lines and what they decide. */
static int close_recording(struct session *s)
{
	struct summary m;
	int r = 0, code = EXIT_DONE;

	summary_take(&m, s);
	summary_print(s, &m);
	if (s->options->summary_json)
		r = summary_write_json(s, &m, s->options->summary_json);
	if (r)
		code = fail(r, EXIT_FAILED);
	if (s->options->require_samples && !m.collect.samples) {
		log_error("no samples, and --require-samples was given");
		code = EXIT_FAILED;
	}
	if (!streq(s->path, "-"))
		log_note("%s", s->path);
	return code;
}

/* The end of a recording that worked: the file, the closing lines, the exit code. */
static int finish(struct session *s)
{
	int r = write_profile(s), code;

	if (r)
		return fail(r, EXIT_FAILED);
	code = close_recording(s);
	if (s->options->open && viewer_open(&s->caller, s->path))
		log_warn("%s", err_msg());
	if (!s->options->cmd)
		return code;
	spawn_pass_on_stop(&s->spawn);
	r = spawn_wait(&s->spawn);
	return code ? code : r;
}

/* Who asks, and the file: before anything is started, so that what can't be written is said now. */
static int prepare(struct session *s)
{
	int r = caller_find(&s->caller), q;

	if (!r)
		r = name_output(s);
	if (r)
		return r;
	r = caller_enter(&s->caller);
	if (r)
		return r;
	q = output_open(&s->output, s->path);
	caller_leave(&s->caller);
	if (q || !s->options->cmd)
		return q;
	return spawn_start(&s->spawn, s->options->cmd, caller_become, &s->caller);
}

/* --if-permitted: the command runs all the same. */
static int run_unprofiled(struct session *s)
{
	int r = caller_find(&s->caller);

	log_warn("%s; running the command without a profile", err_msg());
	if (!r)
		r = spawn_start(&s->spawn, s->options->cmd, caller_become, &s->caller);
	if (!r)
		r = spawn_go(&s->spawn);
	if (r)
		return fail(r, s->spawn.exit_code ? s->spawn.exit_code : EXIT_FAILED);
	return spawn_wait(&s->spawn);
}

static int check_permitted(struct session *s)
{
	int r = kernel_danger_refuse();

	rights_read(&s->rights);
	return r ? r : rights_check(&s->rights);
}

/*
 * What rights or the kernel refuse, the doctor explains: in a container, what to run outside. An
 * ordinary user without rights was told the command already.
 */
static int refuse(struct session *s, int r, int code)
{
	fail(r, code);
	if (code == EXIT_RIGHTS && (s->rights.uid == 0 || !rights_check(&s->rights)))
		doctor_explain(s->options->color);
	return code;
}

static int record(struct session *s)
{
	int r = check_permitted(s);

	if (r && s->options->if_permitted && s->options->cmd)
		return run_unprofiled(s);
	if (r)
		return refuse(s, r, EXIT_RIGHTS);
	r = prepare(s);
	if (r)
		return fail(r, EXIT_FAILED);
	r = set_up(s);
	if (!r) {
		describe_target(s);
		r = rights_drop(s->caller.other);
	}
	if (r)
		return refuse(s, r, exit_of(r));
	r = start(s);
	if (r)
		return fail(r, s->spawn.exit_code ? s->spawn.exit_code : EXIT_FAILED);
	r = run(s);
	if (r)
		log_error("%s; what was recorded until then is written", err_msg());
	r = stop(s);
	if (r)
		return fail(r, EXIT_FAILED);
	return finish(s);
}

int cmd_record(const struct record_options *o)
{
	struct session s = {.options = o, .epoll_fd = -1, .spawn = {.pidfd = -1, .go_fd = -1, .error_fd = -1}};
	int code;

	signals_take();
	code = record(&s);
	session_fini(&s);
	return code;
}
