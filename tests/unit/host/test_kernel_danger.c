/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests how krait reads the version strings of distributions' kernels, and which of these kernels
 * it holds dangerous.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "host/kernel_danger.h"

#define DEBIAN(v) "#1 SMP PREEMPT_DYNAMIC Debian " v " (2023-05-08)"

static const struct {
	const char *release, *version, *signature;
	unsigned int major, minor, patch;
	enum kernel_danger danger;
} cases[] = {
	/* kernels of kernel.org */
	{"5.10.262", "#1 SMP", NULL, 5, 10, 262, KERNEL_SAFE},
	{"5.18.19", "#1 SMP", NULL, 5, 18, 19, KERNEL_SAFE},
	{"5.19.0", "#1 SMP", NULL, 5, 19, 0, KERNEL_FREEZES},
	{"5.19.17", "#1 SMP", NULL, 5, 19, 17, KERNEL_FREEZES},
	{"6.0.19", "#1 SMP", NULL, 6, 0, 19, KERNEL_FREEZES},
	{"6.1.0", "#1 SMP", NULL, 6, 1, 0, KERNEL_FREEZES},
	{"6.1.35", "#1 SMP", NULL, 6, 1, 35, KERNEL_FREEZES},
	{"6.1.36", "#1 SMP", NULL, 6, 1, 36, KERNEL_SAFE},
	{"6.1.192", "#1 SMP", NULL, 6, 1, 192, KERNEL_SAFE},
	{"6.2.16", "#1 SMP", NULL, 6, 2, 16, KERNEL_FREEZES},
	{"6.3.9", "#1 SMP", NULL, 6, 3, 9, KERNEL_FREEZES},
	{"6.3.10", "#1 SMP", NULL, 6, 3, 10, KERNEL_SAFE},
	{"6.4.0", "#1 SMP", NULL, 6, 4, 0, KERNEL_SAFE},
	{"6.18.44-fc-v657", "#1 SMP PREEMPT_DYNAMIC @0", NULL, 6, 18, 44, KERNEL_SAFE},
	{"7.3.0-rc7", "#1 SMP", NULL, 7, 3, 0, KERNEL_SAFE},
	{"6.3.0-rc1", "#1 SMP", NULL, 6, 3, 0, KERNEL_FREEZES},
	{"6.1", "#1 SMP", NULL, 6, 1, 0, KERNEL_MAY_FREEZE},
	/* kernels of Debian, whose uname -r says 6.1.0 whatever the patch level is */
	{"6.1.0-9-amd64", DEBIAN("6.1.27-1"), NULL, 6, 1, 27, KERNEL_FREEZES},
	{"6.1.0-10-amd64", DEBIAN("6.1.37-1"), NULL, 6, 1, 37, KERNEL_SAFE},
	{"6.1.0-47-cloud-amd64", DEBIAN("6.1.192-1"), NULL, 6, 1, 192, KERNEL_SAFE},
	{"6.3.0-0.deb12.2-amd64", DEBIAN("6.3.11-1~bpo12+1"), NULL, 6, 3, 11, KERNEL_SAFE},
	{"6.12.43+deb13-amd64", DEBIAN("6.12.43-1"), NULL, 6, 12, 43, KERNEL_SAFE},
	{"5.10.0-23-amd64", "#1 SMP Debian 5.10.179-1 (2023-05-12)", NULL, 5, 10, 179, KERNEL_SAFE},
	{"6.1.0-9-amd64", "#1 SMP", NULL, 6, 1, 0, KERNEL_MAY_FREEZE},
	/* kernels of Ubuntu, whose /proc/version_signature ends with upstream's version */
	{"6.2.0-39-generic", "#40~22.04.1-Ubuntu SMP PREEMPT_DYNAMIC",
	 "Ubuntu 6.2.0-39.40~22.04.1-generic 6.2.16\n", 6, 2, 16, KERNEL_FREEZES},
	{"5.15.0-91-generic", "#101-Ubuntu SMP", "Ubuntu 5.15.0-91.101-generic 5.15.131\n", 5, 15,
	 131, KERNEL_SAFE},
	{"6.5.0-14-generic", "#14-Ubuntu SMP", "Ubuntu 6.5.0-14.14-generic 6.5.3\n", 6, 5, 3,
	 KERNEL_SAFE},
	{"6.1.0-1035-oem", "#35-Ubuntu SMP", "Ubuntu 6.1.0-1035.35-oem 6.1.75\n", 6, 1, 75,
	 KERNEL_SAFE},
	{"6.1.0-1009-oem", "#9-Ubuntu SMP", "Ubuntu 6.1.0-1009.9-oem 6.1.20", 6, 1, 20,
	 KERNEL_FREEZES},
	{"6.2.0-39-generic", "#40-Ubuntu SMP", NULL, 6, 2, 0, KERNEL_FREEZES},
	/*
	 * kernels of Fedora, Amazon, Proxmox, Google, WSL, Red Hat, whose uname -r has upstream's
	 * number
	 */
	{"6.2.9-300.fc38.x86_64", "#1 SMP PREEMPT_DYNAMIC", NULL, 6, 2, 9, KERNEL_FREEZES},
	{"6.3.12-200.fc38.x86_64", "#1 SMP PREEMPT_DYNAMIC", NULL, 6, 3, 12, KERNEL_SAFE},
	{"6.1.34-59.116.amzn2023.x86_64", "#1 SMP", NULL, 6, 1, 34, KERNEL_FREEZES},
	{"6.2.16-3-pve", "#1 SMP PREEMPT_DYNAMIC PVE 6.2.16-3", NULL, 6, 2, 16, KERNEL_FREEZES},
	{"6.1.58+", "#1 SMP PREEMPT_DYNAMIC", NULL, 6, 1, 58, KERNEL_SAFE},
	{"5.15.90.1-microsoft-standard-WSL2", "#1 SMP", NULL, 5, 15, 90, KERNEL_SAFE},
	{"5.14.0-427.el9.x86_64", "#1 SMP PREEMPT_DYNAMIC", NULL, 5, 14, 0, KERNEL_SAFE},
	{"6.3.1-arch1-1", "#1 SMP PREEMPT_DYNAMIC Mon, 01 May 2023", NULL, 6, 3, 1, KERNEL_FREEZES},
	/* the text contains the numbers of other versions beside that of the kernel */
	{"6.1.0-9-amd64", "#1 SMP built by gcc 12.2.0 on 6.4.1 Debian 6.1.27-1", NULL, 6, 1, 27,
	 KERNEL_FREEZES},
};

