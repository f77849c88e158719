/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checks of `krait doctor` that are about the kernel: version, type information, limits, clock.
 */
#include "cli/doctor/checks.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/error.h"
#include "cli/advice.h"
#include "host/kernel_danger.h"

#define BTF_PATH "/sys/kernel/btf/vmlinux"

void check_kernel(struct doctor *d)
{
	struct kernel_version v;
	struct finding *f;

	if (kernel_version_running(&v)) {
		finding_add(d, "kernel", FINDING_WARN, "%s", error_words());
		return;
	}
	if (kernel_danger_refuse()) {
		f = finding_add(d, "kernel", FINDING_FAIL, "%s", error_words());
		finding_remedy(f, "install the newest kernel of the distribution and boot it");
	} else if (!kernel_at_least(&v, 5, 10)) {
		f = finding_add(d, "kernel", FINDING_FAIL, "%u.%u is older than 5.10", v.major,
				v.minor);
		finding_remedy(f, "boot a newer kernel");
	} else {
		finding_add(d, "kernel", FINDING_OK, "%u.%u.%u, no known danger", v.major, v.minor,
			    v.patch);
	}
}

bool doctor_has_btf(const struct doctor *d)
{
	char byte[2];

	return doctor_file(d, BTF_PATH, byte, sizeof(byte));
}

void check_btf(struct doctor *d)
{
	struct finding *f;

	if (doctor_has_btf(d)) {
		finding_add(d, "types (BTF)", FINDING_OK, BTF_PATH);
		return;
	}
	f = finding_add(d, "types (BTF)", FINDING_FAIL,
			"no " BTF_PATH
			": the kernel was built without CONFIG_DEBUG_INFO_BTF, or /sys "
			"isn't mounted");
	finding_remedy(f, "mount -t sysfs sysfs /sys, or boot a kernel of the distribution");
}

void check_lockdown(struct doctor *d)
{
	char text[128];
	struct finding *f;

	/*
	 * In the kernel's confidentiality mode (LOCKDOWN_BPF_READ_KERNEL), BPF programs can't read
	 * memory.
	 */
	if (!doctor_file(d, "/sys/kernel/security/lockdown", text, sizeof(text)) ||
	    !strstr(text, "[confidentiality]"))
		return;
	f = finding_add(
		d, "lockdown", FINDING_FAIL,
		"the kernel is locked down for confidentiality, which forbids BPF to read memory");
	finding_remedy(f, "boot with lockdown=integrity");
}

void check_memlock(struct doctor *d)
{
	struct kernel_version v;
	struct rlimit limit;
	struct finding *f;

	/*
	 * From Linux 5.11 on, BPF maps count towards the memory cgroup, not the limit of locked
	 * memory.
	 */
	if (kernel_version_running(&v) || kernel_at_least(&v, 5, 11) ||
	    getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY || rights_have(&d->rights, CAP_SYS_RESOURCE)) {
		finding_add(d, "locked memory", FINDING_OK, "the limit is enough for BPF maps");
		return;
	}
	f = finding_add(d, "locked memory", FINDING_FAIL,
			"the limit is %llu KiB, and before kernel 5.11 BPF maps count as locked "
			"memory",
			(unsigned long long)limit.rlim_cur / 1024);
	finding_remedy(f, "ulimit -l unlimited");
}

void check_clock(struct doctor *d)
{
	static const char *const slow[] = {"hpet", "acpi_pm", "jiffies", "refined-jiffies"};
	char name[64];
	struct finding *f;

	if (!doctor_file(d, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
			 name, sizeof(name)))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
		if (!streq(name, slow[i]))
			continue;
		f = finding_add(d, "clock", FINDING_WARN,
				"%s is slow to read, which makes every sample slower", name);
		finding_remedy(
			f,
			"cat /sys/devices/system/clocksource/clocksource0/available_clocksource");
		return;
	}
	finding_add(d, "clock", FINDING_OK, "%s", name);
}
