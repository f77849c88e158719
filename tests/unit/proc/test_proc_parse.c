/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses texts of /proc and /sys that are written by hand: stat, status, cgroup, mountinfo, CPU
 * lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "base/system/clock.h"
#include "proc/container/container.h"
#include "proc/machine/cpus.h"
#include "proc/read/stat.h"

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TAIL  " 1 1 0 -1 4194560 5 6 7 8 9 10 11 12 20 0 1 0 4711 13 14 15"
#define PLACE " 94052 94060 140722 0 0"

static int stat_of(const char *text, struct proc_stat *s)
{
	return proc_stat_parse(text, strlen(text), s);
}

static void test_time_namespace(void **state)
{
	assert_int_equal(
		clock_shift_parse("monotonic       50000         7\nboottime        1         2\n"),
		50000 * 1000000000LL + 7);
	assert_int_equal(clock_shift_parse("monotonic           -2 500000000\n"), -1500000000);
	assert_int_equal(clock_shift_parse("monotonic           0         0\n"), 0);
	assert_int_equal(clock_shift_parse("boottime            3         0\n"), 0);
	assert_int_equal(clock_shift_parse("monotonic x"), 0);
}

static void test_stat(void **state)
{
	struct proc_stat s;

	assert_int_equal(stat_of("77 (python3) S 42" TAIL "\n", &s), 0);
	assert_string_equal(s.comm, "python3");
	assert_int_equal(s.state, 'S');
	assert_int_equal(s.parent, 42);
	assert_int_equal(s.flags, 4194560);
	assert_int_equal(s.start_ticks, 4711);
	assert_int_equal(s.start_code, 0);
	assert_int_equal(stat_of("77 (python3) S 42" TAIL PLACE "\n", &s), 0);
	assert_int_equal(s.start_code, 94052);
	assert_int_equal(s.start_stack, 140722);
	/* the kernel writes these numbers for a reader that isn't allowed to trace the process */
	assert_int_equal(stat_of("77 (python3) S 42" TAIL " 1 1 0 0 0\n", &s), 0);
	assert_int_equal(s.start_code, 0);
	/* the program chose a name that looks like the fields after it */
	assert_int_equal(stat_of("77 (a) R 1 (b) c) S 42" TAIL "\n", &s), 0);
	assert_string_equal(s.comm, "a) R 1 (b) c");
	assert_int_equal(s.parent, 42);
	assert_int_equal(stat_of("77 () Z 42" TAIL "\n", &s), 0);
	assert_string_equal(s.comm, "");
	assert_int_equal(stat_of("77 (0123456789abcdefghij) Z 42" TAIL "\n", &s), 0);
	assert_string_equal(s.comm, "0123456789abcde");
}

static void test_stat_malformed(void **state)
{
	static const char text[] = "77 (python3) S 42" TAIL;
	struct proc_stat s;

	/* a line that ends before the start time is malformed */
	for (size_t n = 0; n <= sizeof(text) - sizeof(" 4711 13 14 15"); n++)
		assert_int_equal(proc_stat_parse(text, n, &s), -EINVAL);
	assert_int_equal(stat_of(")(", &s), -EINVAL);
	assert_int_equal(stat_of("1 (x) S x" TAIL, &s), -EINVAL);
	assert_int_equal(stat_of("1 (x) S 99999999999" TAIL, &s), -EINVAL);
}

static void test_status(void **state)
{
	static const char text[] =
		"Name:\tpython3\nUmask:\t0022\nTgid:\t77\nUid:\t1000\t1001\t1002\t1003\n"
		"NStgid:\t77\t5\t1\nNSpid:\t77\t5\t1\nVmPeak:\t1 kB\n"
		"VmExe:\t       4 kB\nVmLib:\t    7408 kB\n";
	struct proc_status s;

	assert_int_equal(proc_status_parse(text, sizeof(text) - 1, &s), 0);
	assert_int_equal(s.uid, 1001);
	assert_int_equal(s.tgid, 77);
	assert_int_equal(s.ns_tgid, 1);
	assert_int_equal(s.ns_level, 2);
	assert_int_equal(s.code_bytes, 7412 << 10);
	assert_int_equal(proc_status_parse("Name:\tx\nUid:\t1\t2\n", 16, &s), 0);
	assert_int_equal(s.ns_tgid, 0);
	assert_int_equal(s.ns_level, 0);
	assert_int_equal(s.code_bytes, 0);
	assert_int_equal(proc_status_parse("Name:\tx\nUid:\t1\n", 14, &s), -EINVAL);
	assert_int_equal(proc_status_parse("", 0, &s), -EINVAL);
}

static void assert_cgroup(const char *text, const char *path)
{
	_cleanup_str_ struct str s = {};

	cgroup_path(text, strlen(text), &s);
	assert_string_equal(str_cstr(&s), path);
}

