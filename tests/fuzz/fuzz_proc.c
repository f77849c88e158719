/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads any bytes as those texts of /proc that no other fuzzer reads: stat, status, cmdline,
 * cgroup, mountinfo, CPU lists.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include "proc/container/container.h"
#include "proc/machine/cpus.h"
#include "proc/distribution.h"
#include "proc/proc.h"
#include "proc/read/stat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void names(const char *text, size_t n)
{
	static const char *const exes[] = {NULL, "", "/usr/bin/python3.11", "/bin/sh"};

	for (size_t i = 0; i < ARRAY_SIZE(exes); i++) {
		_cleanup_str_ struct str s = {};

		proc_name_from(text, n, exes[i], "comm", &s);
		check(s.n > 0 && s.n <= n + sizeof("python3 -c") && strlen(s.s) == s.n);
		for (size_t k = 0; k < s.n; k++)
			check(!iscntrl((unsigned char)s.s[k]));
	}
}

static void containers(const char *text, size_t n)
{
	_cleanup_str_ struct str path = {}, id = {};

	cgroup_path(text, n, &path);
	check(path.n > 0 && path.n <= MAX(n, (size_t)1));
	check(container_from_cgroup(str_cstr(&path), &id) == (id.n > 0));
	str_clear(&id);
	check(container_from_mountinfo(text, n, &id) == (id.n > 0));
	check(id.n == 0 || id.n == CONTAINER_ID_HEX);
}

/* Reads the bytes as the RECORD of a Python package, and looks up the first file in it. */
static void distributions(const char *bytes, size_t n)
{
	_cleanup_str_ struct str text = {}, file = {}, names = {};

	str_add_n(&text, bytes, strnlen(bytes, n));
	str_add_n(&file, str_cstr(&text), strcspn(str_cstr(&text), ",\n"));
	(void)distribution_from_record(str_cstr(&text), str_cstr(&file), &names);
	(void)distribution_from_top_level(str_cstr(&text), str_cstr(&file), &names);
	distribution_from_script(str_cstr(&text), &names);
	for (size_t i = 0; i < names.n; i++)
		check(isalnum((unsigned char)names.s[i]) || strchr("_. ", names.s[i]));
	check(distribution_site(str_cstr(&file)) <= file.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *text = (const char *)data;
	struct proc_stat stat;
	struct proc_status status;
	cpu_vec cpus = {};

	if (!proc_stat_parse(text, n, &stat))
		check(strlen(stat.comm) < PROC_COMM_BYTES && stat.parent >= 0);
	if (!proc_status_parse(text, n, &status))
		check(status.ns_tgid >= 0);
	if (!cpus_parse(text, n, &cpus))
		for (size_t i = 1; i < cpus.n; i++)
			check(cpus.v[i - 1] < cpus.v[i] && cpus.v[i] < CPUS_MAX);
	vec_fini(&cpus);
	names(text, n);
	containers(text, n);
	distributions(text, n);
	return 0;
}