static void test_cases(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kernel_version v;

		assert_int_equal(kernel_version_parse(&v, cases[i].release, cases[i].version,
						      cases[i].signature),
				 0);
		if (v.major != cases[i].major || v.minor != cases[i].minor ||
		    v.patch != cases[i].patch || kernel_danger(&v) != cases[i].danger)
			fail_msg("%s %s: %u.%u.%u danger %d", cases[i].release, cases[i].version,
				 v.major, v.minor, v.patch, kernel_danger(&v));
	}
}

static void test_no_version(void **state)
{
	static const char *const releases[] = {"", "linux", "6", "x6.1.2", ".1.2", " 6.1"};
	struct kernel_version v;

	for (size_t i = 0; i < ARRAY_SIZE(releases); i++)
		assert_int_equal(kernel_version_parse(&v, releases[i], "", NULL), -EINVAL);
}

static void test_at_least(void **state)
{
	struct kernel_version v = {5, 10, 3, true};

	assert_true(kernel_at_least(&v, 5, 10));
	assert_true(kernel_at_least(&v, 4, 19));
	assert_false(kernel_at_least(&v, 5, 11));
	assert_false(kernel_at_least(&v, 6, 0));
}

static void test_running(void **state)
{
	struct kernel_version v;

	assert_int_equal(kernel_version_running(&v), 0);
	assert_true(v.major >= 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_no_version),
		cmocka_unit_test(test_at_least),
		cmocka_unit_test(test_running),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
