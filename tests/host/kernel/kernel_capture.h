/* SPDX-License-Identifier: BSD-2-Clause */
/* A sampled process, and the maps that capture() uses, for tests with kernel_shim.h. */
#ifndef TESTS_HOST_KERNEL_KERNEL_CAPTURE_H
#define TESTS_HOST_KERNEL_KERNEL_CAPTURE_H

#include "kernel_shim.h"
#include "kernel_task.h"

#include "capture.bpf.h"

#define TGID   50
#define PARENT 40

static struct made parent, process;

/* Sets the state (PROC_*) of the process in the kernel program's map. */
static inline void set_proc(__u8 state)
{
	struct proc_entry entry = {.state = state};
	__u32 tgid = TGID;

	read_key(&process.task, TGID, &entry.key);
	bpf_map_update_elem(&procs, &tgid, &entry, BPF_ANY);
}

/*
 * Makes all maps, empty. The process to be recorded is the sampled process's parent; its children
 * are recorded as well.
 */
static inline void capture_begin(void)
{
	__u32 parents = PARENT, one = 1;

	shim_clear();
	shim_map(walk_states);
	shim_map(walk_outs);
	shim_map(walk_addresses);
	shim_map(native_states);
	shim_map(native_outs);
	shim_map(stagings);
	shim_map(layouts);
	shim_map(counters);
	shim_map(procs);
	shim_map(several);
	shim_map(spaces);
	shim_map(early_unmaps);
	shim_map(exes);
	shim_map(roots);
	shim_map(suspects);
	shim_map(crowds);
	shim_map(meetings);
	shim_map(absent_quotas);
	shim_map(codes_sent);
	shim_map(stacks_sent);
	shim_add(&rings, sizeof(__u32), 8, true);
	make(&parent, PARENT, NULL);
	make(&process, TGID, &parent);
	process.task.se.sum_exec_runtime = 5 * SECOND;
	shim.task = &process.task;
	shim.now_ns = 100 * SECOND;
	bpf_map_update_elem(&roots, &parents, &one, BPF_ANY);
	SHIM_SET(follow_children, (bool){true});
}

#endif
