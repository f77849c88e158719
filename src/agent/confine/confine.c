/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes from a process of the agent the rights that it doesn't need; see confine.h. */
#include "agent/confine/confine.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/landlock.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/confine/seccomp.h"
#include "base/cleanup.h"
#include "base/system/caps.h"

/* clang-format off */
#define ALLOW(name)  {SYS_##name, CALL_ALLOWED, 0, 0}
#define REFUSE(name) {SYS_##name, CALL_REFUSED, 0, 0}
/* clang-format on */

/*
 * Flags that the header of Linux 6.1 doesn't have yet. Each comment says which version of Landlock
 * brought the flag.
 */
enum {
	FILES_REFER = 1 << 13,	  /* Landlock 2 */
	FILES_TRUNCATE = 1 << 14, /* Landlock 3 */
	FILES_IOCTL = 1 << 15,	  /* Landlock 5 */
	NET_ALL = 3,		  /* Landlock 4: binding and connecting TCP sockets */
	SCOPE_ALL = 3,		  /* Landlock 6: abstract Unix sockets, and signals */
};

/*
 * This is struct landlock_ruleset_attr of Landlock 6. Older kernels want zeros in the members that
 * they don't know.
 */
struct ruleset {
	uint64_t files, net, scope;
};

static struct ruleset all_of(long version)
{
	return (struct ruleset){
		.files = (FILES_REFER - 1) | (version >= 2 ? FILES_REFER : 0) |
			 (version >= 3 ? FILES_TRUNCATE : 0) | (version >= 5 ? FILES_IOCTL : 0),
		.net = version >= 4 ? NET_ALL : 0,
		.scope = version >= 6 ? SCOPE_ALL : 0,
	};
}

/*
 * Permits the accesses @may to @path. If @path is a directory, everything below it is permitted
 * too.
 */
static void allow_below(int ruleset, const char *path, uint64_t may)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {.allowed_access = may, .parent_fd = fd};

	if (fd >= 0)
		(void)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static bool confine_files(const char *dir)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset all = all_of(version);
	const uint64_t read = LANDLOCK_ACCESS_FS_READ_FILE;
	const uint64_t store = read | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE |
			       LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
			       FILES_TRUNCATE;
	_cleanup_close_ int fd = -1;

	if (version < 1)
		return false;
	fd = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	if (fd < 0)
		return false;
	allow_below(fd, dir, store & all.files);
	/* SQLite reads a random number from this file */
	allow_below(fd, "/dev/urandom", read);
	return !syscall(SYS_landlock_restrict_self, fd, 0);
}

/* clang-format off */
/* System calls that writing a store needs: for files, memory and clocks. */
static const struct call_rule store_calls[] = {
	ALLOW(read), ALLOW(write), ALLOW(readv), ALLOW(writev), ALLOW(pread64), ALLOW(pwrite64),
	ALLOW(openat), ALLOW(close), ALLOW(lseek), ALLOW(fstat), ALLOW(newfstatat), ALLOW(statx),
	ALLOW(fstatfs), ALLOW(statfs), ALLOW(faccessat), ALLOW(readlinkat), ALLOW(getcwd),
	ALLOW(getdents64), ALLOW(fcntl), ALLOW(flock), ALLOW(fsync), ALLOW(fdatasync),
	ALLOW(ftruncate), ALLOW(fallocate), ALLOW(fchmod), ALLOW(unlinkat), ALLOW(renameat),
	ALLOW(mkdirat), ALLOW(umask), ALLOW(ppoll),
	ALLOW(brk), ALLOW(munmap), ALLOW(mremap), ALLOW(madvise),
	{SYS_mmap, CALL_WITHOUT_BITS, 2, PROT_EXEC},
	{SYS_mprotect, CALL_WITHOUT_BITS, 2, PROT_EXEC},
	ALLOW(clock_gettime), ALLOW(clock_nanosleep), ALLOW(nanosleep), ALLOW(gettimeofday),
	ALLOW(getpid), ALLOW(gettid), ALLOW(getuid), ALLOW(geteuid), ALLOW(getgid), ALLOW(getegid),
	ALLOW(uname), ALLOW(sysinfo), ALLOW(sched_getaffinity), ALLOW(sched_yield),
	ALLOW(getrandom), ALLOW(getrusage), ALLOW(futex), ALLOW(set_robust_list),
	ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(sigaltstack),
	ALLOW(restart_syscall),
	ALLOW(exit), ALLOW(exit_group),
#ifdef SYS_faccessat2
	ALLOW(faccessat2),
#endif
#ifdef SYS_renameat2
	ALLOW(renameat2),
#endif
#ifdef SYS_rseq
	ALLOW(rseq),
#endif
/* older system calls that do the work of some in this table; some C libraries use them */
#ifdef SYS_open
	ALLOW(open), ALLOW(stat), ALLOW(lstat), ALLOW(access), ALLOW(readlink), ALLOW(unlink),
	ALLOW(rename), ALLOW(mkdir), ALLOW(poll), ALLOW(time), ALLOW(getdents),
#endif
};

/*
 * System calls that starting writers needs, in addition to store_calls. A writer gives these up
 * again.
 */
#define STARTER_CALLS(RULE)                                                                        \
	RULE(clone), RULE(recvmsg), RULE(wait4), RULE(seccomp)

