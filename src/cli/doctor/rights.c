/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of `krait doctor` that are about rights, limits of sampling, and containers. */
#include "cli/doctor/checks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/system/self.h"
#include "cli/advice.h"
#include "host/sandbox.h"
#include "proc/container/container.h"
#include "sampler/sampler.h"

/* Inode number of the host's PID namespace: PROC_PID_INIT_INO in include/linux/proc_ns.h. */
#define HOST_PID_NS 0xeffffffcu

#define FILE_BYTES  65536
/* how many digits of a container's id are shown, as many as people usually type */
#define SHORT_ID 12

static bool in_pid_namespace(const struct doctor *d)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/proc/self/ns/pid", d->root);
	return stat(path, &st) == 0 && st.st_ino != HOST_PID_NS;
}

/*
 * Appends the id of the container in which krait runs. Returns false if krait runs in none, or if
 * its id can't be found.
 */
static bool own_container(const struct doctor *d, struct str *ret)
{
	_cleanup_free_ char *text = malloc(FILE_BYTES);
	_cleanup_str_ struct str path = {};

	if (!text)
		return false;
	if (doctor_file(d, "/proc/self/cgroup", text, FILE_BYTES)) {
		cgroup_path(text, strlen(text), &path);
		if (container_from_cgroup(str_cstr(&path), ret))
			return true;
	}
	return doctor_file(d, "/proc/self/mountinfo", text, FILE_BYTES) &&
	       container_from_mountinfo(text, strlen(text), ret);
}

static bool in_user_namespace(const struct doctor *d)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/proc/self/ns/user", d->root);
	return sandbox_is_user_namespace(path);
}

static bool is_contained(const struct doctor *d, struct str *id)
{
	return own_container(d, id) || in_pid_namespace(d) || in_user_namespace(d);
}

/*
 * Sets the finding's remedy if krait can't get the rights inside of the container: a command for
 * the host.
 */
static void remedy_on_host(struct finding *f, const struct str *id)
{
	if (id->n)
		finding_remedy(f, "on the host: sudo krait record --container %.*s", SHORT_ID,
			       str_cstr(id));
	else
		finding_remedy(f, "on the host: sudo krait record");
}

bool check_sandbox(struct doctor *d, bool capable)
{
	struct sandbox_why why;

	sandbox_why(capable, &why);
	if (why.name)
		finding_remedy(finding_add(d, why.name, FINDING_FAIL, "%s", why.text), "%s",
			       why.remedy);
	return !why.name;
}

void check_rights(struct doctor *d)
{
	_cleanup_str_ struct str missing = {}, id = {}, words = {};
	bool contained = is_contained(d, &id);
	struct finding *f;

	if (rights_missing(&d->rights, RIGHT_NEEDED, &missing)) {
		f = finding_add(d, "rights", FINDING_FAIL, "missing: %s", str_cstr(&missing));
		if (d->rights.uid == 0) {
			rights_for_container(&d->rights, &words);
			finding_remedy(f, "%s", str_cstr(&words));
		} else if (contained)
			remedy_on_host(f, &id);
		else
			finding_remedy(f,
				       "sudo %s doctor --grant, or each time: sudo %s record ...",
				       self_under_sudo(), self_under_sudo());
		return;
	}
	if (!rights_missing(&d->rights, RIGHT_GRANTED, &missing) &&
	    !rights_missing(&d->rights, RIGHT_OTHERS, &missing)) {
		finding_add(d, "rights", FINDING_OK, "krait has all rights, for every process");
		return;
	}
	f = finding_add(d, "rights", d->rights.uid == 0 ? FINDING_WARN : FINDING_OK,
			"the rights are enough for your own processes; missing: %s",
			str_cstr(&missing));
	if (d->rights.uid)
		finding_remedy(f, "for other users' processes: sudo %s record ...",
			       self_under_sudo());
	else if (contained)
		remedy_on_host(f, &id);
}

static void no_record(void *ctx, const void *data, size_t n)
{
}

/*
 * Loads and attaches all kernel programs once, without enabling them: only that proves that krait
 * can record.
 */
