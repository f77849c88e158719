/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Declares only the kernel types and fields that krait uses. CO-RE relocates them at load. There is
 * no vmlinux.h, so the build needs no kernel, and a reader sees what krait depends on. A struct in
 * this file may also declare members that only some kernels have; programs check at load whether
 * these exist. If a member's type differs between kernels, there are several declarations of the
 * struct (CO-RE flavours, struct NAME___WHAT).
 */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#ifndef __bool_true_false_are_defined
typedef _Bool bool;
#define true 1
#define false 0
#endif

#define CORE __attribute__((preserve_access_index))

/* Constants of uapi/linux/bpf.h, whose values are ABI. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_F_NO_PREALLOC = 1 << 0, BPF_F_MMAPABLE = 1 << 10 };
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0, BPF_RB_RING_SIZE = 1 };

struct upid {
	int nr;
	struct pid_namespace *ns;
} CORE;

struct ns_common {
	unsigned int inum;
} CORE;

struct pid_namespace {
	struct ns_common ns;
} CORE;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} CORE;

struct super_block {
	__u32 s_dev;
} CORE;

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
} CORE;

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	unsigned short i_mode;
	__u32 i_generation;
	__s64 i_size;
	struct timespec64 i_mtime;   /* up to kernel 6.6 */
	struct timespec64 __i_mtime; /* 6.7 to 6.10 */
	__s64 i_mtime_sec;	     /* 6.11+ */
	__u32 i_mtime_nsec;
} CORE;

struct qstr {
	const unsigned char *name;
} CORE;
struct dentry {
	struct qstr d_name;
	struct inode *d_inode;
} CORE;
struct vfsmount {
} CORE;
struct mount___unique { /* 6.8+ */
	struct vfsmount mnt;
	__u64 mnt_id_unique;
} CORE;
struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} CORE;
struct fs_struct {
	struct path pwd;
} CORE;
struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
} CORE;

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
} CORE;
struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
} CORE;
struct sock {
	struct sock_common __sk_common;
} CORE;
struct socket {
	struct sock *sk;
} CORE;
struct sockaddr_un {
	unsigned short sun_family;
	char sun_path[108];
} CORE;
struct unix_address {
	int len;
	struct sockaddr_un name[1];
} CORE;
struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
} CORE;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} CORE;
struct files_struct {
	struct fdtable *fdt;
} CORE;

struct mm_struct;
struct vm_area_struct {
	struct mm_struct *vm_mm;
	unsigned long vm_flags;
} CORE;
#define VM_EXEC 0x00000004

struct vm_unmapped_area_info {
	unsigned long length;
} CORE;

struct mm_struct {
	struct file *exe_file;
	unsigned long exec_vm;
	unsigned long start_code, start_stack, arg_start, arg_end;
} CORE;
struct mm_struct___word { /* struct mm_struct's flags as they are declared up to kernel 6.17 */
	unsigned long flags;
} CORE;
typedef struct {
	unsigned long __mm_flags[1];
} CORE mm_flags_t;
struct mm_struct___bits {
	mm_flags_t flags;
} CORE;
#define MMF_DUMPABLE_MASK 3
#define SUID_DUMP_USER	  1

typedef struct {
	__u32 val;
} CORE kuid_t, kgid_t;
typedef struct {
	/* 64 bits: the member cap[2] up to kernel 6.2, the member val in later kernels */
} CORE kernel_cap_t;
struct cred {
	kuid_t uid, suid, euid;
	kgid_t gid, sgid, egid;
	kernel_cap_t cap_permitted;
} CORE;

/* Where the kernel keeps the user thread pointer. */
struct thread_struct {
	unsigned long fsbase; /* x86-64 */
	struct {
		unsigned long tp_value;
	} uw; /* aarch64 */
} CORE;

/* A CPU's run queue. .clock_task is .clock minus the time stolen from the CPU (sched.h). */
struct rq {
	__u64 clock, clock_task;
} CORE;
/* A part of a run queue: that of one group of tasks. Kernels without such groups lack .rq. */
struct cfs_rq {
	struct rq *rq;
} CORE;
struct sched_entity {
	__u64 exec_start, sum_exec_runtime, prev_sum_exec_runtime;
	/* leads to the run queue of the task's CPU, whatever the task's scheduling class is */
	struct cfs_rq *cfs_rq;
} CORE;
struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay, last_arrival, last_queued;
} CORE;

