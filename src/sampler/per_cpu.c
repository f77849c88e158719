/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens what each CPU needs: a ring, and an event that runs the program. CPUs may come online and
 * go offline.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/system/clock.h"
#include "base/error.h"
#include "proc/machine/cpus.h"
#include "sample.skel.h"
#include "sampler/inner_maps.h"
#include "sampler/internal.h"

/*
 * A target that makes new code all the time can fill a ring as fast as krait reads it. So all rings
 * together are read for at most TURNS_NS before other work is done, but each ring is read for at
 * least TURN_LEAST.
 */
#define TURNS_NS   (200 * NSEC_PER_MSEC)
#define TURN_LEAST (5 * NSEC_PER_MSEC)
#define TURN_CHECK 32 /* how many records are read from a ring between two looks at the time */

static bool on_record(void *ctx, const void *data, size_t n)
{
	struct sampler *s = ctx;
	const struct rec_sample *rec = data;

	if (rec->type == REC_SAMPLE || rec->type == REC_SAMPLE_END || rec->type == REC_WAIT)
		s->came[rec->source]++;
	s->config.record(s->config.ctx, data, n);
	return !(++s->taken % TURN_CHECK) && clock_ns(CLOCK_MONOTONIC) >= s->turn_ends_ns;
}

/*
 * The longest time that a round takes; see sampler_rounds(). A CPU that is taken from a kernel
 * program in the middle of writing a record keeps its ring from being read further. The last record
 * of a thread waits for two rounds, and must come before the thread is forgotten (KEPT_NS in
 * collect/thread/thread.c).
 */
#define ROUND_MOST_NS (2 * NSEC_PER_SEC)

static void begin_round(struct sampler *s)
{
	if (s->round_ns)
		return;
	s->round_ns = clock_ns(CLOCK_MONOTONIC);
	vec_foreach(ring, &s->cpu_rings)
		record_ring_mark(&ring->records);
}

static void end_round(struct sampler *s)
{
	bool over = true;

	vec_foreach(ring, &s->cpu_rings)
		over &= record_ring_reached(&ring->records);
	if (!over && clock_ns(CLOCK_MONOTONIC) < s->round_ns + ROUND_MOST_NS)
		return;
	s->rounds++;
	s->round_ns = 0;
}

/* After sampling has stopped, no records are added any more, so each ring is read to its end. */
int per_cpu_drain(struct sampler *s)
{
	uint64_t share_ns = TURNS_NS / (s->cpu_rings.n ? s->cpu_rings.n : 1);
	uint64_t turn_ns = MAX(share_ns, TURN_LEAST);
	int more = 0;

	begin_round(s);
	vec_foreach(ring, &s->cpu_rings) {
		int r;

		memset(s->came, 0, sizeof(s->came));
		s->turn_ends_ns = s->enabled ? clock_ns(CLOCK_MONOTONIC) + turn_ns : UINT64_MAX;
		r = record_ring_read(&ring->records, on_record, s);
		if (r < 0)
			return err_sys(r, "can't read the ring of CPU %d", ring->cpu);
		more |= r;
		for (unsigned i = 0; i < s->config.n_sources; i++)
			event_set_came(&s->sources[i], ring->cpu, s->came[i]);
	}
	end_round(s);
	return more;
}

/* Returns how many thousand samples a second one CPU takes, rounded up; 1 if that isn't known. */
static size_t thousands_of_samples(const struct sampler *s)
{
	size_t hz = 0;

	for (unsigned i = 0; i < s->config.n_sources; i++)
		hz += s->config.sources[i].event.hz;
	return MAX((hz + 999) / 1000, (size_t)1);
}

static size_t ring_bytes(const struct sampler *s)
{
	size_t all = SAMPLER_RINGS_BYTES * thousands_of_samples(s), bytes = SAMPLER_RING_LEAST;

	if (s->config.ring_bytes)
		return s->config.ring_bytes;
	while (bytes * 2 * s->n_cpus <= MIN(all, (size_t)SAMPLER_RINGS_MOST))
		bytes *= 2;
	return bytes;
}

/*
 * Maps a ring, and has epoll watch it. EPOLLET: when krait wakes up, it reads all rings, so epoll
 * needn't check again whether each ring is empty.
 */
static int map_ring(struct sampler *s, struct cpu_ring *ring, size_t bytes)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.fd = s->rings_fd};
	int r = record_ring_map(&ring->records, ring->fd, bytes);

	if (!r && epoll_ctl(s->rings_fd, EPOLL_CTL_ADD, ring->fd, &e))
		r = -errno;
	return r ? err_sys(r, "can't map the ring of CPU %d", ring->cpu) : 0;
}

