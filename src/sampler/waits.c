/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides whether the programs that record waits are loaded (bpf/events/switch.bpf.h, wake.bpf.h),
 * and reads the waits that aren't over at the recording's end.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/clock.h"
#include "base/system/log.h"
#include "sampler/internal.h"
#include "waiters.h"
#include "sample.skel.h"

int waits_source(const struct sampler *s)
{
	for (unsigned i = 0; i < s->config.n_sources; i++)
		if (s->config.sources[i].event.source == &source_wait)
			return (int)i;
	return -1;
}

/* Returns the index of the event whose samples are of CPU time; ABI_MAX_SOURCES: there is none. */
static uint8_t cpu_source(const struct sampler *s)
{
	unsigned i = 0;

	while (i < s->config.n_sources && !s->config.sources[i].event.source->clock)
		i++;
	return i < s->config.n_sources ? (uint8_t)i : ABI_MAX_SOURCES;
}

void waits_prepare(struct sampler *s)
{
	int source = waits_source(s);

	/*
	 * verifying a program that walks stacks takes most of krait's start, so a program that
	 * isn't needed isn't loaded
	 */
	bpf_program__set_autoload(s->skel->progs.on_switch, source >= 0);
	bpf_program__set_autoload(s->skel->progs.on_waking, source >= 0);
	bpf_program__set_autoload(s->skel->progs.on_exec, source >= 0);
	bpf_program__set_autoload(s->skel->progs.on_sample, source < 0 || s->config.n_sources > 1);
	if (source >= 0) {
		s->skel->rodata->wait_source = (uint8_t)source;
		s->skel->rodata->own_tgid = (uint32_t)getpid();
		s->skel->rodata->counts_gil = true;
		s->skel->rodata->blame_source = cpu_source(s);
		s->skel->rodata->accounts = true;
		if (s->config.wait_budget_ppm)
			sampler_set_wait_budget(s, s->config.wait_budget_ppm);
		return;
	}
	bpf_map__set_max_entries(s->skel->maps.waits, 1);
	bpf_map__set_max_entries(s->skel->maps.delays, 1);
	bpf_map__set_max_entries(s->skel->maps.gils, 1);
}

static int attach(struct sampler *s, const struct bpf_program *program, const char *what)
{
	struct bpf_link *link = bpf_program__attach(program);

	if (!link)
		return err_sys(-errno, "can't attach to %s", what);
	if (!vec_push(&s->links, link))
		return 0;
	bpf_link__destroy(link);
	return err_sys(-ENOMEM, "%s", what);
}

int waits_attach(struct sampler *s)
{
	int r = attach(s, s->skel->progs.on_waking, "sched_waking");

	return r ? r : attach(s, s->skel->progs.on_exec, "sched_process_exec");
}

bool counted_read(const struct rec_sample *of, struct counted *ret)
{
	_cleanup_fclose_ FILE *f = NULL;
	unsigned long long cpu, delay;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", of->proc.tgid, of->tid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%llu %llu", &cpu, &delay) != 2)
		return false;
	*ret = (struct counted){cpu, delay};
	return true;
}

struct counted waits_since_left(const struct wait_entry *e, const struct counted *now,
				uint64_t after_ns)
{
	struct counted c = {now->cpu_ns - MIN(now->cpu_ns, e->cpu_ns),
			    now->delay_ns - MIN(now->delay_ns, e->delay_ns)};

	if (!e->has_cpu)
		return (struct counted){c.cpu_ns - MIN(c.cpu_ns, after_ns),
					c.delay_ns - MIN(c.delay_ns, after_ns)};
	if (e->came_delay_ns)
		c.delay_ns = e->came_delay_ns - MIN(e->came_delay_ns, e->delay_ns);
	return c;
}

/*
 * Does what waits_since_left() does, for the thread of @e. All times are 0 if the thread has ended,
 * because another thread may have its number by now.
 */
static struct counted since_it_left(const struct sampler *s, const struct wait_entry *e)
{
	struct counted c;

	if (!counted_read(&e->wait.sample, &c) || c.cpu_ns < e->cpu_ns || c.delay_ns < e->delay_ns)
		return (struct counted){};
	return waits_since_left(e, &c, clock_ns(CLOCK_MONOTONIC) - s->ended_ns);
}

static bool waits_for_gil(const struct wait_entry *e)
{
	return e->away == AWAY_WAITS || e->away == AWAY_UNCOUNTED;
}

/*
 * Returns how long other threads have waited for the GIL, until @now_ns, since the thread of @e
 * left its CPU while it held the GIL.
 */
