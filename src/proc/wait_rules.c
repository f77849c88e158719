/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules that name what a thread waits for; see wait_rules.h. */
#include "proc/wait_rules.h"

#include <stddef.h>
#include <sys/syscall.h>

#include "base/text/str.h"

/* Numbers of system calls differ between architectures, and some architectures lack some calls. */
#define CALL(name) .call_name = #name, .call = SYS_##name
#define NO_FD	   .fd = -1
#define ANY	   .fd = -1

const struct wait_rule wait_rules[] = {
	/*
	 * A thread may be frozen within a system call, which goes on once the thread is thawed.
	 * There is a rule for get_signal() because compilers inline do_freezer_trap() into it.
	 */
	{ANY, .wchan = "do_freezer_trap", .kind = WAIT_FROZEN},
	{ANY, .wchan = "get_signal", .kind = WAIT_FROZEN},
	{ANY, .wchan = "__refrigerator", .kind = WAIT_FROZEN},
	{CALL(futex), .kind = WAIT_LOCK, NO_FD},
#ifdef SYS_futex_waitv
	{CALL(futex_waitv), .kind = WAIT_LOCK, NO_FD},
#endif
	{CALL(flock), .kind = WAIT_LOCK, .fd = 0},
	{CALL(fcntl), .kind = WAIT_LOCK, .fd = 0},
	{CALL(semop), .kind = WAIT_LOCK, NO_FD},
	{CALL(semtimedop), .kind = WAIT_LOCK, NO_FD},
	{CALL(nanosleep), .kind = WAIT_SLEEP, NO_FD},
	{CALL(clock_nanosleep), .kind = WAIT_SLEEP, NO_FD},
	/*
	 * restart_syscall() continues a system call after the thread was stopped. The function that
	 * sleeps for it ends in a tail call, so wchan shows that function's caller.
	 */
	{CALL(restart_syscall), .wchan = "futex", .kind = WAIT_LOCK, NO_FD},
	{CALL(restart_syscall), .wchan = "poll_schedule", .kind = WAIT_POLL, NO_FD},
	{CALL(restart_syscall), .wchan = "do_sys_poll", .kind = WAIT_POLL, NO_FD},
	{CALL(restart_syscall), .wchan = "do_restart_poll", .kind = WAIT_POLL, NO_FD},
	{CALL(restart_syscall), .wchan = "hrtimer_nanosleep", .kind = WAIT_SLEEP, NO_FD},
	{CALL(restart_syscall), .wchan = "do_syscall_64", .kind = WAIT_SLEEP, NO_FD},
	{CALL(restart_syscall), .wchan = "invoke_syscall", .kind = WAIT_SLEEP, NO_FD},
	{CALL(restart_syscall), .wchan = "el0_svc", .kind = WAIT_SLEEP, NO_FD},
#ifdef SYS_select
	{CALL(select), .idle = true, .kind = WAIT_SLEEP, NO_FD},
	{CALL(select), .kind = WAIT_POLL, NO_FD},
	{CALL(poll), .idle = true, .kind = WAIT_SLEEP, NO_FD},
	{CALL(poll), .kind = WAIT_POLL, NO_FD},
	{CALL(epoll_wait), .kind = WAIT_POLL, .fd = 0},
#endif
	{CALL(pselect6), .idle = true, .kind = WAIT_SLEEP, NO_FD},
	{CALL(pselect6), .kind = WAIT_POLL, NO_FD},
	{CALL(ppoll), .idle = true, .kind = WAIT_SLEEP, NO_FD},
	{CALL(ppoll), .kind = WAIT_POLL, NO_FD},
	{CALL(epoll_pwait), .kind = WAIT_POLL, .fd = 0},
#ifdef SYS_epoll_pwait2
	{CALL(epoll_pwait2), .kind = WAIT_POLL, .fd = 0},
#endif
	{CALL(io_getevents), .kind = WAIT_POLL, NO_FD},
#ifdef SYS_io_uring_enter
	{CALL(io_uring_enter), .kind = WAIT_POLL, .fd = 0},
#endif
	{CALL(wait4), .kind = WAIT_CHILD, NO_FD},
	{CALL(waitid), .kind = WAIT_CHILD, NO_FD},
#ifdef SYS_vfork
	{CALL(vfork), .kind = WAIT_CHILD, NO_FD},
#endif
	{CALL(clone), .kind = WAIT_CHILD, NO_FD},
#ifdef SYS_clone3
	{CALL(clone3), .kind = WAIT_CHILD, NO_FD},
#endif
#ifdef SYS_pause
	{CALL(pause), .kind = WAIT_SIGNAL, NO_FD},
#endif
	{CALL(rt_sigsuspend), .kind = WAIT_SIGNAL, NO_FD},
	{CALL(rt_sigtimedwait), .kind = WAIT_SIGNAL, NO_FD},
	{CALL(read), .kind = WAIT_IO, .fd = 0},
	{CALL(write), .kind = WAIT_IO, .fd = 0},
	{CALL(readv), .kind = WAIT_IO, .fd = 0},
	{CALL(writev), .kind = WAIT_IO, .fd = 0},
	{CALL(pread64), .kind = WAIT_IO, .fd = 0},
	{CALL(pwrite64), .kind = WAIT_IO, .fd = 0},
	{CALL(preadv), .kind = WAIT_IO, .fd = 0},
	{CALL(pwritev), .kind = WAIT_IO, .fd = 0},
	{CALL(recvfrom), .kind = WAIT_IO, .fd = 0},
	{CALL(recvmsg), .kind = WAIT_IO, .fd = 0},
	{CALL(recvmmsg), .kind = WAIT_IO, .fd = 0},
	{CALL(sendto), .kind = WAIT_IO, .fd = 0},
	{CALL(sendmsg), .kind = WAIT_IO, .fd = 0},
	{CALL(sendmmsg), .kind = WAIT_IO, .fd = 0},
	{CALL(accept), .kind = WAIT_IO, .fd = 0},
	{CALL(accept4), .kind = WAIT_IO, .fd = 0},
	{CALL(connect), .kind = WAIT_IO, .fd = 0},
	{CALL(sendfile), .kind = WAIT_IO, .fd = 0},
	/*
	 * splice() may wait for either of its two descriptors. If wchan doesn't tell which, no
	 * descriptor is named.
	 */
	{CALL(splice), .wchan = "pipe_wait_readable", .kind = WAIT_IO, .fd = 0},
	{CALL(splice), .wchan = "pipe_wait_writable", .kind = WAIT_IO, .fd = 2},
	{CALL(splice), .kind = WAIT_IO, NO_FD},
	{CALL(copy_file_range), .kind = WAIT_IO, .fd = 0},
	{CALL(fsync), .kind = WAIT_IO, .fd = 0},
	{CALL(fdatasync), .kind = WAIT_IO, .fd = 0},
	{CALL(sync_file_range), .kind = WAIT_IO, .fd = 0},
	{CALL(ftruncate), .kind = WAIT_IO, .fd = 0},
	{CALL(fallocate), .kind = WAIT_IO, .fd = 0},
	{CALL(getdents64), .kind = WAIT_IO, .fd = 0},
#ifdef SYS_open
	{CALL(open), .kind = WAIT_IO, NO_FD},
#endif
	{CALL(openat), .kind = WAIT_IO, NO_FD},
	{CALL(msync), .kind = WAIT_IO, NO_FD},
	{CALL(sync), .kind = WAIT_IO, NO_FD},
	{CALL(syncfs), .kind = WAIT_IO, .fd = 0},
	{CALL(close), .kind = WAIT_IO, .fd = 0},
	{CALL(ioctl), .kind = WAIT_IO, .fd = 0},
	{CALL(preadv2), .kind = WAIT_IO, .fd = 0},
	{CALL(pwritev2), .kind = WAIT_IO, .fd = 0},
	{CALL(tee), .wchan = "pipe_wait_readable", .kind = WAIT_IO, .fd = 0},
	{CALL(tee), .wchan = "pipe_wait_writable", .kind = WAIT_IO, .fd = 1},
	{CALL(tee), .kind = WAIT_IO, NO_FD},
	{CALL(vmsplice), .kind = WAIT_IO, .fd = 0},
	{CALL(fstat), .kind = WAIT_IO, .fd = 0},
	{CALL(fstatfs), .kind = WAIT_IO, .fd = 0},
	{CALL(mq_timedreceive), .kind = WAIT_IO, .fd = 0},
	{CALL(mq_timedsend), .kind = WAIT_IO, .fd = 0},
	{CALL(msgrcv), .kind = WAIT_IO, NO_FD},
	{CALL(msgsnd), .kind = WAIT_IO, NO_FD},
	{CALL(getrandom), .kind = WAIT_IO, NO_FD},
	{CALL(execve), .kind = WAIT_IO, NO_FD},
	/* These system calls wait for a network file system that doesn't answer. */
	{CALL(newfstatat), .kind = WAIT_IO, NO_FD},
	{CALL(statx), .kind = WAIT_IO, NO_FD},
	{CALL(statfs), .kind = WAIT_IO, NO_FD},
	{CALL(truncate), .kind = WAIT_IO, NO_FD},
	{CALL(chdir), .kind = WAIT_IO, NO_FD},
	{CALL(readlinkat), .kind = WAIT_IO, NO_FD},
	{CALL(faccessat), .kind = WAIT_IO, NO_FD},
	{CALL(mkdirat), .kind = WAIT_IO, NO_FD},
	{CALL(unlinkat), .kind = WAIT_IO, NO_FD},
	{CALL(renameat2), .kind = WAIT_IO, NO_FD},
	{CALL(mount), .kind = WAIT_IO, NO_FD},
	{CALL(umount2), .kind = WAIT_IO, NO_FD},
	{CALL(fchmod), .kind = WAIT_IO, .fd = 0},
	{CALL(fchown), .kind = WAIT_IO, .fd = 0},
	{CALL(lseek), .kind = WAIT_IO, .fd = 0},
	{CALL(fchdir), .kind = WAIT_IO, .fd = 0},
	{CALL(readahead), .kind = WAIT_IO, .fd = 0},
	{CALL(fgetxattr), .kind = WAIT_IO, .fd = 0},
	{CALL(fsetxattr), .kind = WAIT_IO, .fd = 0},
	{CALL(flistxattr), .kind = WAIT_IO, .fd = 0},
	{CALL(fremovexattr), .kind = WAIT_IO, .fd = 0},
	{CALL(fchmodat), .kind = WAIT_IO, NO_FD},
	{CALL(fchownat), .kind = WAIT_IO, NO_FD},
	{CALL(linkat), .kind = WAIT_IO, NO_FD},
	{CALL(symlinkat), .kind = WAIT_IO, NO_FD},
	{CALL(utimensat), .kind = WAIT_IO, NO_FD},
	{CALL(mknodat), .kind = WAIT_IO, NO_FD},
	{CALL(getxattr), .kind = WAIT_IO, NO_FD},
	{CALL(lgetxattr), .kind = WAIT_IO, NO_FD},
	{CALL(setxattr), .kind = WAIT_IO, NO_FD},
	{CALL(lsetxattr), .kind = WAIT_IO, NO_FD},
	{CALL(listxattr), .kind = WAIT_IO, NO_FD},
	{CALL(llistxattr), .kind = WAIT_IO, NO_FD},
	{CALL(removexattr), .kind = WAIT_IO, NO_FD},
	{CALL(lremovexattr), .kind = WAIT_IO, NO_FD},
#ifdef SYS_faccessat2
	{CALL(faccessat2), .kind = WAIT_IO, NO_FD},
#endif
#ifdef SYS_stat
	{CALL(stat), .kind = WAIT_IO, NO_FD},
	{CALL(lstat), .kind = WAIT_IO, NO_FD},
	{CALL(access), .kind = WAIT_IO, NO_FD},
	{CALL(readlink), .kind = WAIT_IO, NO_FD},
	{CALL(mkdir), .kind = WAIT_IO, NO_FD},
	{CALL(rmdir), .kind = WAIT_IO, NO_FD},
	{CALL(unlink), .kind = WAIT_IO, NO_FD},
	{CALL(rename), .kind = WAIT_IO, NO_FD},
	{CALL(chmod), .kind = WAIT_IO, NO_FD},
	{CALL(chown), .kind = WAIT_IO, NO_FD},
	{CALL(lchown), .kind = WAIT_IO, NO_FD},
	{CALL(link), .kind = WAIT_IO, NO_FD},
	{CALL(symlink), .kind = WAIT_IO, NO_FD},
	{CALL(renameat), .kind = WAIT_IO, NO_FD},
	{CALL(mknod), .kind = WAIT_IO, NO_FD},
	{CALL(utimes), .kind = WAIT_IO, NO_FD},
#endif
	{ANY, .wchan = "do_signal_stop", .kind = WAIT_STOPPED},
	{ANY, .wchan = "ptrace_stop", .kind = WAIT_TRACED},
	{ANY, .wchan = "futex", .kind = WAIT_LOCK},
	{ANY, .wchan = "hrtimer_nanosleep", .kind = WAIT_SLEEP},
	{ANY, .wchan = "ep_poll", .kind = WAIT_POLL},
	{ANY, .wchan = "do_sys_poll", .kind = WAIT_POLL},
	{ANY, .wchan = "do_select", .kind = WAIT_POLL},
	{ANY, .wchan = "poll_schedule_timeout", .kind = WAIT_POLL},
	{ANY, .wchan = "do_wait", .kind = WAIT_CHILD},
	{ANY, .wchan = "kernel_clone", .kind = WAIT_CHILD},
	{ANY, .wchan = "folio_wait_bit", .kind = WAIT_IO},
	{ANY, .wchan = "wait_on_page_bit", .kind = WAIT_IO},
	{ANY, .wchan = "io_schedule", .kind = WAIT_IO},
	{ANY, .wchan = "pipe_", .kind = WAIT_IO},
	{ANY, .wchan = "anon_pipe_", .kind = WAIT_IO},
	{ANY, .wchan = "wait_woken", .kind = WAIT_IO},
	{ANY, .wchan = "unix_stream_read", .kind = WAIT_IO},
	{ANY, .wchan = "request_wait_answer", .kind = WAIT_IO}, /* FUSE */
	{ANY, .wchan = "rpc_wait_bit", .kind = WAIT_IO},	/* NFS */
	/*
	 * These system calls wait for another thread's change to the mappings. If such a call waits
	 * for a file's pages, a rule above has matched.
	 */
	{CALL(mmap), .kind = WAIT_BLOCKED, NO_FD},
	{CALL(munmap), .kind = WAIT_BLOCKED, NO_FD},
	{CALL(mremap), .kind = WAIT_BLOCKED, NO_FD},
	{CALL(mprotect), .kind = WAIT_BLOCKED, NO_FD},
	{CALL(madvise), .kind = WAIT_BLOCKED, NO_FD},
	{CALL(brk), .kind = WAIT_BLOCKED, NO_FD},
	/* the thread is in restart_syscall(), and it isn't known which system call goes on */
	{CALL(restart_syscall), .kind = WAIT_BLOCKED, NO_FD},
	{ANY, .kind = WAIT_BLOCKED},
};