/* User registers as the kernel saved them on entry, at the end of the thread's kernel stack. */
struct pt_regs___a64 {
	__u64 regs[31], sp, pc, orig_x0;
	__s32 syscallno;
} CORE;
struct pt_regs {
} CORE;

/* The structs of control groups, which a kernel may lack (kernel/cgroup/cgroup-internal.h). */
struct list_head {
	struct list_head *next;
} CORE;
struct kernfs_node {
	__u64 id;
} CORE;
struct cgroup_root {
	int hierarchy_id;
} CORE;
struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
} CORE;
struct cgrp_cset_link {
	struct cgroup *cgrp;
	struct list_head cgrp_link;
} CORE;
struct css_set {
	struct list_head cgrp_links;
} CORE;
struct task_struct {
	void *stack;
	struct sched_entity se;
	int pid, tgid;
	unsigned int flags;
	int exit_code;
	struct mm_struct *mm;
	struct task_struct *group_leader, *real_parent;
	struct completion *vfork_done;
	__u64 start_time, start_boottime;
	__u64 parent_exec_id, self_exec_id;
	struct pid *thread_pid;
	unsigned long nvcsw, nivcsw;
	struct sched_info sched_info;
	int on_cpu;
	char comm[16];
	struct cred *real_cred;
	struct signal_struct *signal;
	struct fs_struct *fs;
	struct files_struct *files;
	struct css_set *cgroups;
	unsigned in_execve : 1, in_iowait : 1;
	/* whether the task is frozen by cgroup v2 (5.2+; not in a kernel without control groups) */
	unsigned frozen : 1;
	volatile long state;  /* up to kernel 5.13 */
	unsigned int __state; /* 5.14+ */
	struct thread_struct thread;
} CORE;
struct signal_struct {
	struct {
		int counter;
	} live;
	unsigned int flags;
	int group_exit_code;
} CORE;

/*
 * Lets a program ask whether the kernel has these helpers: bpf_get_current_task_btf() (5.11+),
 * whose result lets a program load fields of a task directly, without a helper call for each, and
 * bpf_task_pt_regs() (5.15+).
 */
enum bpf_func_id___ask {
	BPF_FUNC_get_current_task_btf___ask = 158,
	BPF_FUNC_task_pt_regs___ask = 175,
};

#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

/* bits of a task's state (include/linux/sched.h); TASK_DEAD: the task ends and never runs again */
#define TASK_DEAD    0x80 /* 4.14+ */
#define TASK_STOPPED 0x4
#define TASK_TRACED  0x8
#define TASK_FROZEN  0x8000 /* 6.1+ */

/* the bits of inode.i_mode with the type of the file (include/uapi/linux/stat.h) */
#define S_IFMT 0170000

struct perf_event_attr {
	__u32 wakeup_events;
} CORE;

struct perf_event {
	struct perf_event_attr attr;
} CORE;

/* What the kernel itself has as the context of a perf program (include/linux/perf_event.h). */
struct bpf_perf_event_data_kern {
	struct perf_event *event;
} CORE;

/* The context of a task iterator (5.8+) is struct bpf_iter__task. */
struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
} CORE;
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} CORE;

/*
 * The layout of a program's context is ABI, so CO-RE doesn't relocate it. On 5.10 a perf context
 * allows only 8-byte loads.
 */
#if defined(__TARGET_ARCH_arm64)
struct bpf_perf_event_data {
	__u64 regs[31], sp, pc, pstate; /* registers in the order of struct user_pt_regs */
	__u64 sample_period, addr;
};
#define CTX_USER_MODE(ctx) (((ctx)->pstate & 0xf) == 0)
#define CTX_ARG1(ctx)	   ((ctx)->regs[0])
#else
struct bpf_perf_event_data {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
		flags, sp, ss; /* registers in the order of struct pt_regs */
	__u64 sample_period, addr;
};
#define CTX_USER_MODE(ctx) (((ctx)->cs & 3) == 3)
#define CTX_ARG1(ctx)	   ((ctx)->di)
#endif

#endif
