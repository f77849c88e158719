/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What krait may do: the capabilities it has, those it needs, and giving up the rest. Whose
 * processes it may look at isn't decided here but by the kernel: without CAP_SYS_PTRACE a process
 * sees only its own user's, and what `krait doctor --grant` gives leaves that one out.
 */
#ifndef HOST_RIGHTS_H
#define HOST_RIGHTS_H

#include <sys/types.h>
#include "base/str.h"
#include "base/util.h"

enum right_kind {
	RIGHT_NEEDED,  /* nothing works without; --grant gives it */
	RIGHT_GRANTED, /* helps with one's own processes; --grant gives it */
	RIGHT_OTHERS,  /* for other users' processes; root has it */
};

/*
 * X(CAP_ name, kind, what for). The only list of them; tests/e2e/capabilities.sh takes each away in
 * turn and shows what is lost.
 */
#define RIGHTS(X)                                                                                  \
	X(BPF, RIGHT_NEEDED, "load the kernel programs")                                           \
	X(PERFMON, RIGHT_NEEDED, "sample the CPUs and read stacks")                                \
	X(CHECKPOINT_RESTORE, RIGHT_GRANTED, "read program files that were deleted or replaced")   \
	X(SYSLOG, RIGHT_GRANTED, "name the kernel's functions")                                    \
	X(SYS_PTRACE, RIGHT_OTHERS, "look at other users' processes")                              \
	X(DAC_READ_SEARCH, RIGHT_OTHERS, "read other users' program files")

struct rights {
	uint64_t effective; /* bit CAP_*; CAP_SYS_ADMIN counts as those that it stands for */
	uid_t uid;	    /* real */
	bool from_file;	    /* an ordinary user got them from the binary's file capabilities */
};

void rights_read(struct rights *r);
bool rights_have(const struct rights *r, int cap);

/* Appends the names of the missing ones of this kind, ", " between; how many. */
size_t rights_missing(const struct rights *r, enum right_kind kind, struct str *ret);

/* Appends how a container gets the needed ones that are missing, in Docker's words and a pod's. */
void rights_for_container(const struct rights *r, struct str *ret);

/* 0, or -EPERM + message that names what is missing and the command that helps. */
_must_use_ int rights_check(const struct rights *r);

/*
 * May krait show this process? @procdir is a descriptor of /proc/PID. The answer is the kernel's
 * own to "may the caller read that process" (PTRACE_MODE_READ: same user, not setuid, or
 * CAP_SYS_PTRACE). It holds until the process's next exec: ask again then. False if it is gone.
 */
bool rights_may_see(int procdir);

/*
 * May the user who runs krait know where the kernel is? What /proc/kallsyms shows them without what
 * krait's file gives: root, or everybody, by kernel.kptr_restrict. 0, or -EPERM + message.
 */
_must_use_ int rights_kernel_addresses(const struct rights *r);

/* The same by user and group, as the kernel program saw them; TASK_NO_ID: no. */
bool rights_is_own(uint32_t uid, uint32_t gid);

/*
 * Gives up for good what isn't needed any more once programs and events are open. @as_caller:
 * output is written as the user who called sudo, so that root's way around file permissions goes
 * too. 0 or -errno + message.
 */
_must_use_ int rights_drop(bool as_caller);

/*
 * Where perf_event_restricted() rights_drop() keeps CAP_SYS_ADMIN, if it is there, switched off: this
 * switches it on around what opens events later.
 */
void rights_for_events(bool on);

/*
 * For what reads profiles, which anybody may have made: gives up for good all that its user doesn't
 * have without krait's file capabilities, and all of root's that isn't about files and about
 * writing as the caller. 0 or -errno + message: then nothing is to be read.
 */
_must_use_ int rights_drop_for_files(void);

/*
 * For a child before exec: nothing is passed on (inheritable and ambient sets are emptied). A
 * user's has none itself from now on; where krait's file gave them, it is its user's to look at:
 * with hidepid=2 krait wouldn't see it in /proc until it execs.
 */
void rights_drop_for_child(void);

/* Who may run a binary with capabilities, where the administrator wants that limited. */
#define RIGHTS_GROUP "krait"

/* Writes the capabilities into file @path, with the mode that suits; 0 or -errno + message. */
_must_use_ int rights_grant(const char *path);

#endif
