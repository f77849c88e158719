/* SPDX-License-Identifier: BSD-2-Clause */
/* Loads and attaches the kernel programs, and reads their records; see sampler.h. */
#include "sampler/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "sample.skel.h"
#include "sampler/internal.h"
#include "sampler/kernel_types.h"

/*
 * How much of libbpf's text about a refused program is kept: its last lines say why the program was
 * refused, but the whole text may have megabytes.
 */
#define LIBBPF_TAIL 4000

int sampler_log_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	enum log_level as = level == LIBBPF_DEBUG ? LOG_DEBUG : LOG_INFO;
	_cleanup_free_ char *text = NULL;
	char *line, *rest;
	int n;

	if (log_level() < as)
		return 0;
	n = vasprintf(&text, fmt, ap);
	if (n < 0) {
		text = NULL;
		return 0;
	}
	rest = text;
	if (n > LIBBPF_TAIL)
		rest = strchrnul(text + n - LIBBPF_TAIL, '\n');
	while ((line = strsep(&rest, "\n")))
		if (*line)
			log_at(as, "%s", line);
	return 0;
}

/*
 * Finds krait's own PID namespace, because the programs report numbers of that namespace. How deep
 * it lies can't be seen from inside, so it is identified by its inode. The host's namespace has a
 * fixed inode (include/linux/proc_ns.h, PROC_PID_INIT_INO).
 */
#define HOST_PIDNS_INUM 0xEFFFFFFCu

uint32_t sampler_pidns(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == HOST_PIDNS_INUM)
		return 0;
	return (uint32_t)st.st_ino;
}

static bool attach_watch(struct sampler *s, struct bpf_program *prog)
{
	struct bpf_link *link = bpf_program__attach(prog);

	if (!link)
		return false;
	if (!vec_push(&s->links, link))
		return true;
	bpf_link__destroy(link);
	return false;
}

/*
 * Attaches a program that notices changes of a process's mappings: on_munmap or, if this kernel
 * doesn't allow that, on_place. libbpf's message about a program that can't be attached isn't
 * printed.
 */
static void watch_unmap(struct sampler *s)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL);

	s->sees_unmaps = attach_watch(s, s->skel->progs.on_munmap);
	if (!s->sees_unmaps && !attach_watch(s, s->skel->progs.on_place))
		log_info("this kernel doesn't let krait watch which memory processes unmap");
	libbpf_set_print(print);
}

bool sampler_sees_unmaps(const struct sampler *s)
{
	return s->sees_unmaps;
}

static int open_unwind(struct sampler *s)
{
	const struct unwind_store_maps maps = {
		.slabs = bpf_map__fd(s->skel->maps.slabs),
		.tables = bpf_map__fd(s->skel->maps.unwind_tables),
		.rules = bpf_map__fd(s->skel->maps.unwind_rules),
		.spaces = bpf_map__fd(s->skel->maps.spaces),
	};

	if (s->config.native == NATIVE_MODE_NONE)
		return 0;
	watch_unmap(s);
	return unwind_store_open(&s->unwind, &maps, unwind_store_slabs(s->config.unwind_bytes));
}

struct unwind_store *sampler_unwind(struct sampler *s)
{
	return s->unwind;
}

static bool has_statistics(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/sys/kernel/bpf_stats_enabled", "re");

	return f && fgetc(f) == '1';
}

static void describe_sources(struct sampler *s)
{
	s->skel->rodata->n_sources = s->config.n_sources;
	for (unsigned i = 0; i < s->config.n_sources; i++) {
		const struct sampler_source *source = &s->config.sources[i];

		s->skel->bss->source_weight[i] =
			source->event.source->clock ? source->event.period : 0;
		s->skel->rodata->source_config[i].kernel_stack = source->kernel;
	}
}

/*
 * How many slots do the loaded programs need? A slot (bpf/slot.bpf.h) is memory for the state of a
 * program that walks a stack. Programs of perf events need the first slot, programs of waits the
 * second slot, fexit programs all slots. The program of execve() needs no slot, because it walks no
 * stack.
 */
static uint32_t slots_needed(const struct sampler *s, uint32_t all)
{
	struct bpf_program *program;
	uint32_t n = 1;

	bpf_object__for_each_program(program, s->skel->obj)
	{
		if (!bpf_program__autoload(program) || program == s->skel->progs.on_exec ||
		    bpf_program__type(program) != BPF_PROG_TYPE_TRACING)
			continue;
		n = MAX(n,
			program == s->skel->progs.on_switch || program == s->skel->progs.on_waking
				? 2
				: all);
	}
	return n;
}

/*
 * Makes only as many slots (memory for programs that walk stacks) as programs use, because a slot
 * takes 260 KiB for each CPU.
 */