void check_programs(struct doctor *d)
{
	struct sampler_config config = {.n_sources = 1, .record = no_record};
	struct sampler *s;
	struct finding *f;
	int r;

	if (*d->root || rights_check(&d->rights))
		/*
		 * programs can only be tried on the running kernel (.root may stand for another
		 * one), and only with rights
		 */
		return;
	if (!check_sandbox(d, true))
		return;
	r = event_parse(&config.sources[0].event, "cpu-clock");
	if (!r)
		r = event_set_rate(&config.sources[0].event, 99, 0);
	if (!r)
		r = sampler_open(&s, &config);
	if (!r) {
		sampler_close(s);
		finding_add(d, "programs", FINDING_OK,
			    "the kernel accepts and attaches krait's programs");
		return;
	}
	if (r == -ENOSYS && !doctor_has_btf(d))
		return; /* check_btf() reports that the kernel has no type information */
	f = finding_add(d, "programs", FINDING_FAIL, "%s", error_words());
	finding_remedy(f, "krait record -vv -d 1 2> krait.log, and report that file");
}

/* Reads a number from a file; returns @otherwise if the file has no number. */
static long number_in(const struct doctor *d, const char *path, long otherwise)
{
	char text[32];

	return doctor_file(d, path, text, sizeof(text)) ? strtol(text, NULL, 10) : otherwise;
}

static void check_rate(struct doctor *d)
{
	long rate = number_in(d, "/proc/sys/kernel/perf_event_max_sample_rate", -1);
	long percent = number_in(d, "/proc/sys/kernel/perf_cpu_time_max_percent", -1);
	struct finding *f;

	if (rate < 0)
		return;
	if (rate < 999) {
		f = finding_add(
			d, "sample rate", FINDING_WARN,
			"the kernel allows at most %ld Hz; the default for one process is 999",
			rate);
		finding_remedy(f, "sudo sysctl kernel.perf_event_max_sample_rate=100000");
		return;
	}
	/* With the values 0 and 100, the kernel has no limit. */
	if (percent <= 0 || percent == 100)
		finding_add(d, "sample rate", FINDING_OK,
			    "the kernel allows at most %ld Hz, and doesn't throttle "
			    "sampling",
			    rate);
	else
		finding_add(d, "sample rate", FINDING_OK,
			    "the kernel allows at most %ld Hz; it throttles sampling that takes "
			    "over %ld %% of a CPU",
			    rate, percent);
}

static void check_events(struct doctor *d)
{
	_cleanup_str_ struct str available = {};

	if (*d->root)
		return;
	event_available(&available);
	finding_add(d, "events", FINDING_OK, "%s%s", str_cstr(&available),
		    strstr(str_cstr(&available), "cycles")
			    ? ""
			    : "; no hardware events, as in most virtual machines");
}

void check_perf(struct doctor *d)
{
	long paranoid = number_in(d, "/proc/sys/kernel/perf_event_paranoid", -2);

	if (paranoid == -2) {
		struct finding *f = finding_add(d, "perf", FINDING_FAIL,
						"no kernel.perf_event_paranoid: this kernel has no "
						"perf events, or /proc isn't mounted");

		finding_remedy(f, "boot a kernel of the distribution");
		return;
	}
	if (paranoid > 2) {
		struct finding *f = finding_add(d, "perf", FINDING_WARN,
						"kernel.perf_event_paranoid is %ld: above 2 many "
						"kernels of Debian and Ubuntu let only root "
						"sample, even after krait doctor --grant",
						paranoid);

		finding_remedy(f, "sudo sysctl kernel.perf_event_paranoid=2");
		check_rate(d);
		check_events(d);
		return;
	}
	/*
	 * With CAP_PERFMON this setting doesn't matter. Without CAP_PERFMON, a lower setting
	 * doesn't help either: BPF needs more.
	 */
	finding_add(d, "perf", FINDING_OK,
		    "kernel.perf_event_paranoid is %ld, which CAP_PERFMON %s", paranoid,
		    rights_check(&d->rights) ? "would override" : "overrides");
	check_rate(d);
	check_events(d);
}

void check_place(struct doctor *d)
{
	_cleanup_str_ struct str id = {};
	struct finding *f;

	if (!is_contained(d, &id)) {
		finding_add(d, "place", FINDING_OK, "krait runs on the host, in no container");
		return;
	}
	f = finding_add(
		d, "place", FINDING_WARN,
		"krait runs in a container%s%.*s: only the container's processes can be seen",
		id.n ? " " : "", SHORT_ID, str_cstr(&id));
	remedy_on_host(f, &id);
}
