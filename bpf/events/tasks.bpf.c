/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads where the threads of chosen processes are blocked: their user registers, their kernel
 * stack, and since when. /proc shows user registers only of a stopped thread. This program stops no
 * thread, and threads don't notice that they are read.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "native/saved.bpf.h"
#include "process/descriptor.bpf.h"
#include "process/number.bpf.h"
#include "process/owner.bpf.h"
#include "task.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	/* the kernel's table for 65536 would take a MiB, even if it is empty */
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* the key is the tgid */
	__type(value, __u32);
} wanted SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TASK_MAX_POLLED);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* the key is the tid in the first PID namespace */
	__type(value, struct task_polled);
} polled SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rec_task);
} scratch SEC(".maps");

#if defined(__TARGET_ARCH_arm64)
walk_inline bool read_regs(struct rec_task *rec, const void *at)
{
	/* struct user_pt_regs of aarch64: regs[31], sp, pc */
	return !bpf_probe_read_kernel(rec->regs, 33 * sizeof(__u64), at);
}
#else
walk_inline bool read_regs(struct rec_task *rec, const void *at)
{
	if (bpf_probe_read_kernel(rec->regs, 21 * sizeof(__u64), at))
		return false;
	/* 0x33 is __USER_CS, the code segment of 64-bit code; 32-bit code has 0x23 */
	return (rec->regs[17] & 0xffff) == 0x33;
}
#endif

/* Returns the descriptor that the thread waits for in the system call whose argument is .arg[0]. */
walk_inline __u64 fd_of(const struct rec_task *rec)
{
	__u32 tid = rec->host_tid;
	const struct task_polled *one = bpf_map_lookup_elem(&polled, &tid);

	return one && one->switches == rec->switches ? (__u64)(__s64)one->fd : rec->arg[0];
}

/* Reads the system call that the thread is in, and what the thread waits for in that call. */
walk_inline void read_wait(struct rec_task *rec, struct task_struct *task, const void *saved)
{
	struct call call = {.number = -1};
	__u64 fd;
	__u8 kind;

	read_call(saved, &call);
	rec->call = call.number;
	rec->arg[0] = call.arg[0];
	rec->arg[1] = call.arg[1];
	fd = fd_of(rec);
	kind = describe_file(&rec->on, fd, call.number < 0 ? NULL : file_of(task, fd));
	rec->fd = fd == rec->arg[0] ? kind : WAIT_FD_NONE;
	rec->wait_flags = flags_of(task) | (has_own_numbers(task) ? WAIT_NUMBERS : 0);
}

walk_inline void read_user_state(struct rec_task *rec, struct task_struct *task)
{
	const void *saved;

	if (HAS_TASK_REGS)
		saved = (const void *)bpf_task_pt_regs(task);
	else
		saved = regs_on_stack(task);
	rec->has_regs = read_regs(rec, saved);
	read_wait(rec, task, saved);
}

/*
 * Returns the state of a task, TASK_* of include/linux/sched.h; 0: the task runs, or is ready to
 * run.
 */
walk_inline __u32 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return (__u32)BPF_CORE_READ(task, state);
}

/*
 * Reads when the thread last left a CPU: the time at which it had got that CPU, plus how long it
 * ran on that CPU. Also reads since when the thread has been ready to run without a CPU.
 */
walk_inline void read_times(struct rec_task *rec, struct task_struct *task)
{
	rec->runs = rec->off_ns = rec->queued_ns = rec->run_delay = 0;
	if (!bpf_core_field_exists(task->sched_info.last_arrival))
		return;
	rec->runs = BPF_CORE_READ(task, sched_info.pcount);
	rec->off_ns = BPF_CORE_READ(task, sched_info.last_arrival) +
		      (BPF_CORE_READ(task, se.sum_exec_runtime) -
		       BPF_CORE_READ(task, se.prev_sum_exec_runtime));
	rec->queued_ns = BPF_CORE_READ(task, sched_info.last_queued);
	rec->run_delay = BPF_CORE_READ(task, sched_info.run_delay);
}

/* Reads which thread @task is, and which image of a process the thread runs. */
walk_inline void read_identity(struct rec_task *rec, struct task_struct *task)
{
	rec->host_tid = BPF_CORE_READ(task, pid);
	rec->tid = pidns_inum ? number_of(BPF_CORE_READ(task, thread_pid)) : rec->host_tid;
	rec->start_ns = BPF_CORE_READ(task, start_time);
	rec->proc.start_ns = BPF_CORE_READ(task, group_leader, start_time);
	rec->proc.tgid = rec->tgid;
	rec->proc.exec_id = (__u32)BPF_CORE_READ(task, self_exec_id);
	rec->place.start_code = BPF_CORE_READ(task, mm, start_code);
	rec->place.start_stack = BPF_CORE_READ(task, mm, start_stack);
}

walk_inline void fill(struct rec_task *rec, struct task_struct *task)
{
	long n;

	rec->switches = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
	rec->state = state_of(task);
	/* The width of on_cpu differs between kernels: in 7.3 it is a single byte. */
	rec->on_cpu = BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu) != 0;
	read_times(rec, task);
	rec->thread_pointer = thread_pointer(task);
	if (!has_owner(task, &rec->uid, &rec->gid))
		rec->uid = rec->gid = TASK_NO_ID;
	read_user_state(rec, task);
	n = bpf_get_task_stack(task, rec->kernel, ABI_MAX_KERNEL * sizeof(__u64), 0);
	rec->n_kernel = n > 0 ? (__u16)(n / sizeof(__u64)) : 0;
}

SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 zero = 0, tgid;
	struct rec_task *rec;
	__u64 bytes;

	if (!task)
		return 0;
	tgid = tgid_of(task);
	rec = bpf_map_lookup_elem(&scratch, &zero);
	if (!rec || !bpf_map_lookup_elem(&wanted, &tgid))
		return 0;
	rec->tgid = tgid;
	read_identity(rec, task);
	fill(rec, task);
	bytes = sizeof(*rec) - sizeof(rec->kernel) + rec->n_kernel * sizeof(__u64);
	opaque(bytes);
	if (bytes > sizeof(*rec))
		return 0;
	bpf_seq_write(ctx->meta->seq, rec, (__u32)bytes);
	return 0;
}
