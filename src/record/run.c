/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a session for `krait record` and `krait top`: checks that it is allowed, starts it, loops,
 * and ends it.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "host/kernel_danger.h"
#include "host/sandbox.h"
#include "proc/proc.h"
#include "record/session.h"
#include "record/command/signals.h"

/*
 * The most time for which the first sample is delayed until unwind tables are ready: those of all
 * processes on the machine, or those of the named processes.
 */
#define PREPARE_ALL_NS	 (100 * NSEC_PER_MSEC)
#define PREPARE_ASKED_NS (500 * NSEC_PER_MSEC)

/*
 * How often the rings are read, because samples don't wake krait up. If no new process, thread or
 * code has come for SETTLED_NS, there is no process that has to be examined before it ends. In this
 * case the rings are read as seldom as their size allows, because each reading takes CPU time from
 * a target.
 */
#define POLL_MS		100
#define POLL_SETTLED_MS 400
/* the most samples that one CPU takes between two readings of the rings */
#define POLL_SAMPLES 400
/*
 * The time between two readings if waits are recorded too and options.seldom is set. A record of a
 * wait wakes krait up if a quarter of its ring is full (ring_output() in bpf/maps.bpf.h), so it
 * needn't be known how many of them come.
 */
#define POLL_WAITS_MS 250
#define SETTLED_NS    NSEC_PER_SEC
/*
 * the least time between two flushes (naming stacks, adding samples) if new processes wake krait
 * more often
 */
#define FLUSH_APART_NS (60 * NSEC_PER_MSEC)

int session_check_permitted(struct session *s)
{
	int r = kernel_danger_refuse();

	r = r ? r : proc_check_mount();
	rights_read(&s->rights);
	r = r ? r : sandbox_check(false);
	r = r ? r : rights_check(&s->rights);
	r = r ? r : sandbox_check(true);
	return r ? r : session_check_memory();
}

/*
 * Uses the epoll descriptor that already watches the rings, which wake krait most often, and adds
 * all other descriptors to it. A second epoll on top of it would cost time in krait and in the
 * thread that wakes krait.
 */
static int make_epoll(struct session *s)
{
	int fds[] = {sideband_fd(s->sideband), s->spawn.pidfd, collect_fd(s->collect)};

	s->epoll_fd = fcntl(sampler_fd(s->sampler), F_DUPFD_CLOEXEC, 0);
	if (s->epoll_fd < 0)
		return err_sys(-errno, "epoll");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.fd = fds[i]};

		if (fds[i] >= 0 && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fds[i], &e))
			return err_sys(-errno, "epoll");
	}
	return 0;
}

/*
 * Watches the pidfds of the targets. Each target that ends wakes krait up once; the other targets
 * may go on. Without pidfds (before 5.3) krait notices an end a little later.
 */
static void watch_targets(struct session *s)
{
	vec_foreach(pid, &s->options->pids) {
		int fd = (int)syscall(SYS_pidfd_open, *pid, 0);
		struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = fd};

		if (fd >= 0 && vec_push(&s->target_fds, fd))
			close(fd);
		else if (fd >= 0)
			(void)epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e);
	}
}

/*
 * For this long, new mappings of the command wake krait up. By then the command is loaded, and
 * Python has imported most modules.
 */
#define WATCH_COMMAND_NS (2 * NSEC_PER_SEC)

static void watch_command(struct session *s)
{
	if (sideband_watch(s->sideband, s->spawn.pid))
		log_info("the command's first mappings may be seen late: %s", err_msg());
	s->watched_until_ns = clock_ns(CLOCK_MONOTONIC) + WATCH_COMMAND_NS;
}

static void unwatch_command(struct session *s)
{
	if (!s->watched_until_ns || clock_ns(CLOCK_MONOTONIC) < s->watched_until_ns)
		return;
	sideband_unwatch(s->sideband);
	s->watched_until_ns = 0;
}

static uint64_t prepare_ns(const struct session *s)
{
	return s->options->pids.n || s->options->cmd ? PREPARE_ASKED_NS : PREPARE_ALL_NS;
}

/*
 * Begins sampling. The profile's time begins when waits begin to count, so that the times of a
 * thread add up to the profile's duration.
 */
static int begin_sampling(struct session *s)
{
	int r = sampler_enable(s->sampler, true, &s->start_ns);
	uint64_t ago_ns = clock_ns(CLOCK_MONOTONIC) - s->start_ns;

	profile_meta(s->profile)->time_ns = (int64_t)(clock_ns(CLOCK_REALTIME) - ago_ns);
	s->news_ns = s->start_ns;
	collect_begin(s->collect, s->start_ns);
	return r;
}

