/* SPDX-License-Identifier: BSD-2-Clause */
/* Loading, attaching, draining; see sampler.h. */
#include "sampler/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "proc/cpus.h"
#include "sample.skel.h"

struct sampler {
	struct sampler_config config;
	struct sample_bpf *skel;
	struct ring_buffer *rings;
	struct event_set events;
	VEC(struct bpf_link *) links;
	VEC(int) ring_fds;
	struct py_layout layouts[ABI_MAX_LAYOUTS];
	unsigned n_layouts;
	int n_cpus;
};

static int log_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char text[512];

	if (log_level() < (level == LIBBPF_DEBUG ? LOG_DEBUG : LOG_INFO))
		return 0;
	vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	log_debug("%s", text);
	return 0;
}

static int on_record(void *ctx, void *data, size_t n)
{
	struct sampler *s = ctx;

	s->config.record(s->config.ctx, data, n);
	return 0;
}

/*
 * krait's own PID namespace: the programs report numbers of this one. Its depth can't be seen from
 * inside, so it is known by its inode; the host's has a fixed one (include/linux/proc_ns.h,
 * PROC_PID_INIT_INO).
 */
#define HOST_PIDNS_INUM 0xEFFFFFFCu

static void set_pidns(struct sampler *s)
{
	struct stat st;

	if (!stat("/proc/self/ns/pid", &st) && st.st_ino != HOST_PIDNS_INUM)
		s->skel->rodata->pidns_inum = st.st_ino;
}

static size_t ring_bytes(const struct sampler *s)
{
	size_t bytes = SAMPLER_RING_LEAST;

	if (s->config.ring_bytes)
		return s->config.ring_bytes;
	while (bytes * 2 * s->n_cpus <= SAMPLER_RINGS_BYTES)
		bytes *= 2;
	return bytes;
}

static int add_ring(struct sampler *s, uint32_t cpu)
{
	size_t bytes = ring_bytes(s);
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "krait_ring", 0, 0, bytes, NULL), r;

	if (fd < 0)
		return err_sys(fd, "can't create a ring of %zu bytes for CPU %u", bytes, cpu);
	r = vec_push(&s->ring_fds, fd);
	if (r) {
		close(fd);
		return err_sys(r, "rings");
	}
	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.rings), &cpu, &fd, BPF_ANY))
		return err_sys(-errno, "can't hand the ring of CPU %u to the kernel", cpu);
	if (!s->rings) {
		s->rings = ring_buffer__new(fd, on_record, s, NULL);
		return s->rings ? 0 : err_sys(-errno, "can't map a ring");
	}
	r = ring_buffer__add(s->rings, fd, on_record, s);
	return r ? err_sys(r, "can't map a ring") : 0;
}

static int load(struct sampler *s)
{
	int r;

	libbpf_set_print(log_libbpf);
	s->n_cpus = libbpf_num_possible_cpus();
	if (s->n_cpus < 1)
		return err_set(-EINVAL, "the kernel doesn't say how many CPUs there are");
	s->skel = sample_bpf__open();
	if (!s->skel)
		return err_sys(-errno, "can't open the kernel programs");
	bpf_map__set_max_entries(s->skel->maps.stagings, s->n_cpus);
	bpf_map__set_max_entries(s->skel->maps.rings, s->n_cpus);
	s->skel->rodata->whole_machine = s->config.whole_machine;
	s->skel->rodata->follow_children = s->config.follow_children;
	set_pidns(s);
	r = sample_bpf__load(s->skel);
	if (r)
		return err_sys(r, "the kernel refused krait's programs; `krait doctor` says why");
	return 0;
}

static int open_rings(struct sampler *s)
{
	cpu_vec cpus = {};
	int r = cpus_online(&cpus);

	for (size_t i = 0; !r && i < cpus.n; i++)
		r = add_ring(s, cpus.v[i]);
	vec_fini(&cpus);
	return r;
}

static int attach(struct sampler *s)
{
	int r = event_set_open(&s->events, &s->config.event, s->config.watch_throttle);

	if (r)
		return r;
	vec_foreach(e, &s->events.cpus) {
		struct bpf_link *link =
			bpf_program__attach_perf_event(s->skel->progs.on_sample, e->fd);

		if (!link)
			return err_sys(-errno, "can't attach to CPU %d", e->cpu);
		/* The link would close the event's descriptor as well. */
		r = vec_push(&s->links, link);
		if (r) {
			bpf_link__destroy(link);
			return err_sys(r, "links");
		}
	}
	return 0;
}

int sampler_open(struct sampler **ret, const struct sampler_config *config)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_sys(-ENOMEM, "sampler");
	s->config = *config;
	r = load(s);
	if (!r)
		r = open_rings(s);
	if (!r)
		r = attach(s);
	if (r) {
		sampler_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	vec_foreach(link, &s->links)
		bpf_link__destroy(*link);
	event_set_close(&s->events);
	ring_buffer__free(s->rings);
	vec_foreach(fd, &s->ring_fds)
		close(*fd);
	sample_bpf__destroy(s->skel);
	vec_fini(&s->links);
	vec_fini(&s->ring_fds);
	free(s);
}

int sampler_enable(struct sampler *s, bool on)
{
	int r = event_set_enable(&s->events, on);

	s->skel->bss->armed = on;
	return r ? err_sys(r, "can't %s sampling", on ? "start" : "stop") : 0;
}