static void set_slots(struct sampler *s)
{
	struct bpf_map *const maps[] = {
		s->skel->maps.walk_states,    s->skel->maps.walk_outs,
		s->skel->maps.walk_addresses, s->skel->maps.native_states,
		s->skel->maps.native_outs,    s->skel->maps.meetings,
	};
	uint32_t all = bpf_map__max_entries(s->skel->maps.walk_states);
	uint32_t n = slots_needed(s, all);

	s->skel->rodata->n_slots = n;
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		bpf_map__set_max_entries(maps[i], n);
	bpf_map__set_max_entries(s->skel->maps.stagings, s->n_cpus * n);
}

static int refused(int r)
{
	if (r == -EMFILE)
		return err_set(r, "too few files may be open for krait's programs; raise the limit "
				  "with `ulimit -n 65536`");
	/* libbpf returns -ESRCH if it finds no type information of the kernel */
	if (r == -ESRCH && access("/sys/kernel/btf/vmlinux", R_OK))
		return err_set(-ENOSYS, "krait's programs need the kernel's type information "
					"(BTF), and /sys/kernel/btf/vmlinux can't be read");
	return err_sys(r, "the kernel refused krait's programs");
}

/*
 * Gives the memory of the object file back to the system, because it isn't read again once the
 * programs are loaded. It can be read again from krait's own file, of which it is a part.
 */
static void give_back_object(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin, end;
	size_t n;

	begin = (uintptr_t)sample_bpf__elf_bytes(&n);
	end = (begin + n) & -page;
	begin = (begin + page - 1) & -page;
	if (begin < end)
		madvise((void *)begin, end - begin, MADV_DONTNEED);
}

static struct sample_bpf *open_programs(struct kernel_types *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	size_t n;

	opts.btf_custom_path = kernel_types_open(types, sample_bpf__elf_bytes(&n));
	return sample_bpf__open_opts(&opts);
}

static int load(struct sampler *s)
{
	_cleanup_(kernel_types_close) struct kernel_types types = {.fd = -1};
	int r;

	libbpf_set_print(sampler_log_libbpf);
	s->n_cpus = libbpf_num_possible_cpus();
	if (s->n_cpus < 1)
		return err_set(-EINVAL,
			       "the kernel doesn't say in /sys/devices/system/cpu/possible which "
			       "CPUs there are; is /sys mounted?");
	s->skel = open_programs(&types);
	if (!s->skel)
		return err_sys(-errno, "can't open the kernel programs");
	waits_prepare(s);
	set_slots(s);
	bpf_map__set_max_entries(s->skel->maps.rings, s->n_cpus);
	if (s->config.whole_machine)
		/* the programs never look into this map; its memory is allocated at load */
		bpf_map__set_max_entries(s->skel->maps.roots, 1);
	s->skel->rodata->whole_machine = s->config.whole_machine;
	s->skel->rodata->all_processes = s->config.all_processes;
	s->skel->rodata->follow_children = s->config.follow_children;
	s->skel->rodata->patient = s->config.patient;
	s->skel->rodata->native_mode = s->config.native;
	s->skel->rodata->native_instructions = s->config.native_instructions;
	s->skel->rodata->measures = has_statistics();
	describe_sources(s);
	bpf_map__set_max_entries(s->skel->maps.slabs, unwind_store_slabs(s->config.unwind_bytes));
	s->skel->rodata->pidns_inum = sampler_pidns();
	r = sample_bpf__load(s->skel);
	give_back_object();
	return r ? refused(r) : 0;
}

int sampler_open(struct sampler **ret, const struct sampler_config *config)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_sys(-ENOMEM, "sampler");
	s->config = *config;
	s->rings_fd = -1;
	r = load(s);
	if (!r)
		r = open_unwind(s);
	if (!r)
		r = per_cpu_open(s);
	if (!r && waits_source(s) >= 0)
		blocked_open(s);
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
	bpf_link__destroy(s->whole);
	per_cpu_close(s);
	unwind_store_close(s->unwind);
	tasks_close(s->tasks);
	sample_bpf__destroy(s->skel);
	vec_fini(&s->links);
	map_fini(&s->several);
	map_fini(&s->doubted);
	map_fini(&s->added);
	free(s);
}

int sampler_enable(struct sampler *s, bool on, uint64_t *ret_ns)
{
	int r;

	/*
	 * Unsetting .armed stops all events at the same moment; switching the events off takes
	 * time.
	 */
	if (!on) {
		s->skel->bss->armed = s->enabled = false;
		*ret_ns = s->ended_ns = clock_ns(CLOCK_MONOTONIC);
	}
	r = per_cpu_enable(s, on);
	s->skel->bss->unwind_epoch = unwind_store_epoch();
	if (on) {
		*ret_ns = s->skel->bss->began_ns = clock_ns(CLOCK_MONOTONIC);
		s->skel->bss->armed = s->enabled = true;
	}
	return r ? err_sys(r, "can't %s sampling", on ? "start" : "stop") : 0;
}