int session_start(struct session *s)
{
	int r = session_add_targets(s);

	if (!r)
		r = make_epoll(s);
	if (!r)
		watch_targets(s);
	if (!r)
		collect_prepare(s->collect, clock_ns(CLOCK_MONOTONIC) + prepare_ns(s));
	session_begin_accounts(s);
	if (!r)
		r = begin_sampling(s);
	cpus_changed(&s->cpus);
	s->start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	session_use_begin(s);
	session_throttle_begin(s);
	if (!r)
		session_read_blocked(s);
	if (!r && s->options->cmd) {
		watch_command(s);
		r = spawn_go(&s->spawn);
	}
	return r;
}

void session_give_back_memory(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

/*
 * Gives free heap memory back to the system. Reading files and the kernel's types leaves much heap
 * free: 6 of 30 MiB after the first second.
 */
static void give_back_memory(struct session *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (now < s->trim_ns)
		return;
	session_give_back_memory();
	s->trim_ns = now + 10 * NSEC_PER_SEC;
}

/* Reacts when CPUs go online or offline. On failure krait samples the old CPUs. */
static void follow_cpus(struct session *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int r;

	/* not each time the rings are read, because that may be frequent */
	if (now < s->cpus_ns)
		return;
	s->cpus_ns = now + POLL_SETTLED_MS * NSEC_PER_MSEC;
	if (!cpus_changed(&s->cpus))
		return;
	log_info("CPUs went online or offline; those that are online now are sampled");
	rights_for_events(true);
	r = sideband_renew_cpus(s->sideband);
	if (!r)
		r = sampler_renew_cpus(s->sampler);
	rights_for_events(false);
	if (r)
		log_warn("CPUs went online or offline, and krait can't open its events anew: %s",
			 err_msg());
}

/* Varies a period by up to 10 %, so that krait never reads the rings in step with a program. */
#define VARIED(ns, now) ((ns) * (900 + (now) % 201) / 1000)

/* Returns the most samples that one CPU takes in a second, waits left out; 0: not known. */
static uint64_t samples_hz(const struct session *s)
{
	int wait = session_events_wait_index(&s->events);
	uint64_t hz = 0;

	for (unsigned i = 0; i < s->events.n; i++) {
		if (!s->events.v[i].hz && (int)i != wait)
			return 0;
		hz += s->events.v[i].hz;
	}
	return hz;
}

static uint64_t poll_ms(const struct session *s, uint64_t now)
{
	bool waits = session_events_wait(&s->events);
	uint64_t hz = samples_hz(s), most = waits ? POLL_WAITS_MS : POLL_SETTLED_MS;

	if (!hz || now - s->news_ns < SETTLED_NS || (waits && !s->options->seldom))
		return POLL_MS;
	return MIN(MAX(POLL_SAMPLES * 1000ull / hz, (uint64_t)POLL_MS), most);
}

static int drain(struct session *s)
{
	int r = session_check_ids(s);

	if (r)
		return r;
	/*
	 * reads perf's reports of what processes do first, so that mappings are known before the
	 * samples that need them
	 */
	sideband_drain(s->sideband);
	session_exits(s);
	r = sampler_drain(s->sampler);
	session_read_met(s);
	s->more = r > 0;
	return MIN(r, 0);
}

static void keep_stack(void *c, uint64_t stack)
{
	collect_keep_stack(c, stack);
}

/*
 * Keeps the collector from forgetting the stacks of waits that aren't over: a wait's stack comes
 * when the wait begins, but its sample only when it ends.
 */
static void keep_waiting_stacks(struct session *s)
{
	if (!session_events_wait(&s->events) || !collect_keeps_due(s->collect))
		return;
	sampler_waiting_stacks(s->sampler, keep_stack, s->collect);
	vec_foreach(met, &s->met_waits)
		collect_keep_stack(s->collect, met->sample.stack);
}

int session_drain(struct session *s)
{
	int r;

	sampler_settle(s->sampler, poll_ms(s, clock_ns(CLOCK_MONOTONIC)) > POLL_MS);
	r = drain(s);
	r = r < 0 ? r : collect_flush(s->collect, false);
	session_look_at_left(s);
	keep_waiting_stacks(s);
	s->flushed_ns = clock_ns(CLOCK_MONOTONIC);
	s->answered = false;
	if (collect_news(s->collect))
		s->news_ns = s->flushed_ns;
	follow_cpus(s);
	unwatch_command(s);
	give_back_memory(s);
	return r;
}

bool session_finished(struct session *s, uint64_t now)
{
	if (signals_stop())
		return true;
	if (s->options->duration_ns && now - s->start_ns >= s->options->duration_ns)
		return true;
	if (s->options->cmd)
		/* the command is reaped only after session_use_end() */
		return spawn_is_over(&s->spawn);
	return session_targets_ended(s, now);
}

int session_wait_ms(const struct session *s, uint64_t now)
{
	uint64_t poll_ns = VARIED(poll_ms(s, now) * NSEC_PER_MSEC, now);
	uint64_t end = MIN(now + poll_ns, collect_due_ns(s->collect));

	if (s->more)
		return 0;
	if (s->answered)
		end = MIN(end, s->flushed_ns + POLL_MS * NSEC_PER_MSEC);
	/* a look for long waits that comes late may miss the end of one */
	if (session_events_wait(&s->events))
		end = MIN(end, s->left.look_ns);
	if (s->options->duration_ns)
		end = MIN(end, s->start_ns + s->options->duration_ns);
	return end > now ? (int)((end - now) / NSEC_PER_MSEC) + 1 : 0;
}

int session_set_effort(struct session *s, uint32_t hz, uint32_t wait_budget_ppm)
{
	struct session_events *all = &s->events;
	int r = hz ? sampler_set_rate(s->sampler, hz) : 0;

	for (unsigned i = 0; hz && !r && i < all->n; i++)
		if (all->v[i].source->clock && !all->v[i].own_rate)
			r = event_set_rate(&all->v[i], hz, 0);
	if (session_events_wait(all))
		sampler_set_wait_budget(s->sampler, wait_budget_ppm ?: WAIT_BUDGET_PPM);
	profile_meta(s->profile)->period = (int64_t)(all->v[0].period ? all->v[0].period : 1);
	return r;
}

/*
 * Was krait woken only because the kernel programs asked about a process? In this case work that
 * can wait is put off, so that it is done for several processes at once if many begin.
 */
static bool is_asked(const struct session *s, const struct epoll_event *e, int n)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < n; i++)
		if (e[i].data.fd != sampler_fd(s->sampler))
			return false;
	return n > 0 && !s->more && now < s->flushed_ns + FLUSH_APART_NS &&
	       now < collect_due_ns(s->collect);
}