static uint64_t blame_since(const struct sampler *s, const struct wait_entry *e, uint64_t now_ns)
{
	struct gil_key key = {.tgid = e->host_tgid, .slot = e->gil_slot};
	struct gil_count count;
	uint64_t sum;

	if (e->away != AWAY_HOLDS ||
	    bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.gils), &key, &count) ||
	    count.wait != e->gil)
		return 0;
	sum = gil_value(count.word, now_ns).sum_ns;
	return sum - MIN(sum, e->others_ns);
}

/*
 * Adds to @e the thread's times with the GIL that no record has yet: how long the thread waited for
 * the GIL, and how long other threads waited for the thread.
 */
static void add_gil(const struct sampler *s, struct wait_entry *e)
{
	struct rec_wait *wait = &e->wait;
	uint64_t ns = e->phase == WAIT_IS_OVER ? e->gil_ns : 0;

	if (e->phase == WAIT_WAITS && waits_for_gil(e))
		ns = e->over_ns - MIN(wait->since_ns, e->over_ns);
	wait->gil_ns = ns;
	wait->gil_others_ns = e->gil_owed_ns;
	wait->sample.blame_ns =
		e->phase == WAIT_IS_OVER ? e->held_ns : blame_since(s, e, s->ended_ns);
	if (wait->sample.gil == GIL_HELD)
		wait->sample.blame_ns += e->blame_ns + e->slept_blame_ns;
}

int waits_put(struct sampler *s, uint32_t host_tid, const struct wait_entry *e)
{
	uint32_t *met = &s->skel->bss->threads_met[host_tid % THREADS_MET];

	__atomic_fetch_add(met, 1, __ATOMIC_SEQ_CST);
	if (!bpf_map_update_elem(bpf_map__fd(s->skel->maps.waits), &host_tid, e, BPF_NOEXIST))
		return 0;
	__atomic_fetch_sub(met, 1, __ATOMIC_SEQ_CST);
	return -errno;
}

static void begin_account(struct sampler *s, pid_t tgid, pid_t tid)
{
	struct rec_sample of = {.proc.tgid = (uint32_t)tgid, .tid = (uint32_t)tid};
	struct counted c;

	if (counted_read(&of, &c))
		(void)!bpf_map_update_elem(bpf_map__fd(s->skel->maps.delays), &of.tid, &c.delay_ns,
					   BPF_ANY);
}

void sampler_begin_accounts(struct sampler *s, pid_t tgid)
{
	_cleanup_closedir_ DIR *tasks = NULL;
	const struct dirent *e;
	char path[64];

	/*
	 * The map has the host's thread numbers, which krait can't look up in /proc if it is in a
	 * PID namespace of its own.
	 */
	if (waits_source(s) < 0 || s->skel->rodata->pidns_inum)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task", tgid);
	tasks = opendir(path);
	while (tasks && (e = readdir(tasks)))
		if (*e->d_name != '.')
			begin_account(s, tgid, (pid_t)strtol(e->d_name, NULL, 10));
}

/* Returns the length of the thread's last wait; 0: the record of that wait was sent. */
static uint64_t last_wait(const struct sampler *s, const struct wait_entry *e, uint64_t ready_ns)
{
	uint64_t ns = 0;

	if (e->phase == WAIT_WAITS)
		ns = s->ended_ns - MIN(e->wait.since_ns, s->ended_ns);
	if (e->phase == WAIT_IS_OVER)
		ns = e->away_ns;
	return ns - MIN(ns, ready_ns);
}

/*
 * Makes the last record (struct rec_account: sums of its times) of a thread that hasn't ended, and
 * gives it to config.record. @ns: the length of its last wait. @last: what the kernel has counted
 * since that wait began.
 */
static void hand_on_account(struct sampler *s, const struct wait_entry *e, uint64_t ns,
			    const struct counted *last)
{
	struct rec_account a = {.sample = e->wait.sample, .switches_ns = e->waited_ns};
	uint64_t kernel = e->clock_ns - e->cpu_ns - e->delay_ns - e->begin_ns - e->stolen_ns;

	if (e->phase == WAIT_WAITS && e->left_ns) {
		a.switches_ns += ns;
		kernel += s->ended_ns - e->left_ns - last->cpu_ns - last->delay_ns;
	}
	a.kernel_ns = (int64_t)kernel > 0 ? kernel : 0;
	a.sample.type = REC_ACCOUNT;
	a.sample.weight = 0;
	s->config.record(s->config.ctx, &a, sizeof(a));
}