static bool fits(const struct wait_rule *r, long call, const uint64_t *arg, const char *wchan)
{
	if (r->call_name && r->call != call)
		return false;
	/*
	 * A call of (p)select(0, ...) or (p)poll(fds, 0, ...) only waits for time to pass. Up to
	 * Python 3.10 time.sleep() makes such calls.
	 */
	if (r->idle && arg[streq(r->call_name, "poll") || streq(r->call_name, "ppoll")])
		return false;
	return !r->wchan || str_starts(wchan, r->wchan);
}

const struct wait_rule *wait_rule_of(long call, const uint64_t *arg, const char *wchan)
{
	const struct wait_rule *r = wait_rules;

	while (!fits(r, call, arg, wchan))
		r++;
	return r;
}

enum wait_kind wait_kind_of_io(enum wait_target target, bool uninterruptible)
{
	if (target == TARGET_SOCKET)
		return WAIT_NET;
	if (target == TARGET_PIPE)
		return WAIT_PIPE;
	return target == TARGET_FILE || uninterruptible ? WAIT_FILE : WAIT_IO;
}

enum wait_kind wait_kind_of_lock(enum gil_state gil)
{
	switch (gil) {
	case GIL_WAITING:
		return WAIT_GIL;
	case GIL_NONE_STOPPED:
		return WAIT_WORLD;
	case GIL_NONE_SECTION:
		return WAIT_SECTION;
	default:
		return WAIT_LOCK;
	}
}

const char *wait_word(enum wait_kind kind)
{
	static const char *const word[] = {
#define X(name, json, words) json,
		WAIT_KINDS(X)
#undef X
	};

	return word[kind];
}

const char *wait_words(enum wait_kind kind)
{
	static const char *const text[] = {
#define X(name, json, words) words,
		WAIT_KINDS(X)
#undef X
	};

	return text[kind];
}
