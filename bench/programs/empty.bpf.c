/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BPF programs that do nothing, attached to the same places as krait's programs: task switches and
 * wake-ups. The kernel's run-time statistics take time themselves, which the kernel counts as the
 * program's. So bench/waits compares the times of krait's programs with the times of these programs
 * in the same windows.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("tp_btf/sched_switch")
int empty_switch(void *ctx)
{
	return 0;
}

SEC("tp_btf/sched_waking")
int empty_wake(void *ctx)
{
	return 0;
}
