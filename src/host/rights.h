/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out which capabilities krait has and needs, and gives up the rest. The kernel decides which
 * processes krait may look at: without CAP_SYS_PTRACE, only those of krait's own user. `krait
 * doctor --grant` doesn't grant CAP_SYS_PTRACE.
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
 * X(CAP_ name, kind, what krait needs it for). This is the only list of capabilities.
 * tests/e2e/rights/capabilities.sh takes each of them away in turn, and shows what is lost.
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
	 * the effective capabilities, as bits 1 << CAP_*; if CAP_SYS_ADMIN is one of them, also
	 * those that were split off it
	 */
	uint64_t effective;
	uid_t uid; /* krait's real user id */
	/* krait's user isn't root, and .effective comes from the binary's file capabilities */
	bool from_file;
};

void rights_read(struct rights *r);
bool rights_have(const struct rights *r, int cap);

/*
 * Appends the names of the missing capabilities of kind @kind, separated by ", ". Returns how many
 * are missing.
 */
size_t rights_missing(const struct rights *r, enum right_kind kind, struct str *ret);

/*
 * Appends what gives a container the capabilities that krait needs and lacks: options of Docker,
 * and the securityContext of a Kubernetes pod.
 */
void rights_for_container(const struct rights *r, struct str *ret);

/*
 * Checks that krait has the capabilities that it needs. 0, or -EPERM + message with the missing
 * ones and the command that helps.
 */
_must_use_ int rights_check(const struct rights *r);

/*
 * Completes the message about a process that couldn't be examined. @error: the error, which is
 * returned unchanged. Sets a message with the command that helps if all of this is so: the kernel
 * refused, krait is root, and krait lacks the capability for other users' processes.
 */
int rights_to_see(const struct rights *r, pid_t pid, int error);

/*
 * Tells whether krait may show this process. @procdir is a descriptor of /proc/PID. The kernel
 * decides, by PTRACE_MODE_READ: same user and not setuid, or CAP_SYS_PTRACE. The answer holds until
 * the process's next exec. False if the process is gone.
 */
bool rights_may_see(int procdir);

/*
 * Checks that the user who runs krait may know kernel addresses: /proc/kallsyms must show them
 * without krait's file capabilities. It shows them to everybody or only to root, as
 * kernel.kptr_restrict says. 0, or -EPERM + message.
 */
_must_use_ int rights_kernel_addresses(const struct rights *r);

/*
 * Tells whether a process belongs to krait's own user. @uid and @gid are the process's ids, as the
 * kernel program saw them. False for TASK_NO_ID.
 */
bool rights_is_own(uint32_t uid, uint32_t gid);

/*
 * Call it once krait's BPF programs are loaded and its perf events are open: it gives up for good
 * the capabilities that krait doesn't need from then on. @as_caller: output is written as the user
 * who called sudo, so root's rights over file permissions are given up too. 0 or -errno + message.
 */
_must_use_ int rights_drop(bool as_caller);

/*
 * Switches CAP_SYS_ADMIN on or off, for code that opens perf events after rights_drop(). Does
 * nothing if krait has lost that capability: rights_drop() keeps it (switched off) only if
 * perf_event_restricted() is true.
 */
void rights_for_events(bool on);

/*
 * For code that reads profiles, which may come from anybody. Gives up for good every capability
 * that comes from krait's file. Root keeps only the capabilities for files and for writing as the
 * caller. 0 or -errno + message; after an error, nothing may be read.
 */
_must_use_ int rights_drop_for_files(void);

/*
 * For a child before exec: empties the inheritable and ambient sets of capabilities, so that the
 * child passes no capability on. A child that isn't root has no capability from now on. If krait's
 * capabilities come from its file, the kernel hides the child from the child's own user until it
 * execs, and with hidepid=2 also from krait in /proc. This function makes the child visible to
 * both.
 */
void rights_drop_for_child(void);

/*
 * The group whose members may run a krait that has file capabilities. The administrator creates it
 * if only some users may run krait.
 */
#define RIGHTS_GROUP "krait"

/*
 * Gives program file @path the capabilities that krait needs, and a suitable owner and mode. 0 or
 * -errno + message.
 */
_must_use_ int rights_grant(const char *path);

#endif