static const struct call_rule starter_calls[] = {STARTER_CALLS(ALLOW),
#ifdef SYS_fork
	ALLOW(fork),
#endif
};
static const struct call_rule writer_calls[] = {STARTER_CALLS(REFUSE),
#ifdef SYS_fork
	REFUSE(fork),
#endif
};

/* System calls that answering on an open connection needs, in addition to store_calls. */
static const struct call_rule answer_calls[] = {
	ALLOW(recvfrom), ALLOW(sendto), ALLOW(shutdown), ALLOW(setitimer),
#ifdef SYS_alarm
	ALLOW(alarm),
#endif
};

/*
 * System calls that the sampler may not make. It may do what it needs: make children that read for
 * it, talk to them through pairs of sockets, and write new files, for unwind tables that it keeps
 * and samples that don't fit in memory. Signal number 0 is allowed: it only asks whether a process
 * exists.
 */
static const struct call_rule sampler_calls[] = {
	REFUSE(socket), REFUSE(connect), REFUSE(bind), REFUSE(listen), REFUSE(accept),
	REFUSE(accept4), {SYS_socketpair, CALL_EQUAL, 0, AF_UNIX},
	REFUSE(execve), REFUSE(execveat),
	{SYS_openat, CALL_READS, 2, 0}, REFUSE(open_by_handle_at), REFUSE(truncate),
	REFUSE(linkat), REFUSE(symlinkat), REFUSE(mknodat), REFUSE(fchmodat), REFUSE(fchownat),
	REFUSE(fchown), REFUSE(setxattr), REFUSE(lsetxattr), REFUSE(fsetxattr),
	REFUSE(removexattr), REFUSE(lremovexattr), REFUSE(fremovexattr),
	REFUSE(io_uring_setup), REFUSE(userfaultfd),
	REFUSE(ptrace), REFUSE(process_vm_writev), REFUSE(pidfd_getfd),
	{SYS_kill, CALL_EQUAL, 1, 0}, REFUSE(tkill), REFUSE(pidfd_send_signal),
	REFUSE(rt_sigqueueinfo), REFUSE(rt_tgsigqueueinfo),
	REFUSE(mount), REFUSE(umount2), REFUSE(pivot_root), REFUSE(chroot), REFUSE(setns),
	REFUSE(unshare), REFUSE(open_tree), REFUSE(move_mount), REFUSE(fsopen), REFUSE(fsconfig),
	REFUSE(fsmount), REFUSE(fspick), REFUSE(swapon), REFUSE(swapoff), REFUSE(quotactl),
	REFUSE(init_module), REFUSE(finit_module), REFUSE(delete_module), REFUSE(kexec_load),
	REFUSE(reboot), REFUSE(acct), REFUSE(sethostname), REFUSE(setdomainname),
	REFUSE(settimeofday), REFUSE(clock_settime), REFUSE(clock_adjtime), REFUSE(adjtimex),
	REFUSE(add_key), REFUSE(request_key), REFUSE(keyctl),
#ifdef SYS_mount_setattr
	REFUSE(mount_setattr),
#endif
#ifdef SYS_kexec_file_load
	REFUSE(kexec_file_load),
#endif
#ifdef SYS_open
	{SYS_open, CALL_READS, 1, 0}, REFUSE(creat), REFUSE(link), REFUSE(symlink), REFUSE(mknod),
	REFUSE(chmod), REFUSE(chown), REFUSE(lchown), REFUSE(iopl), REFUSE(ioperm),
#endif
};

static const struct call_rule loaded_calls[] = {
	{SYS_bpf, CALL_DIFFERENT, 0, BPF_PROG_LOAD},
};
/* clang-format on */

#define MORE_CALLS 8
_Static_assert(ARRAY_SIZE(starter_calls) <= MORE_CALLS, "");
_Static_assert(ARRAY_SIZE(answer_calls) <= MORE_CALLS, "");

static unsigned confine_calls(const struct call_rule *rules, size_t n, bool others)
{
	return seccomp_apply(rules, n, others) ? CONFINED_CALLS : 0;
}

/*
 * Makes sure that programs that this process executes gain no rights, and that processes without
 * rights can't read this process's memory.
 */
static void confine_process(void)
{
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/*
 * Gives up all files but those below @dir, and all system calls but those of store_calls and @more.
 * @n: at most MORE_CALLS.
 */
static unsigned confine(const char *dir, const struct call_rule *more, size_t n)
{
	struct call_rule rules[ARRAY_SIZE(store_calls) + MORE_CALLS];
	unsigned confined;

	memcpy(rules, store_calls, sizeof(store_calls));
	memcpy(rules + ARRAY_SIZE(store_calls), more, n * sizeof(*more));
	confine_process();
	caps_give_up();
	confined = confine_files(dir) ? CONFINED_FILES : 0;
	return confined | confine_calls(rules, ARRAY_SIZE(store_calls) + n, false);
}

unsigned confine_to_store(const char *dir)
{
	return confine(dir, starter_calls, ARRAY_SIZE(starter_calls));
}

unsigned confine_answer(const char *dir)
{
	return confine(dir, answer_calls, ARRAY_SIZE(answer_calls));
}

unsigned confine_writer(void)
{
	return confine_calls(writer_calls, ARRAY_SIZE(writer_calls), true);
}

unsigned confine_sampler(void)
{
	confine_process();
	return confine_calls(sampler_calls, ARRAY_SIZE(sampler_calls), true);
}

unsigned confine_loaded(void)
{
	return confine_calls(loaded_calls, ARRAY_SIZE(loaded_calls), true);
}
