/* SPDX-License-Identifier: BSD-2-Clause */
/* Knows which capabilities krait has and which it needs, and gives up the rest; see rights.h. */
#include "host/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include "base/error.h"
#include "base/system/self.h"
#include "host/users.h"
#include "proc/machine/perf_paranoid.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38 /* CAP_PERFMON exists since kernel 5.8 */
#define CAP_BPF	    39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40 /* CAP_CHECKPOINT_RESTORE exists since kernel 5.9 */
#endif

#define BIT(cap) (1ull << (cap))

static const struct {
	int cap;
	const char *name;
	enum right_kind kind;
} rights[] = {
#define X(cap, kind, why) {CAP_##cap, "CAP_" #cap, kind},
	RIGHTS(X)
#undef X
};

/*
 * Capabilities that were split off CAP_SYS_ADMIN in Linux 5.8 and 5.9. CAP_SYS_ADMIN still includes
 * them.
 */
static const uint64_t in_sys_admin = BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_CHECKPOINT_RESTORE);

static void cleanup_cap(cap_t *caps)
{
	if (*caps)
		cap_free(*caps);
}
#define _cleanup_cap_ _cleanup_(cleanup_cap)

static uint64_t read_set(cap_flag_t set)
{
	_cleanup_cap_ cap_t caps = cap_get_proc();
	uint64_t bits = 0;

	for (int cap = 0; caps && cap < 64; cap++) {
		cap_flag_value_t on = CAP_CLEAR;

		if (!cap_get_flag(caps, cap, set, &on) && on == CAP_SET)
			bits |= BIT(cap);
	}
	return bits;
}

void rights_read(struct rights *r)
{
	r->effective = read_set(CAP_EFFECTIVE);
	if (r->effective & BIT(CAP_SYS_ADMIN))
		r->effective |= in_sys_admin;
	r->uid = getuid();
	r->from_file = r->uid && getauxval(AT_SECURE) && r->effective;
}

bool rights_have(const struct rights *r, int cap)
{
	return r->effective & BIT(cap);
}

size_t rights_missing(const struct rights *r, enum right_kind kind, struct str *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
		if (rights[i].kind == kind && !rights_have(r, rights[i].cap))
			str_addf(ret, "%s%s", n++ ? ", " : "", rights[i].name);
	return n;
}

/*
 * Appends how a container gets the capabilities @lacking: options of Docker, and the
 * securityContext of a Kubernetes pod.
 */
static void add_for_container(uint64_t lacking, struct str *ret)
{
	size_t n = 0;

	str_add(ret, "docker run");
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
		if (lacking & BIT(rights[i].cap))
			str_addf(ret, " --cap-add %s", rights[i].name + strlen("CAP_"));
	str_add(ret, " ... (in a pod securityContext: {capabilities: {add: [");
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
		if (lacking & BIT(rights[i].cap))
			str_addf(ret, "%s%s", n++ ? ", " : "", rights[i].name + strlen("CAP_"));
	str_add(ret, "]}})");
}

void rights_for_container(const struct rights *r, struct str *ret)
{
	uint64_t lacking = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
		if (rights[i].kind == RIGHT_NEEDED && !rights_have(r, rights[i].cap))
			lacking |= BIT(rights[i].cap);
	add_for_container(lacking, ret);
}

int rights_to_see(const struct rights *r, pid_t pid, int error)
{
	_cleanup_str_ struct str remedy = {};

	if ((error != -EPERM && error != -EACCES) || r->uid || rights_have(r, CAP_SYS_PTRACE))
		return error;
	add_for_container(BIT(CAP_SYS_PTRACE), &remedy);
	return err_set(error,
		       "process %d is another user's or has more rights, and CAP_SYS_PTRACE is "
		       "missing although krait runs as root, as happens in a container; %s",
		       pid, str_cstr(&remedy));
}

