/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kernels on which reading user memory from a BPF program can freeze the whole machine.
 *
 * bpf_probe_read_user() uses copy_from_user_nofault(). From 5.19 on, that function called
 * check_object_size(), which may take a lock of the vmalloc area. In an interrupt on a CPU that
 * already holds this lock, the call never returns. Linux commit d319f344561d ("mm: Fix
 * copy_from_user_nofault()", 6.4) removed the fault; 6.1.36 and 6.3.10 have this commit too. So
 * 5.19.x, 6.0.x, 6.1.0-6.1.35, 6.2.x and 6.3.0-6.3.9 are dangerous. Distributions keep 6.1.0 in
 * `uname -r` whatever the patch level is, so `uname -r` alone doesn't decide.
 */
#ifndef HOST_KERNEL_DANGER_H
#define HOST_KERNEL_DANGER_H

#include "base/util.h"

struct kernel_version {
	unsigned int major, minor, patch;
	bool patch_known; /* false: the patch level isn't known, and .patch is 0 */
};

/*
 * Finds the upstream version of a kernel. @release and @version come from uname(2); @signature is
 * the text of /proc/version_signature (Ubuntu) or NULL. The patch level comes, in this order, from
 * @signature ("Ubuntu 6.2.0-39.40-generic 6.2.16"), from @version ("... Debian 6.1.27-1 ..."), from
 * @release. 0, or -EINVAL if @release doesn't begin with a version (no message).
 */
_must_use_ int kernel_version_parse(struct kernel_version *ret, const char *release,
				    const char *version, const char *signature);

enum kernel_danger {
	KERNEL_SAFE,
	KERNEL_FREEZES,
	/*
	 * some patch levels of this series can freeze, and the patch level of the running kernel
	 * isn't known
	 */
	KERNEL_MAY_FREEZE,
};
enum kernel_danger kernel_danger(const struct kernel_version *v);

/* Tells whether @v is @major.@minor or newer. */
bool kernel_at_least(const struct kernel_version *v, unsigned int major, unsigned int minor);

/* Gets the version of the running kernel. 0, or -EINVAL + message. */
_must_use_ int kernel_version_running(struct kernel_version *ret);

/*
 * Refuses to sample on a kernel that can freeze. Returns 0, or -EOPNOTSUPP + a message that says
 * why, and what helps.
 */
_must_use_ int kernel_danger_refuse(void);

#endif