/*
 * Takes the records out of the rings, and reads from processes only what would be lost when they
 * end.
 */
static int answer(struct session *s)
{
	int r = drain(s);

	if (!r)
		collect_ask(s->collect);
	s->answered = true;
	return r;
}

int session_run(struct session *s, int (*turn)(void *ctx, uint64_t now), void *ctx)
{
	int r = 0;

	for (;;) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		struct epoll_event e[4];
		int n;

		if (session_finished(s, now))
			break;
		n = epoll_wait(s->epoll_fd, e, ARRAY_SIZE(e), session_wait_ms(s, now));
		if (is_asked(s, e, n)) {
			r = answer(s);
			if (r)
				break;
			continue;
		}
		r = session_drain(s);
		r = r < 0 ? r : session_bound(s);
		if (!r && turn)
			r = turn(ctx, now);
		if (r)
			break;
	}
	return r;
}

/* Keeps the first of several errors, with its message. */
struct first {
	int r;
	char *msg;
};

static void add_result(struct first *f, int r)
{
	if (f->r || r >= 0)
		return;
	f->r = r;
	f->msg = strdup(err_msg());
}

static int take_result(struct first *f)
{
	_cleanup_free_ char *msg = TAKE_PTR(f->msg);

	return msg ? err_set(f->r, "%s", msg) : f->r;
}

int session_stop(struct session *s)
{
	struct first f = {};

	session_end_left(s);
	add_result(&f, sampler_enable(s->sampler, false, &s->end_ns));
	session_throttle_end(s);
	session_use_end(s); /* this takes some time, but sampling has ended already */
	(void)spawn_ended(&s->spawn);
	patience_begin(&s->patience);
	sideband_drain(s->sideband);
	add_result(&f, sampler_drain(s->sampler));
	session_bound_release(s);
	profile_forget_failure(s->profile);
	add_result(&f, session_check_ids(s) ?: collect_flush(s->collect, true));
	profile_forget_failure(s->profile);
	profile_meta(s->profile)->duration_ns = (int64_t)(s->end_ns - s->start_ns);
	return take_result(&f);
}