int rights_check(const struct rights *r)
{
	_cleanup_str_ struct str names = {}, remedy = {};

	if (!rights_missing(r, RIGHT_NEEDED, &names))
		return 0;
	if (r->uid == 0) {
		rights_for_container(r, &remedy);
		return err_set(
			-EPERM,
			"%s missing although krait runs as root, as happens in a container; %s",
			str_cstr(&names), str_cstr(&remedy));
	}
	return err_of("rights", NULL, -EPERM, "%s missing; run it as `sudo %s ...`",
		      str_cstr(&names), self_under_sudo());
}

bool rights_may_see(int procdir)
{
	char link[64];

	/*
	 * This reads the link of a namespace, for which the kernel demands
	 * PTRACE_MODE_READ_FSCREDS. Kernel threads have such links as well, so the answer is right
	 * for them too.
	 */
	return readlinkat(procdir, "ns/pid", link, sizeof(link)) > 0;
}

/* Makes @effective effective, except capabilities that krait isn't permitted to have. */
static void set_effective(uint64_t effective)
{
	_cleanup_cap_ cap_t caps = cap_get_proc();

	if (!caps)
		return;
	for (int cap = 0; cap < 64; cap++) {
		cap_value_t value = cap;

		(void)cap_set_flag(caps, CAP_EFFECTIVE, 1, &value,
				   effective & BIT(cap) ? CAP_SET : CAP_CLEAR);
	}
	(void)cap_set_proc(caps);
}

/*
 * Tells whether /proc/kallsyms shows the address of any symbol. Looking at one symbol isn't enough:
 * per-CPU symbols of x86-64 are at 0 anyway, and which symbols are per-CPU differs between kernels.
 */
static bool kallsyms_tells(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/kallsyms", "re");
	char line[256];
	bool tells = false;

	while (f && !tells && fgets(line, sizeof(line), f))
		tells = strspn(line, "0") < strcspn(line, " ");
	return tells;
}

int rights_kernel_addresses(const struct rights *r)
{
	uint64_t before = read_set(CAP_EFFECTIVE);
	bool tells;

	if (r->from_file)
		set_effective(0);
	tells = kallsyms_tells();
	if (r->from_file)
		set_effective(before);
	return tells ? 0
		     : err_set(-EPERM, "/proc/kallsyms hides the kernel's addresses from you "
				       "(kernel.kptr_restrict)");
}

bool rights_is_own(uint32_t uid, uint32_t gid)
{
	return uid == geteuid() && gid == getegid();
}

/*
 * Reduces the permitted capabilities to @keep, and the effective capabilities to @keep without
 * @off.
 */
static int keep_only(uint64_t keep, uint64_t off)
{
	_cleanup_cap_ cap_t have = cap_get_proc();
	_cleanup_cap_ cap_t caps = cap_init();

	/*
	 * If krait can't read its capabilities, this is an error. Otherwise krait would seem to
	 * have none, and would give up those that it needs to become its own user again.
	 */
	if (!have || !caps)
		return -ENOMEM;
	for (int cap = 0; cap < 64; cap++) {
		cap_flag_value_t on = CAP_CLEAR;
		cap_value_t value = cap;

		if (!(keep & BIT(cap)) || cap_get_flag(have, value, CAP_PERMITTED, &on) ||
		    on != CAP_SET)
			continue;
		if (cap_set_flag(caps, CAP_PERMITTED, 1, &value, CAP_SET) ||
		    (!(off & BIT(cap)) && cap_set_flag(caps, CAP_EFFECTIVE, 1, &value, CAP_SET)))
			return -errno;
	}
	return cap_set_proc(caps) ? -errno : 0;
}

void rights_for_events(bool on)
{
	_cleanup_cap_ cap_t caps = cap_get_proc();
	cap_flag_value_t may = CAP_CLEAR;
	cap_value_t value = CAP_SYS_ADMIN;

	if (caps && !cap_get_flag(caps, value, CAP_PERMITTED, &may) && may == CAP_SET &&
	    !cap_set_flag(caps, CAP_EFFECTIVE, 1, &value, on ? CAP_SET : CAP_CLEAR))
		(void)!cap_set_proc(caps);
}

