/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The side band: perf's reports of what processes do. The records of all CPUs' rings are merged by
 * time, because a process may fork on one CPU and exec on another.
 */
#include "sampler/sideband/sideband.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "proc/machine/cpus.h"
#include "sampler/sideband/internal.h"

#define WATCHED	   0xffffffffu /* the number that stands for .watched in events of .epfd */
#define LOOK_BYTES 8192 /* the most bytes of records that sideband_has_more() looks through */

/*
 * Finds the processes that end according to the records in the rings, in a first reading of these
 * records. In the second reading such processes aren't examined: many processes end soon after they
 * begin.
 */
static void note_lives(struct sideband *s, uint64_t now_ns)
{
	lives_clear(&s->lives);
	vec_foreach(c, &s->cpus) {
		/*
		 * reads with a copy of the position, so that the records stay in the ring for the
		 * second reading
		 */
		struct perf_ring ring = c->ring;
		const struct perf_event_header *h;

		for (; (h = perf_ring_peek(&ring)); perf_ring_next(&ring)) {
			struct record r;

			if (sideband_split(h, &r))
				sideband_note_life(s, &r, now_ns);
		}
	}
}

/*
 * Returns the channel whose next record is the oldest of all, and sets *ret to that record; NULL:
 * all rings are empty.
 */
static struct channel *oldest(struct sideband *s, struct record *ret)
{
	struct channel *best = NULL;
	struct record r = {};

	vec_foreach(c, &s->cpus) {
		const struct perf_event_header *h = perf_ring_peek(&c->ring);

		while (h && !sideband_split(h, &r)) {
			s->stats.malformed++;
			perf_ring_next(&c->ring);
			h = perf_ring_peek(&c->ring);
		}
		if (h && (!best || r.time_ns < ret->time_ns)) {
			best = c;
			*ret = r;
		}
	}
	return best;
}

/*
 * Removes events of CPUs that went offline. Such an event reports a hang-up all the time, so the
 * caller's epoll_wait() would never sleep. Events that epoll_wait() reports in this function don't
 * wake the caller again, so their records must be read afterwards.
 */
static void forget_hung_up(struct sideband *s)
{
	struct epoll_event ev[32];
	int n = epoll_wait(s->epfd, ev, ARRAY_SIZE(ev), 0);

	for (int i = 0; i < n; i++)
		if (!(ev[i].events & (EPOLLHUP | EPOLLERR)))
			continue;
		else if (ev[i].data.u32 == WATCHED)
			sideband_unwatch(s);
		else
			epoll_ctl(s->epfd, EPOLL_CTL_DEL, s->cpus.v[ev[i].data.u32].fd, NULL);
}

/*
 * Notes in all rings up to where records were written. Returns true if a ring was so full that the
 * kernel may have dropped a record.
 */
static bool begin_all(struct sideband *s)
{
	bool full = false;

	vec_foreach(c, &s->cpus) {
		perf_ring_begin(&c->ring);
		full |= c->ring.head - c->ring.tail + sideband_longest() > c->ring.bytes;
	}
	return full;
}

static void empty_watched(struct sideband *s)
{
	struct perf_ring *r = &s->watched.ring;

	if (s->watched.fd < 0)
		return;
	perf_ring_begin(r);
	while (perf_ring_peek(r))
		perf_ring_next(r);
	perf_ring_end(r);
}

size_t sideband_drain(struct sideband *s)
{
	struct channel *c;
	struct record r = {};
	uint64_t now_ns;
	bool full;
	size_t n = 0;

	/* the last sideband_drain() found no record, so a hang-up may have woken the caller */
	if (s->was_empty)
		forget_hung_up(s);
	empty_watched(s);
	now_ns = clock_ns(CLOCK_MONOTONIC);
	full = begin_all(s);
	note_lives(s, now_ns);
	for (; (c = oldest(s, &r)); n++) {
		if (!sideband_dispatch(s, &r))
			s->stats.malformed++;
		perf_ring_next(&c->ring);
		/*
		 * The ring's space is given back as soon as a record was read, because the
		 * callbacks may take long.
		 */
		perf_ring_end(&c->ring);
	}
	vec_foreach(it, &s->cpus)
		perf_ring_end(&it->ring);
	if (full && s->config.ops->lost)
		s->config.ops->lost(s->config.ctx, 0);
	s->stats.records += n;
	s->was_empty = !n;
	return n;
}

static bool ring_has(const struct perf_ring *from, uint32_t tgid)
{
	/*
	 * a copy of the position, so that the records stay in the ring for the next
	 * sideband_drain()
	 */
	struct perf_ring ring = *from;
	const struct perf_event_header *h;
	struct record r;

	for (perf_ring_begin(&ring); (h = perf_ring_peek(&ring)); perf_ring_next(&ring))
		if (!sideband_split(h, &r) || sideband_is_of(&r, tgid))
			return true;
	return ring.malformed != from->malformed;
}

bool sideband_has_more(const struct sideband *s, uint32_t tgid)
{
	uint64_t bytes = 0;

	vec_foreach(c, &s->cpus)
		bytes += perf_ring_unread(&c->ring);
	if (bytes > LOOK_BYTES)
		return true;
	vec_foreach(c, &s->cpus)
		if (ring_has(&c->ring, tgid))
			return true;
	return false;
}

