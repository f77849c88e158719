/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty: runs the programs of empty.bpf.c. For each line on stdin it prints "RUNS NS RUNS NS":
 * first for the program at task switches, then for the program at wake-ups. It ends when stdin
 * ends. While it runs, the kernel's run-time statistics are on for all BPF programs.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>

#include "empty.skel.h"

static void print(const struct bpf_program *program, char end)
{
	struct bpf_prog_info info = {};
	uint32_t n = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &n))
		return;
	printf("%llu %llu%c", (unsigned long long)info.run_cnt,
	       (unsigned long long)info.run_time_ns, end);
}

int main(void)
{
	struct empty_bpf *skel = empty_bpf__open_and_load();
	char line[64];

	if (!skel || bpf_enable_stats(BPF_STATS_RUN_TIME) < 0 || empty_bpf__attach(skel)) {
		perror("empty");
		return 1;
	}
	do {
		print(skel->progs.empty_switch, ' ');
		print(skel->progs.empty_wake, '\n');
		fflush(stdout);
	} while (fgets(line, sizeof(line), stdin));
	empty_bpf__destroy(skel);
	return 0;
}