/* Is it known that the process with key @key is recorded? */
static bool is_recorded(const struct sampler *s, const struct proc_key *key)
{
	struct proc_entry p;

	return !bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.procs), &key->tgid, &p) &&
	       (p.state == PROC_PYTHON || p.state == PROC_NATIVE) &&
	       p.key.start_ns == key->start_ns && p.key.exec_id == key->exec_id;
}

/*
 * May the thread of @rec have a record? If no stack of the thread could be taken, the record has no
 * stack, and the thread must be recorded.
 */
static bool has_record(const struct sampler *s, struct rec_sample *rec)
{
	if (rec->type == REC_WAIT)
		return true;
	rec->stack = 0;
	if (!is_recorded(s, &rec->proc))
		return false;
	rec->type = REC_WAIT;
	return true;
}

/*
 * Completes the record of the thread's last wait, which took @ns. At the recording's end each wait
 * that isn't over gets a record of its own, so such a record doesn't stand for several waits.
 */
static void add_last(struct wait_entry *e, uint64_t ns)
{
	struct rec_wait *wait = &e->wait;

	wait->sample.weight = ns;
	if (e->phase == WAIT_WAITS)
		wait->flags |= WAIT_OPEN;
	if (e->phase != WAIT_IS_OVER || ns >= WAIT_LONG_NS)
		wait->times = WAIT_ONE;
	if (e->times || e->phase == WAIT_RUNS)
		return;
	wait->flags |= WAIT_LEFT;
	wait->times = WAIT_ONE;
	wait->cost_ns = 0;
	wait->site = e->site;
}

/*
 * Gives config.record the time of waits that no record has yet, one record for each site (a system
 * call with what it waits for). The time of the last wait's site is already in that wait's record.
 */
static void hand_on_owed(const struct sampler *s, const struct wait_entry *e)
{
	struct rec_wait owed = e->wait;

	owed.sample.weight = owed.gil_ns = owed.gil_others_ns = owed.sample.blame_ns = 0;
	owed.flags &= (uint8_t) ~(WAIT_OPEN | WAIT_LEFT);
	owed.times = 0;
	for (owed.site = 0; owed.site < WAIT_SITES; owed.site++) {
		owed.others_ns = e->sites[owed.site].owed_ns;
		if (owed.others_ns && owed.site != e->wait.site)
			s->config.record(s->config.ctx, &owed, sizeof(owed));
	}
}

/* Has the record any time that isn't in another record? */
static bool has_time(const struct rec_wait *rec)
{
	return rec->sample.weight || rec->others_ns || rec->gil_ns || rec->gil_others_ns ||
	       rec->sample.blame_ns;
}

static void hand_on(struct sampler *s, struct wait_entry *e)
{
	struct rec_sample *rec = &e->wait.sample;
	struct counted last;
	uint64_t ns;

	/* the entry is new: the program hasn't begun to add up the thread's times yet */
	if (!e->start_ns)
		return;
	last = since_it_left(s, e);
	/*
	 * The thread was ready to run when it left its CPU, and still is, unless it got a CPU
	 * without any program noticing.
	 */
	if (!e->has_cpu && e->phase == WAIT_RUNS)
		last.delay_ns = s->ended_ns - MIN(e->left_ns + last.cpu_ns, s->ended_ns);
	ns = last_wait(s, e, last.delay_ns + (e->phase == WAIT_WAITS ? last.cpu_ns : 0));
	if (e->phase == WAIT_RUNS)
		e->wait.since_ns = s->ended_ns;
	if (e->phase != WAIT_IS_OVER || !e->times)
		/* the waker (the thread that ended a wait) in this entry ended an earlier wait */
		e->wait.waker.tid = 0;
	rec->time_ns = e->phase == WAIT_IS_OVER ? e->over_ns : s->ended_ns;
	if (e->phase != WAIT_IS_OVER)
		e->over_ns = s->ended_ns;
	add_gil(s, e);
	add_last(e, ns);
	rec->ready_ns = e->delay_ns + last.delay_ns - e->delay_begin_ns;
	rec->stolen_ns = e->stolen_ns;
	rec->source = (uint8_t)waits_source(s);
	e->wait.others_ns = e->sites[e->wait.site % WAIT_SITES].owed_ns;
	if (has_record(s, rec)) {
		if (has_time(&e->wait))
			s->config.record(s->config.ctx, &e->wait, sizeof(e->wait));
		hand_on_owed(s, e);
	}
	rec->time_ns = s->ended_ns;
	hand_on_account(s, e, ns, &last);
}

/*
 * If an entry is deleted while the map is being read, the kernel may start over. So the number of
 * reads is limited.
 */
