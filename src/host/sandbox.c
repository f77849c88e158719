/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out why krait can't record inside this container; see sandbox.h. */
#include "host/sandbox.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

/* Inode number of the host's user namespace: PROC_USER_INIT_INO in include/linux/proc_ns.h. */
#define HOST_USER_NS 0xeffffffdu

/* The kernel release that gVisor always pretends to be: pkg/sentry/syscalls/linux/linux64.go. */
#define GVISOR_RELEASE "4.4.0"
#define GVISOR_VERSION "#1 SMP Sun Jan 10 15:06:54 PST 2016"

/*
 * No command of bpf(2) has this number: if seccomp lets the call through, the kernel says EINVAL.
 */
#define NO_SUCH_COMMAND 0x7fffffff

static bool is_gvisor(void)
{
	struct utsname u;

	return !uname(&u) && streq(u.release, GVISOR_RELEASE) && streq(u.version, GVISOR_VERSION);
}

bool sandbox_is_user_namespace(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino != HOST_USER_NS;
}

/*
 * Tells whether krait runs under a seccomp filter (SECCOMP_MODE_FILTER in /proc/self/status). A
 * filter alone doesn't mean that calls are refused: services of systemd have one too.
 */
static bool is_filtered(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	int mode = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	return mode == 2;
}

/*
 * Tells whether a seccomp profile refused the system call that returned @r. Profiles return EPERM,
 * or ENOSYS for calls that they don't know.
 */
static bool is_refused(long r)
{
	return r < 0 && (errno == EPERM || errno == ENOSYS);
}

/*
 * Returns the first of the system calls that krait needs and a seccomp profile forbids; NULL: none
 * is forbidden.
 */
static const char *forbidden(void)
{
	if (!is_filtered())
		return NULL;
	if (is_refused(syscall(SYS_bpf, NO_SUCH_COMMAND, NULL, 0)))
		return "bpf";
	/*
	 * Without attributes, the kernel answers this call with EFAULT. If a seccomp profile
	 * forbids the call, the answer is another error.
	 */
	return is_refused(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0)) ? "perf_event_open"
									    : NULL;
}

void sandbox_why(bool capable, struct sandbox_why *ret)
{
	const char *call;

	*ret = (struct sandbox_why){};
	if (is_gvisor()) {
		ret->name = "gVisor";
		ret->remedy = "docker run --runtime runc ... (a pod without runtimeClassName)";
		snprintf(ret->text, sizeof(ret->text),
			 "krait runs in gVisor, a kernel without BPF, and the host's kernel "
			 "doesn't see gVisor's processes");
	} else if (sandbox_is_user_namespace("/proc/self/ns/user")) {
		ret->name = "user namespace";
		ret->remedy = "on the host: sudo krait record ...";
		snprintf(ret->text, sizeof(ret->text),
			 "krait is in a user namespace of its own, as in a rootless container, "
			 "where capabilities don't reach BPF and perf");
	} else if (capable && (call = forbidden())) {
		ret->name = "seccomp";
		ret->remedy = "docker run --security-opt seccomp=unconfined ... (in a pod "
			      "securityContext: {seccompProfile: {type: Unconfined}})";
		snprintf(ret->text, sizeof(ret->text),
			 "the capabilities are there, but a seccomp profile forbids %s(), as a "
			 "container's does",
			 call);
	}
}

int sandbox_check(bool capable)
{
	struct sandbox_why why;

	sandbox_why(capable, &why);
	return why.name ? err_set(-EPERM, "%s; %s", why.text, why.remedy) : 0;
}
