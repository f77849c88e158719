/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs `krait doctor` on made-up machines: a directory with files stands for the machine's /. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>
#include "base/cleanup.h"
#include "cli/doctor/doctor.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct machine {
	char root[64];
	struct doctor d;
};

static int setup(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));

	strcpy(m->root, "/tmp/krait-doctor-XXXXXX");
	m->d.root = mkdtemp(m->root);
	*state = m;
	return m->d.root ? 0 : -1;
}

static int teardown(void **state)
{
	struct machine *m = *state;
	char command[128];
	int r;

	snprintf(command, sizeof(command), "rm -rf %s", m->root);
	r = system(command);
	doctor_fini(&m->d);
	free(m);
	return r;
}

static void put(struct machine *m, const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", m->root, path);
	for (char *slash = full + strlen(m->root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static const struct finding *find(struct machine *m, const char *name)
{
	vec_foreach(f, &m->d.findings)
		if (streq(f->name, name))
			return f;
	return NULL;
}

static void assert_finding(struct machine *m, const char *name, enum finding_state state,
			   const char *text, const char *remedy)
{
	const struct finding *f = find(m, name);

	assert_non_null(f);
	assert_int_equal(f->state, state);
	if (!strstr(str_cstr(&f->text), text))
		fail_msg("%s: \"%s\" doesn't say \"%s\"", name, str_cstr(&f->text), text);
	if (!strstr(str_cstr(&f->remedy), remedy))
		fail_msg("%s: \"%s\" doesn't say \"%s\"", name, str_cstr(&f->remedy), remedy);
}

static void test_empty_machine(void **state)
{
	struct machine *m = *state;

	doctor_examine(&m->d);
	assert_false(doctor_usable(&m->d));
	assert_finding(m, "types (BTF)", FINDING_FAIL, "CONFIG_DEBUG_INFO_BTF", "kernel");
	assert_finding(m, "perf", FINDING_FAIL, "perf_event_paranoid", "kernel");
	assert_null(find(m, "lockdown"));
	assert_null(find(m, "clock"));
}

static void test_bad_machine(void **state)
{
	struct machine *m = *state;

	put(m, "/sys/kernel/btf/vmlinux", "\x9f\xeb");
	put(m, "/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	put(m, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	put(m, "/proc/sys/kernel/perf_event_paranoid", "4\n");
	put(m, "/proc/sys/kernel/perf_event_max_sample_rate", "500\n");
	doctor_examine(&m->d);
	assert_finding(m, "types (BTF)", FINDING_OK, "/sys/kernel/btf", "");
	assert_finding(m, "lockdown", FINDING_FAIL, "confidentiality", "lockdown=integrity");
	assert_finding(m, "clock", FINDING_WARN, "hpet", "available_clocksource");
	assert_finding(m, "perf", FINDING_WARN, "paranoid is 4", "perf_event_paranoid=2");
	assert_finding(m, "sample rate", FINDING_WARN, "500 Hz", "sudo sysctl");
	assert_finding(m, "place", FINDING_OK, "host", "");
	assert_false(doctor_usable(&m->d));
}

static void test_throttling(void **state)
{
	struct machine *m = *state;

	put(m, "/proc/sys/kernel/perf_event_paranoid", "2\n");
	put(m, "/proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
	put(m, "/proc/sys/kernel/perf_cpu_time_max_percent", "0\n");
	doctor_examine(&m->d);
	assert_finding(m, "sample rate", FINDING_OK, "100000 Hz, and doesn't throttle", "");
	doctor_fini(&m->d);
	put(m, "/proc/sys/kernel/perf_cpu_time_max_percent", "25\n");
	doctor_examine(&m->d);
	assert_finding(m, "sample rate", FINDING_OK, "over 25 % of a CPU", "");
}

static void test_in_a_container(void **state)
{
	struct machine *m = *state;

	put(m, "/proc/self/cgroup", "0::/system.slice/docker-" ID ".scope\n");
	doctor_examine(&m->d);
	assert_finding(m, "place", FINDING_WARN, "container 0123456789ab",
		       "on the host: sudo krait record --container 0123456789ab");
}

static void test_in_a_container_of_unknown_id(void **state)
{
	struct machine *m = *state;

	put(m, "/proc/self/cgroup", "0::/\n");
	/* a file whose inode isn't that of the host's PID namespace */
	put(m, "/proc/self/ns/pid", "");
	doctor_examine(&m->d);
	assert_finding(m, "place", FINDING_WARN, "a container:", "on the host: sudo krait record");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_empty_machine, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_machine, setup, teardown),
		cmocka_unit_test_setup_teardown(test_throttling, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_a_container, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_a_container_of_unknown_id, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