bool waits_next(const struct sampler *s, uint32_t *key, unsigned *n, struct wait_entry *e)
{
	unsigned most = 2 * bpf_map__max_entries(s->skel->maps.waits);
	int fd = bpf_map__fd(s->skel->maps.waits);

	while (*n < most && !bpf_map_get_next_key(fd, *n ? key : NULL, key)) {
		++*n;
		if (!bpf_map_lookup_elem(fd, key, e))
			return true;
	}
	return false;
}

void waits_read_open(struct sampler *s)
{
	struct wait_entry e;
	unsigned n = 0;
	uint32_t key;

	if (s->waits_read || waits_source(s) < 0)
		return;
	s->waits_read = true;
	while (waits_next(s, &key, &n, &e))
		if (!blocked_is_doubted(s, key, &e))
			hand_on(s, &e);
}

/*
 * If an entry has changed less than this long ago, a program may be changing it while krait reads
 * it.
 */
#define SETTLED_NS NSEC_PER_MSEC

/* Returns when the entry last changed, according to the times of the thread's last wait. */
static uint64_t changed_ns(const struct wait_entry *e)
{
	return e->phase == WAIT_WAITS ? e->wait.since_ns : e->over_ns;
}

/* Makes the record that the wait of @e would have if the wait were over at @now_ns. */
static void wait_until(const struct sampler *s, struct wait_entry *e, uint64_t now_ns)
{
	bool waits = e->phase == WAIT_WAITS;

	e->wait.sample.time_ns = waits ? now_ns : e->over_ns;
	e->wait.sample.weight = waits ? now_ns - e->wait.since_ns : e->away_ns;
	e->wait.gil_ns = !waits ? e->gil_ns : waits_for_gil(e) ? now_ns - e->wait.since_ns : 0;
	e->wait.sample.blame_ns = waits ? blame_since(s, e, now_ns) : e->held_ns;
	e->wait.sample.source = (uint8_t)waits_source(s);
	if (e->times && e->wait.sample.type == REC_WAIT)
		return;
	/* the record has no stack, or the stack of an earlier wait */
	e->wait.sample.stack = 0;
	e->wait.sample.outcome = WALK_PENDING;
}

/*
 * How many entries of map `waits` one system call reads. waits_next() needs two calls for each
 * entry, and an agent reads the map twice a second.
 */
#define BATCH 64

struct entries {
	uint32_t key[BATCH];
	struct wait_entry value[BATCH];
};

/* Calls @fn for entry @e of thread @host_tid, which was read after @now_ns, if its wait is open. */
static void give_open(struct sampler *s, uint32_t host_tid, struct wait_entry *e, uint64_t now_ns,
		      sampler_open_fn fn, void *ctx)
{
	if (!e->start_ns || e->phase == WAIT_RUNS || blocked_is_doubted(s, host_tid, e) ||
	    changed_ns(e) + SETTLED_NS > now_ns)
		return;
	wait_until(s, e, now_ns);
	fn(ctx, &e->wait, e->times == 0);
}

void sampler_open_waits(struct sampler *s, sampler_open_fn fn, void *ctx)
{
	bool any = waits_source(s) >= 0 && !s->waits_read;
	_cleanup_free_ struct entries *all = any ? malloc(sizeof(*all)) : NULL;
	int map = bpf_map__fd(s->skel->maps.waits), r = 0;
	uint32_t at, *from = NULL; /* where the kernel goes on; NULL: at the map's beginning */

	if (!all)
		return;
	/* -ENOENT comes with the last entries of the map */
	while (!r) {
		uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		uint32_t n = BATCH;

		r = bpf_map_lookup_batch(map, from, &at, all->key, all->value, &n, NULL);
		for (uint32_t i = 0; i < n && (!r || r == -ENOENT); i++)
			give_open(s, all->key[i], &all->value[i], now_ns, fn, ctx);
		from = &at;
	}
	if (r != -ENOENT)
		log_info("can't read the map of waits: %s", strerror(-r));
}

void sampler_waiting_stacks(struct sampler *s, void (*keep)(void *ctx, uint64_t stack), void *ctx)
{
	struct wait_entry e;
	unsigned n = 0;
	uint32_t key;

	if (waits_source(s) < 0)
		return;
	while (waits_next(s, &key, &n, &e)) {
		if (e.wait.sample.stack)
			keep(ctx, e.wait.sample.stack);
		if (e.wait.waker.tid && e.wait.waker.stack)
			keep(ctx, e.wait.waker.stack);
	}
}