static int update(struct bpf_map *map, const void *key, const void *value)
{
	return bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY) ? -errno : 0;
}

/* A process that was judged unwanted is judged again at its next sample. */
static void forget_if_ignored(struct sampler *s, pid_t tgid)
{
	int fd = bpf_map__fd(s->skel->maps.procs);
	uint32_t key = tgid;
	struct proc_entry e;

	if (!bpf_map_lookup_elem(fd, &key, &e) && e.state == PROC_IGNORED)
		bpf_map_delete_elem(fd, &key);
}

int sampler_add_root(struct sampler *s, pid_t tgid)
{
	uint32_t key = tgid, one = 1;
	int r = update(s->skel->maps.roots, &key, &one);

	if (r)
		return err_sys(r, "can't add process %d", tgid);
	forget_if_ignored(s, tgid); /* sampled before it was a root */
	return 0;
}

void sampler_remove_root(struct sampler *s, pid_t tgid)
{
	uint32_t key = tgid;

	bpf_map_delete_elem(bpf_map__fd(s->skel->maps.roots), &key);
}

/* Lowest of the fields that every frame's proof and naming need: one read from there has them all.
 */
static void finish_layout(struct py_layout *l)
{
	uint16_t fields[] = {l->code_firstlineno, l->code_filename, l->code_name,
			     l->code_linetable};
	uint16_t low = UINT16_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		low = MIN(low, fields[i]);
	l->code_block = low & ~7u;
}

int sampler_add_layout(struct sampler *s, const struct py_layout *layout, uint16_t *index)
{
	struct py_layout l = *layout;
	uint32_t key = s->n_layouts;
	int r;

	finish_layout(&l);
	for (unsigned i = 0; i < s->n_layouts; i++) {
		if (memcmp(&s->layouts[i], &l, sizeof(l)))
			continue;
		*index = i;
		return 0;
	}
	if (key >= ABI_MAX_LAYOUTS)
		return err_set(-ENOSPC, "more than %d different interpreters", ABI_MAX_LAYOUTS);
	r = update(s->skel->maps.layouts, &key, &l);
	if (r)
		return err_sys(r, "can't add an interpreter's layout");
	s->layouts[key] = l;
	*index = s->n_layouts++;
	return 0;
}

const struct py_layout *sampler_layout(const struct sampler *s, uint16_t index)
{
	return index < s->n_layouts ? &s->layouts[index] : NULL;
}

int sampler_set_proc(struct sampler *s, const struct proc_key *key, enum proc_state state,
		     const struct py_where *where, const struct image_place *place)
{
	struct proc_entry e = {.key = *key, .state = state};
	uint32_t tgid = key->tgid;
	int r;

	if (where)
		e.where = *where;
	if (place)
		e.place = *place;
	r = update(s->skel->maps.procs, &tgid, &e);
	return r ? err_sys(r, "can't describe process %u", tgid) : 0;
}

void sampler_suspect(struct sampler *s, pid_t tgid)
{
	uint32_t key = tgid, one = 1;

	(void)!update(s->skel->maps.suspects, &key, &one);
	forget_if_ignored(s, tgid);
}

int sampler_add_exe(struct sampler *s, const struct exe_key *key, const struct exe_entry *entry)
{
	int r = update(s->skel->maps.exes, key, entry);

	return r ? err_sys(r, "can't describe an executable") : 0;
}

int sampler_fd(const struct sampler *s)
{
	return ring_buffer__epoll_fd(s->rings);
}

int sampler_drain(struct sampler *s)
{
	int r = ring_buffer__consume(s->rings);

	event_set_poll(&s->events);
	return r < 0 ? err_sys(r, "can't read the rings") : r;
}

const char *sampler_counter_words(unsigned i)
{
	static const char *const words[] = {
#define X(name, text) text,
		BPF_COUNTERS(X)
#undef X
	};

	return i < COUNT_MAX ? words[i] : "";
}

static uint64_t read_counter(struct sampler *s, uint32_t counter)
{
	uint64_t sum = 0;
	_cleanup_free_ uint64_t *v = calloc(s->n_cpus, sizeof(*v));

	if (!v || bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.counters), &counter, v))
		return 0;
	for (int i = 0; i < s->n_cpus; i++)
		sum += v[i];
	return sum;
}

/* "memlock:\tN" in fdinfo is what the map's memory costs, since kernel 4.12. */
static size_t fd_memory(int fd)
{
	char path[64], line[256];
	size_t bytes = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "memlock:\t%zu", &bytes);
	if (f)
		fclose(f);
	return bytes;
}

void sampler_stats(struct sampler *s, struct sampler_stats *ret)
{
	struct bpf_prog_info info = {};
	uint32_t n = sizeof(info);
	struct bpf_map *map;

	*ret = (struct sampler_stats){.throttled = s->events.throttled,
				      .throttled_ns = s->events.throttled_ns};
	for (uint32_t i = 0; i < COUNT_MAX; i++)
		ret->counters[i] = read_counter(s, i);
	if (!bpf_obj_get_info_by_fd(bpf_program__fd(s->skel->progs.on_sample), &info, &n)) {
		ret->run_ns = info.run_time_ns;
		ret->run_count = info.run_cnt;
	}
	bpf_object__for_each_map(map, s->skel->obj) ret->map_bytes += fd_memory(bpf_map__fd(map));
	vec_foreach(fd, &s->ring_fds)
		ret->map_bytes += fd_memory(*fd);
}
