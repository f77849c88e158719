/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bare PID HZ: runs bare.bpf.c on the samples of the single-threaded CPython process PID. For each
 * line on stdin, bare prints its sums so far as "SAMPLES STEPS RUN_COUNT RUN_NS"; it ends when
 * stdin ends. While it runs, the kernel's run-time statistics are on for all BPF programs. PID is
 * the process's number in the host's PID namespace.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "live.h"
#include "bare.skel.h"

/* The variables of bare.bpf.c's section .rodata. */
struct chain_start {
	uint64_t first_addr;
	uint32_t via_cframe, cframe_off, back_off;
};

static uint64_t peek(int pid, uint64_t addr)
{
	uint64_t v = 0;
	struct iovec local = {&v, sizeof(v)}, remote = {(void *)(uintptr_t)addr, sizeof(v)};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == sizeof(v) ? v : 0;
}

static bool find_chain(int pid, struct chain_start *ret)
{
	struct py_image image = {};
	const struct py_layout *l = &image.layout;
	uint64_t tstate;

	if (!live_find(pid, &image) || image.unsupported[0])
		return false;
	tstate = peek(pid, peek(pid, image.where.interp_head) + l->interp_tstate_head);
	*ret = (struct chain_start){.first_addr = tstate + l->tstate_frame,
				    .via_cframe = l->walk == PY_WALK_CFRAME,
				    .cframe_off = l->cframe_current_frame,
				    .back_off = l->frame_back};
	return tstate;
}

static int open_event(int pid, unsigned hz)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = NSEC_PER_SEC / hz};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void answer(struct bare_bpf *skel)
{
	struct bpf_prog_info info = {};
	uint32_t n = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(skel->progs.on_bare), &info, &n))
		return;
	printf("%llu %llu %llu %llu\n", (unsigned long long)skel->bss->samples,
	       (unsigned long long)skel->bss->steps, (unsigned long long)info.run_cnt,
	       (unsigned long long)info.run_time_ns);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int pid = argc == 3 ? atoi(argv[1]) : 0;
	struct chain_start start = {};
	struct bare_bpf *skel = NULL;
	char line[64];
	int stats, fd;

	if (!pid || !find_chain(pid, &start)) {
		fprintf(stderr, "usage: bare PID HZ, with a CPython process\n");
		return 2;
	}
	skel = bare_bpf__open();
	if (!skel)
		return 1;
	skel->rodata->first_addr = start.first_addr;
	skel->rodata->via_cframe = start.via_cframe;
	skel->rodata->cframe_off = start.cframe_off;
	skel->rodata->back_off = start.back_off;
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	fd = open_event(pid, (unsigned)atoi(argv[2]));
	if (stats < 0 || fd < 0 || bare_bpf__load(skel) ||
	    !bpf_program__attach_perf_event(skel->progs.on_bare, fd)) {
		perror("bare");
		return 1;
	}
	do
		answer(skel);
	while (fgets(line, sizeof(line), stdin));
	bare_bpf__destroy(skel);
	return 0;
}