int sampler_set_rate(struct sampler *s, uint32_t hz)
{
	for (unsigned i = 0; i < s->config.n_sources; i++) {
		struct event *e = &s->config.sources[i].event, to = *e;
		int r;

		if (!e->source->clock || e->own_rate)
			continue;
		r = event_set_rate(&to, hz, 0);
		if (r)
			return r;
		*e = to;
		s->skel->bss->source_weight[i] = e->period;
		event_set_change(&s->sources[i], e);
	}
	return 0;
}

void sampler_set_wait_budget(struct sampler *s, uint32_t ppm)
{
	s->skel->data->wait_budget_ppm = ppm;
}

void sampler_send_again(struct sampler *s)
{
	s->skel->bss->sent_epoch++;
}

void sampler_settle(struct sampler *s, bool on)
{
	s->skel->bss->settled = on;
}

int sampler_fd(const struct sampler *s)
{
	return s->rings_fd;
}

int sampler_drain(struct sampler *s)
{
	int r = per_cpu_drain(s);

	if (!s->enabled && s->ended_ns)
		waits_read_open(s);
	s->skel->bss->unwind_epoch = unwind_store_epoch();
	per_cpu_vary(s);
	return r;
}

uint32_t sampler_rounds(const struct sampler *s)
{
	return s->rounds;
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

/* Returns the sum over all CPUs of entry @at of a per-CPU array. */
static uint64_t read_sum(struct sampler *s, const struct bpf_map *map, uint32_t at)
{
	uint64_t sum = 0;
	_cleanup_free_ uint64_t *v = calloc(s->n_cpus, sizeof(*v));

	if (!v || bpf_map_lookup_elem(bpf_map__fd(map), &at, v))
		return 0;
	for (int i = 0; i < s->n_cpus; i++)
		sum += v[i];
	return sum;
}

/* Reads the memory that a map takes: "memlock:\tN" in its fdinfo (Linux 4.12). */
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

static uint64_t skipped_runs(struct sampler *s)
{
	struct bpf_program *program;
	uint64_t sum = 0;

	bpf_object__for_each_program(program, s->skel->obj)
	{
		struct bpf_prog_info info = {};
		uint32_t n = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &n))
			sum += info.recursion_misses;
	}
	return sum;
}

uint64_t sampler_waits_left(struct sampler *s)
{
	return read_sum(s, s->skel->maps.counters, COUNT_WAITS_LEFT);
}

/* the counters of records that were lost in the kernel */
static const enum bpf_counter lost[] = {COUNT_RING_FULL, COUNT_NO_RING, COUNT_BUSY};

uint64_t sampler_lost(const struct sampler_stats *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lost); i++)
		n += s->counters[lost[i]];
	return n;
}

uint64_t sampler_lost_now(struct sampler *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lost); i++)
		n += read_sum(s, s->skel->maps.counters, lost[i]);
	return n;
}

void sampler_stats(struct sampler *s, struct sampler_stats *ret)
{
	struct bpf_prog_info info = {};
	uint32_t n = sizeof(info);

	*ret = (struct sampler_stats){};
	for (unsigned i = 0; i < s->config.n_sources; i++) {
		ret->sources[i].throttled = s->sources[i].throttled;
		ret->sources[i].throttled_ns =
			s->sources[i].throttled_ns / event_set_parts(&s->sources[i]);
		ret->sources[i].busy_ns = read_sum(s, s->skel->maps.source_busy_ns, i);
	}
	for (uint32_t i = 0; i < COUNT_MAX; i++)
		ret->counters[i] = read_sum(s, s->skel->maps.counters, i);
	ret->skipped = skipped_runs(s);
	if (!bpf_obj_get_info_by_fd(bpf_program__fd(s->skel->progs.on_sample), &info, &n)) {
		ret->run_ns = info.run_time_ns;
		ret->run_count = info.run_cnt;
		ret->longest_ns = s->skel->bss->longest_ns;
		ret->long_samples = s->skel->bss->long_samples;
	}
}

size_t sampler_map_bytes(struct sampler *s)
{
	size_t bytes = s->unwind ? unwind_store_bytes(s->unwind) : 0;
	struct bpf_map *map;

	bpf_object__for_each_map(map, s->skel->obj) bytes += fd_memory(bpf_map__fd(map));
	vec_foreach(ring, &s->cpu_rings)
		bytes += fd_memory(ring->fd);
	return bytes;
}

const char *sampler_library_version(void)
{
	const char *said = libbpf_version_string();

	return said + strspn(said, "v");
}