/* Tests which line of a cgroup file krait takes the path from: the line's controllers decide. */
static void test_controllers(void **state)
{
	static const char *const text[][2] = {
		{"0::/system.slice/web.service\n", ""},
		{"3:memory:/docker/x\n2:cpu:/\n0::/\n", "memory"},
		{"4:name=systemd:/docker/x\n3:cpu,cpuacct:/\n", "name=systemd"},
		{"3:cpu,cpuacct:/a:b\n", "cpu,cpuacct"},
		{"3:memory:/docker/long\n0::/v2\n", ""},
		{":\n::\nnonsense", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(text); i++) {
		_cleanup_str_ struct str s = {};

		cgroup_controllers(text[i][0], strlen(text[i][0]), &s);
		assert_string_equal(str_cstr(&s), text[i][1]);
	}
}

static void test_cgroup(void **state)
{
	assert_cgroup("0::/system.slice/web.service\n", "/system.slice/web.service");
	assert_cgroup("0::/a:b\n", "/a:b");
	assert_cgroup("3:memory:/docker/x\n2:cpu:/\n0::/\n", "/docker/x");
	assert_cgroup("3:memory:/docker/long\n0::/v2\n", "/v2");
	assert_cgroup("0::/", "/");
	assert_cgroup("", "/");
	assert_cgroup("nonsense\n\n:\n::\n", "/");
}

static void assert_container(const char *path, const char *id)
{
	_cleanup_str_ struct str s = {};

	assert_int_equal(container_from_cgroup(path, &s), id != NULL);
	if (id)
		assert_string_equal(str_cstr(&s), id);
}

static void test_container(void **state)
{
	assert_container("/docker/" ID, ID);
	assert_container("/system.slice/docker-" ID ".scope", ID);
	assert_container("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/"
			 "cri-containerd-" ID ".scope",
			 ID);
	assert_container("/kubepods/besteffort/pod0b/" ID, ID);
	assert_container("/machine.slice/libpod-" ID ".scope/container", ID);
	assert_container("/../../../crio-" ID ".scope", ID);
	assert_container("/machine.slice/libpod-conmon-" ID ".scope", NULL);
	/* if the path names two containers, the inner one is the process's */
	assert_container("/docker/1" ID "/docker/" ID, ID);
	assert_container("/docker/f0" ID, NULL);
	assert_container("/docker/" ID "0", NULL);
	assert_container("/machine.slice/machine-deb\\x2dtest.scope", "deb-test");
	assert_container("/machine.slice/systemd-nspawn@web.service/payload", "web");
	assert_container("/lxc.payload.web/init.scope", "web");
	assert_container("/lxc/web", "web");
	assert_container("/lxc//web", "web");
	assert_container("/lxc//", NULL);
	assert_container("/user.slice/user-1000.slice/session-2.scope", NULL);
	assert_container("/", NULL);
	assert_container("", NULL);
}

static void test_mountinfo(void **state)
{
	static const char docker[] = "1 2 0:1 / / rw - overlay overlay rw\n"
				     "3 1 254:0 /var/lib/docker/containers/" ID
				     "/hostname /etc/hostname rw - ext4 x rw\n";
	static const char other[] = "3 1 254:0 /srv/containers/" ID "/data /data rw - ext4 x rw\n";
	_cleanup_str_ struct str s = {};

	assert_false(container_from_mountinfo(other, sizeof(other) - 1, &s));
	for (size_t n = 0; n < sizeof(docker) - 40; n++)
		container_from_mountinfo(docker, n, &s);
	str_clear(&s);
	assert_true(container_from_mountinfo(docker, sizeof(docker) - 1, &s));
	assert_string_equal(str_cstr(&s), ID);
}

static void assert_cpus(const char *text, int n, int first, int last)
{
	cpu_vec cpus = {};

	assert_int_equal(cpus_parse(text, strlen(text), &cpus), 0);
	assert_int_equal(cpus.n, n);
	if (n) {
		assert_int_equal(cpus.v[0], first);
		assert_int_equal(cpus.v[n - 1], last);
	}
	vec_fini(&cpus);
}

static void test_cpus(void **state)
{
	static const char *const bad[] = {"x",	    "0-",    "-1",  "1-0",   "0,0",
					  "2,1",    "0-3,2", "0;1", "65536", "99999999999999999999",
					  "0-65536"};
	cpu_vec cpus = {};

	assert_cpus("0-3,5,8-11\n", 9, 0, 11);
	assert_cpus("0\n", 1, 0, 0);
	assert_cpus("7", 1, 7, 7);
	assert_cpus("", 0, 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(cpus_parse(bad[i], strlen(bad[i]), &cpus), -EINVAL);
	assert_int_equal(cpus_online(&cpus), 0);
	assert_int_equal(cpus.n, sysconf(_SC_NPROCESSORS_ONLN));
	vec_fini(&cpus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_namespace), cmocka_unit_test(test_stat),
		cmocka_unit_test(test_stat_malformed), cmocka_unit_test(test_status),
		cmocka_unit_test(test_cgroup),	       cmocka_unit_test(test_controllers),
		cmocka_unit_test(test_container),      cmocka_unit_test(test_mountinfo),
		cmocka_unit_test(test_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