int rights_drop(bool as_caller)
{
	/*
	 * Before 5.19, even reading a map through its descriptor needs CAP_BPF if
	 * kernel.unprivileged_bpf_disabled is set. SETUID and SETGID are needed for writing as the
	 * caller, KILL for passing a signal on to the command, PERFMON for CPUs that come online.
	 */
	uint64_t keep = BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_CHECKPOINT_RESTORE) |
			BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SETUID) |
			BIT(CAP_SETGID) | BIT(CAP_KILL);
	int r;

	if (!as_caller)
		keep |= BIT(CAP_DAC_OVERRIDE);
	if (perf_event_restricted())
		keep |= BIT(CAP_SYS_ADMIN);
	r = keep_only(keep, BIT(CAP_SYS_ADMIN));
	return r ? err_sys(r, "can't give up capabilities") : 0;
}

int rights_drop_for_files(void)
{
	const uint64_t files = BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_CHOWN) |
			       BIT(CAP_FOWNER) | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL);

	if (keep_only(getuid() == 0 ? files : 0, 0))
		return err_set(-ENOMEM, "out of memory: capabilities can't be given up");
	return 0;
}

void rights_drop_for_child(void)
{
	_cleanup_cap_ cap_t caps = cap_get_proc();

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (caps && !(geteuid() ? cap_clear(caps) : cap_clear_flag(caps, CAP_INHERITABLE)))
		cap_set_proc(caps);
	if (geteuid() && getauxval(AT_SECURE))
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/*
 * Makes root the owner of the file, and the only user who may write to it. If group RIGHTS_GROUP
 * exists, only root and this group may run the file.
 */
static int set_mode(int fd, const char *path)
{
	gid_t gid;
	bool group = !users_group_id(RIGHTS_GROUP, &gid);
	struct stat st;

	/* chown() removes the file's capabilities, so it must come before they are set. */
	if (fchown(fd, 0, group ? gid : (gid_t)-1) || fstat(fd, &st))
		return err_sys(-errno, "can't make root the owner of '%s'", path);
	if (fchmod(fd, group ? 0750 : (st.st_mode & 0755) | 0111))
		return err_sys(-errno, "can't set the mode of '%s'", path);
	return 0;
}

/*
 * Tells whether @fd is on a file system that is mounted nosuid. There the kernel ignores a file's
 * capabilities (mnt_may_suid), and setting them gives no error.
 */
static bool is_nosuid(int fd)
{
	struct statvfs fs;

	return !fstatvfs(fd, &fs) && fs.f_flag & ST_NOSUID;
}

int rights_grant(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_cap_ cap_t caps = cap_init();
	int r;

	if (fd < 0)
		return err_sys(-errno, "can't open '%s'", path);
	if (is_nosuid(fd))
		return err_set(
			-EINVAL,
			"'%s' is on a file system mounted with nosuid, which ignores capabilities "
			"of files; copy krait with `sudo install %s /usr/local/bin` and grant them "
			"to the copy, or run krait with sudo each time",
			path, self_under_sudo());
	for (size_t i = 0; caps && i < ARRAY_SIZE(rights); i++) {
		cap_value_t value = rights[i].cap;

		if (rights[i].kind == RIGHT_OTHERS)
			continue;
		if (cap_set_flag(caps, CAP_PERMITTED, 1, &value, CAP_SET) ||
		    cap_set_flag(caps, CAP_EFFECTIVE, 1, &value, CAP_SET))
			return err_sys(-errno, "can't grant %s", rights[i].name);
	}
	r = set_mode(fd, path);
	if (r)
		return r;
	if (!caps || cap_set_fd(fd, caps))
		return err_sys(-errno,
			       "can't write capabilities into '%s'; install krait on a file system "
			       "that has them, such as ext4, xfs or btrfs",
			       path);
	return 0;
}