static int make_ring(struct sampler *s, int cpu)
{
	size_t bytes = ring_bytes(s);
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "krait_ring", 0, 0, bytes, NULL), r;

	if (fd < 0)
		return err_sys(fd, "can't create a ring of %zu bytes for CPU %d", bytes, cpu);
	r = vec_push(&s->cpu_rings, (struct cpu_ring){.cpu = cpu, .fd = fd});
	if (r) {
		close(fd);
		return err_sys(r, "rings");
	}
	return map_ring(s, &s->cpu_rings.v[s->cpu_rings.n - 1], bytes);
}

/* Gives the kernel program the rings from number @first on. */
static int put_rings(struct sampler *s, size_t first)
{
	VEC(uint32_t) number = {};
	VEC(int) fds = {};
	int r = 0;

	for (size_t i = first; !r && i < s->cpu_rings.n; i++) {
		const struct cpu_ring *ring = &s->cpu_rings.v[i];

		r = vec_push(&number, (uint32_t)ring->cpu);
		r = r ? r : vec_push(&fds, ring->fd);
	}
	if (!r && fds.n)
		r = inner_maps_put(bpf_map__fd(s->skel->maps.rings), number.v, fds.v,
				   (uint32_t)fds.n);
	vec_fini(&number);
	vec_fini(&fds);
	return r ? err_sys(r, "can't hand the rings of the CPUs to the kernel") : 0;
}

static bool has_ring(const struct sampler *s, int cpu)
{
	vec_foreach(ring, &s->cpu_rings)
		if (ring->cpu == cpu)
			return true;
	return false;
}

/* Attaches the source's program to an event. Closing the event detaches the program. */
static int attach(struct sampler *s, const struct event_source *source, const struct event_cpu *c)
{
	struct bpf_program *program =
		bpf_object__find_program_by_name(s->skel->obj, source->program);

	if (ioctl(c->fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(program)))
		return err_sys(-errno, "can't attach to CPU %d", c->cpu);
	return 0;
}

static int open_rings(struct sampler *s)
{
	size_t before = s->cpu_rings.n;
	cpu_vec cpus = {};
	int r = cpus_online(&cpus);

	for (size_t i = 0; !r && i < cpus.n; i++)
		r = has_ring(s, cpus.v[i]) ? 0 : make_ring(s, cpus.v[i]);
	vec_fini(&cpus);
	return r ? r : put_rings(s, before);
}

/*
 * Attaches the program of a source with .whole: once, not on each CPU. The program stays attached
 * when CPUs come online or go offline.
 */
static int open_whole(struct sampler *s, const struct event_source *source)
{
	struct bpf_program *program =
		bpf_object__find_program_by_name(s->skel->obj, source->program);

	if (s->whole)
		return 0;
	s->whole = bpf_program__attach(program);
	if (!s->whole)
		return err_sys(-errno, "can't attach to %s", source->events[0].name);
	return waits_attach(s);
}

static int open_source(struct sampler *s, unsigned source)
{
	const struct event_set before = s->sources[source];
	int r;

	if (s->config.sources[source].event.source->whole)
		return open_whole(s, s->config.sources[source].event.source);
	r = event_set_open(&s->sources[source], &s->config.sources[source].event, source,
			   s->config.watch_throttle);
	if (r)
		return r;
	s->sources[source].throttled = before.throttled;
	s->sources[source].throttle_lost = before.throttle_lost;
	s->sources[source].throttled_ns = before.throttled_ns;
	vec_foreach(c, &s->sources[source].cpus)
		r = r ? r : attach(s, s->config.sources[source].event.source, c);
	return r;
}

static int open_sources(struct sampler *s)
{
	int r = 0;

	for (unsigned i = 0; !r && i < s->config.n_sources; i++)
		r = open_source(s, i);
	return r;
}

static void close_sources(struct sampler *s)
{
	for (unsigned i = 0; i < s->config.n_sources; i++)
		event_set_close(&s->sources[i]);
}

int per_cpu_enable(struct sampler *s, bool on)
{
	int r = 0;

	for (unsigned i = 0; i < s->config.n_sources; i++) {
		int q = event_set_enable(&s->sources[i], on);

		r = r ? r : q;
	}
	return r;
}

void per_cpu_vary(struct sampler *s)
{
	for (unsigned i = 0; i < s->config.n_sources; i++) {
		event_set_poll(&s->sources[i]);
		event_set_vary(&s->sources[i]);
	}
}

int per_cpu_open(struct sampler *s)
{
	int r;

	s->rings_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->rings_fd < 0)
		return err_sys(-errno, "epoll");
	r = open_rings(s);
	return r ? r : open_sources(s);
}

void per_cpu_close(struct sampler *s)
{
	close_sources(s);
	vec_foreach(ring, &s->cpu_rings) {
		record_ring_unmap(&ring->records);
		close(ring->fd);
	}
	if (s->rings_fd >= 0)
		close(s->rings_fd);
	vec_fini(&s->cpu_rings);
}

int sampler_renew_cpus(struct sampler *s)
{
	int r = open_rings(s);

	if (r)
		return r;
	close_sources(s);
	r = open_sources(s);
	return r || !s->enabled ? r : per_cpu_enable(s, true);
}
