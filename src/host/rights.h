/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What krait may do: the capabilities that it has and needs, and giving up the rest. The kernel
 * decides which processes krait may look at. Without CAP_SYS_PTRACE these are only the processes of
 * krait's own user, and `krait doctor --grant` doesn't grant that capability.
 */
#ifndef HOST_RIGHTS_H
#define HOST_RIGHTS_H

#include <sys/types.h>
#include "base/text/str.h"
#include "base/util.h"

enum right_kind {
	/* a capability without which krait can't record at all; --grant gives it to krait */
	RIGHT_NEEDED,
	/* a capability that helps with the user's own processes; --grant gives it to krait */
	RIGHT_GRANTED,
	RIGHT_OTHERS, /* a capability that is needed for other users' processes; root has it */
};

/*
 * X(CAP_ name, kind, what for). The only list of capabilities. tests/e2e/capabilities.sh takes each
 * away in turn and shows what is lost.
 */
#define RIGHTS(X)                                                                                  \
	X(BPF, RIGHT_NEEDED, "load the kernel programs")                                           \
	X(PERFMON, RIGHT_NEEDED, "sample the CPUs and read stacks")                                \
	X(CHECKPOINT_RESTORE, RIGHT_GRANTED, "read program files that were deleted or replaced")   \
	X(SYSLOG, RIGHT_GRANTED, "name the kernel's functions")                                    \
	X(SYS_PTRACE, RIGHT_OTHERS, "look at other users' processes")                              \
	X(DAC_READ_SEARCH, RIGHT_OTHERS, "read other users' program files")

struct rights {
	/*
	 * effective capabilities, as bits 1 << CAP_*; with CAP_SYS_ADMIN also those that were split
	 * from it
	 */
	uint64_t effective;
	uid_t uid; /* krait's real user id */
	/* krait's user isn't root, and .effective comes from the binary's file capabilities */
	bool from_file;
};

void rights_read(struct rights *r);
bool rights_have(const struct rights *r, int cap);

/*
 * Appends the names of the missing capabilities of this @kind, separated by ", "; returns their
 * number.
 */
size_t rights_missing(const struct rights *r, enum right_kind kind, struct str *ret);

/*
 * Appends what gives a container the capabilities that are needed and missing: options of Docker,
 * and the lines for a pod.
 */
void rights_for_container(const struct rights *r, struct str *ret);

/*
 * Has krait the capabilities that it needs? 0, or -EPERM + message with the missing ones and the
 * command that helps.
 */
_must_use_ int rights_check(const struct rights *r);

/*
 * Completes the message about a process that couldn't be examined. @error: the error, which is
 * returned unchanged. If the kernel didn't permit it, and krait is root and lacks the capability
 * for other users' processes, sets a message with the command that helps.
 */
int rights_to_see(const struct rights *r, pid_t pid, int error);

/*
 * May krait show this process? @procdir is a descriptor of /proc/PID. The kernel itself answers
 * whether krait may read the process (PTRACE_MODE_READ: same user, not setuid, or CAP_SYS_PTRACE).
 * The answer holds until the process's next exec. False if the process is gone.
 */
bool rights_may_see(int procdir);

/*
 * May the user who runs krait know kernel addresses? Yes if /proc/kallsyms shows them without
 * krait's file capabilities. It shows them to root or to everybody, as kernel.kptr_restrict says.
 * 0, or -EPERM + message.
 */
_must_use_ int rights_kernel_addresses(const struct rights *r);

/*
 * Does a process belong to krait's own user? @uid and @gid are the process's, as the kernel program
 * saw them. False for TASK_NO_ID.
 */
bool rights_is_own(uint32_t uid, uint32_t gid);

/*
 * Gives up for good the capabilities that krait doesn't need once its BPF programs and perf events
 * are open. @as_caller: output is written as the user who called sudo, so root's rights over file
 * permissions go too. 0 or -errno + message.
 */
_must_use_ int rights_drop(bool as_caller);

/*
 * Switches CAP_SYS_ADMIN on or off, for code that opens perf events after rights_drop(). This does
 * nothing if krait doesn't have the capability any more: rights_drop() keeps it, switched off, only
 * if perf_event_restricted() is true.
 */
void rights_for_events(bool on);

/*
 * For code that reads profiles, which anybody may have made. Gives up for good every capability
 * that comes from krait's file; root keeps only those for files and for writing as the caller. 0 or
 * -errno + message: in that case nothing may be read.
 */
_must_use_ int rights_drop_for_files(void);

/*
 * For a child before exec: empties the inheritable and ambient sets, so that nothing is passed on.
 * A child that isn't root has no capability from now on. If krait's capabilities come from its
 * file, the kernel doesn't let the child's user look at the child before it execs, and with
 * hidepid=2 krait couldn't see the child in /proc. This function makes the child visible to both.
 */
void rights_drop_for_child(void);

/*
 * The group that may run a krait with file capabilities, if the administrator wants that limited.
 */
#define RIGHTS_GROUP "krait"

/*
 * Gives the program file @path the capabilities that krait needs, and a suitable mode. 0 or -errno
 * + message.
 */
_must_use_ int rights_grant(const char *path);

#endif
