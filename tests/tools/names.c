/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names perf-map PID: names of the addresses on stdin (hexadecimal, one a line) after the process's
 * perf map and jitdump, behind the offset in that code, "-" for none. names elf FILE: the same for addresses in an ELF file, as
 * people know them. names time FILE: what it costs to open the file and to name 10,000 distinct
 * addresses spread over its code, as "name value" lines.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "symbol/elf_names.h"
#include "symbol/perf_map.h"

#define ADDRESSES 10000

static int fail(void)
{
	fprintf(stderr, "names: %s\n", err_msg());
	return 1;
}

static int perf_map(pid_t pid)
{
	_cleanup_proc_ struct proc p = PROC_INIT;
	struct perf_map *m;
	char line[64];

	if (proc_open(&p, pid) < 0 || perf_map_open(&p, &m) < 0)
		return fail();
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t at = strtoull(line, NULL, 16), start = at;
		const char *name = perf_map_find(m, at, &start);

		printf("+%llx %s\n", (unsigned long long)(at - start), name ? name : "-");
	}
	perf_map_free(m);
	return 0;
}

static int elf(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_names *n;
	char line[64];

	if (elf_names_open(fd, path, -1, &n) < 0)
		return fail();
	while (fgets(line, sizeof(line), stdin)) {
		_cleanup_free_ char *shown = NULL;
		struct elf_name name;

		if (elf_names_find(n, strtoull(line, NULL, 16), NULL, &name))
			shown = symbol_demangle(name.name, NULL);
		puts(shown ? shown : "-");
	}
	elf_names_free(n);
	return 0;
}

static double now_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* First and last address of the executable segments. */
static struct elf_range code(int fd, const char *path)
{
	_cleanup_elf_ struct elf_file *f = NULL;
	struct elf_range ret = {UINT64_MAX, 0};
	const struct elf_load *loads;
	size_t n;

	if (elf_file_open(fd, path, &f) < 0)
		exit(fail());
	n = elf_file_loads(f, &loads);
	for (size_t i = 0; i < n; i++) {
		if (!loads[i].exec)
			continue;
		ret.start = MIN(ret.start, loads[i].vaddr);
		ret.end = MAX(ret.end, loads[i].vaddr + loads[i].memsz);
	}
	return ret;
}

static int measure(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_range range = code(fd, path);
	double start = now_ms(CLOCK_MONOTONIC), opened;
	struct rusage usage;
	struct elf_names *n;
	size_t named = 0;

	if (elf_names_open(fd, path, -1, &n) < 0)
		return fail();
	opened = now_ms(CLOCK_MONOTONIC);
	for (uint64_t i = 0; i < ADDRESSES; i++) {
		uint64_t at = range.start + (range.end - range.start) / ADDRESSES * i;
		struct elf_name name;

		if (elf_names_find(n, at, NULL, &name)) {
			free(symbol_demangle(name.name, NULL));
			named++;
		}
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("file_mb %lld\nsymbols %zu\nheld_mib %.1f\nopen_ms %.0f\nname_ms %.0f\ncpu_ms %.0f\n"
	       "named %zu\npeak_mib %ld\n",
	       (long long)lseek(fd, 0, SEEK_END) / 1000000, elf_names_count(n),
	       (double)elf_names_bytes(n) / (1 << 20), opened - start,
	       now_ms(CLOCK_MONOTONIC) - opened, now_ms(CLOCK_PROCESS_CPUTIME_ID), named,
	       usage.ru_maxrss / 1024);
	elf_names_free(n);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && streq(argv[1], "perf-map"))
		return perf_map(atoi(argv[2]));
	if (argc == 3 && streq(argv[1], "elf"))
		return elf(argv[2]);
	if (argc == 3 && streq(argv[1], "time"))
		return measure(argv[2]);
	fprintf(stderr, "usage: names perf-map PID | elf FILE | time FILE\n");
	return 2;
}