static int open_event(pid_t tid, int cpu, uint32_t wakeup_bytes)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.disabled = 1,
		/*
		 * the event takes no samples; excluding the kernel makes opening it need fewer
		 * rights
		 */
		.exclude_kernel = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = wakeup_bytes ? wakeup_bytes : 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	return perf_event_open_fd(&attr, tid, cpu);
}

static int open_channel(struct sideband *s, int cpu)
{
	_cleanup_close_ int fd = open_event(-1, cpu, s->config.wakeup_bytes);
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = (uint32_t)s->cpus.n};
	struct channel c = {.cpu = cpu};
	int r;

	if (fd == -ENODEV || fd == -ENXIO)
		return 0; /* the CPU has gone offline since the list of CPUs was read */
	if (fd < 0)
		return perf_event_error(fd, "watching which process maps which file");
	r = perf_ring_map(&c.ring, fd, s->config.ring_bytes);
	if (r)
		return err_sys(r, "can't map %zu KiB for events of CPU %d",
			       s->config.ring_bytes >> 10, cpu);
	c.fd = fd;
	r = epoll_ctl(s->epfd, EPOLL_CTL_ADD, fd, &ev) ? -errno : vec_push(&s->cpus, c);
	if (r) {
		perf_ring_unmap(&c.ring);
		return err_sys(r, "can't watch the events of CPU %d", cpu);
	}
	s->stats.ring_bytes += c.ring.bytes;
	TAKE_FD(fd);
	return 0;
}

static int open_all(struct sideband *s)
{
	cpu_vec cpus = {};
	int r = cpus_online(&cpus);

	vec_foreach(cpu, &cpus)
		r = r ? r : open_channel(s, *cpu);
	vec_fini(&cpus);
	if (!r && !s->cpus.n)
		r = err_set(-ENODEV, "no CPU takes perf events");
	vec_foreach(c, &s->cpus)
		if (!r && ioctl(c->fd, PERF_EVENT_IOC_ENABLE, 0))
			r = err_sys(-errno, "can't switch on the events of CPU %d", c->cpu);
	return r;
}

int sideband_open(struct sideband **ret, const struct sideband_config *config)
{
	struct sideband *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_sys(-ENOMEM, "can't watch processes");
	s->config = *config;
	s->watched.fd = -1;
	if (!s->config.ring_bytes)
		s->config.ring_bytes = SIDEBAND_RING_BYTES;
	s->epfd = epoll_create1(EPOLL_CLOEXEC);
	r = s->epfd < 0 ? err_sys(-errno, "can't watch processes") : open_all(s);
	if (r) {
		sideband_close(s);
		return r;
	}
	s->stats.cpus = s->cpus.n;
	*ret = s;
	return 0;
}

static void close_all(struct sideband *s)
{
	vec_foreach(c, &s->cpus) {
		s->stats.malformed += c->ring.malformed;
		s->stats.ring_bytes -= c->ring.bytes;
		perf_ring_unmap(&c->ring);
		close(c->fd);
	}
	s->cpus.n = 0;
}

int sideband_renew_cpus(struct sideband *s)
{
	int r;

	sideband_drain(s);
	close_all(s);
	r = open_all(s);
	s->stats.cpus = s->cpus.n;
	if (s->config.ops->lost)
		s->config.ops->lost(s->config.ctx, 0);
	return r;
}

void sideband_close(struct sideband *s)
{
	if (!s)
		return;
	sideband_unwatch(s);
	close_all(s);
	vec_fini(&s->cpus);
	lives_fini(&s->lives);
	if (s->epfd >= 0)
		close(s->epfd);
	free(s);
}

/* the ring for a watched thread has one page: its reader is woken for each record */
#define WATCHED_BYTES 4096

int sideband_watch(struct sideband *s, pid_t tid)
{
	_cleanup_close_ int fd = open_event(tid, -1, 0);
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = WATCHED};
	int r;

	sideband_unwatch(s);
	if (fd < 0)
		return perf_event_error(fd, "watching what the command maps");
	r = perf_ring_map(&s->watched.ring, fd, WATCHED_BYTES);
	if (r)
		return err_sys(r, "can't map a ring for the command's events");
	if (epoll_ctl(s->epfd, EPOLL_CTL_ADD, fd, &ev) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		r = -errno;
		perf_ring_unmap(&s->watched.ring);
		return err_sys(r, "can't watch the command's events");
	}
	s->watched.fd = TAKE_FD(fd);
	return 0;
}

void sideband_unwatch(struct sideband *s)
{
	if (s->watched.fd < 0)
		return;
	perf_ring_unmap(&s->watched.ring);
	close(s->watched.fd);
	s->watched.fd = -1;
}

int sideband_fd(const struct sideband *s)
{
	return s->epfd;
}

void sideband_stats(const struct sideband *s, struct sideband_stats *ret)
{
	*ret = s->stats;
	vec_foreach(c, &s->cpus)
		ret->malformed += c->ring.malformed;
}
