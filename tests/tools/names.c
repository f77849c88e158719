/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names perf-map PID: reads addresses on stdin (hexadecimal, one per line). Prints "+OFFSET NAME"
 * for each, from the process's perf map and jitdump: the name of the code at the address, or "-",
 * and the address's offset in that code.
 *
 * names elf FILE: reads addresses in an ELF file, and prints the demangled name of each, or "-".
 * Prints on stderr what that cost, as lines "name value".
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "symbol/elf/elf_names.h"
#include "symbol/madecode/perf_map.h"

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

	if (proc_open(&p, pid) < 0 || perf_map_open(&p, 0, &m) < 0)
		return fail();
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t at = strtoull(line, NULL, 16), start = at;
		const char *name = perf_map_find(m, at, &start);

		printf("+%llx %s\n", (unsigned long long)(at - start), name ? name : "-");
	}
	perf_map_free(m);
	return 0;
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/*
 * Returns the peak of resident memory. (getrusage() would include the memory of the parent before
 * exec.)
 */
static unsigned int peak_kib(void)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/status", "re");
	unsigned int kib = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f) && !sscanf(line, "VmHWM: %u", &kib))
		continue;
	return kib;
}

static int elf(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_names *n;
	double opened;
	char line[64];

	if (elf_names_open(fd, path, -1, &n) < 0)
		return fail();
	opened = cpu_ms();
	while (fgets(line, sizeof(line), stdin)) {
		_cleanup_free_ char *shown = NULL;
		struct elf_name name;

		if (elf_names_find(n, strtoull(line, NULL, 16), NULL, &name))
			shown = symbol_demangle(name.name, NULL);
		puts(shown ? shown : "-");
	}
	fprintf(stderr, "file_mb %lld\nsymbols %zu\n", (long long)lseek(fd, 0, SEEK_END) / 1000000,
		elf_names_count(n));
	fprintf(stderr, "held_mib %.1f\nopen_ms %.0f\ncpu_ms %.0f\npeak_mib %u\n",
		(double)elf_names_bytes(n) / (1 << 20), opened, cpu_ms(), peak_kib() / 1024);
	elf_names_free(n);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && streq(argv[1], "perf-map"))
		return perf_map(atoi(argv[2]));
	if (argc == 3 && streq(argv[1], "elf"))
		return elf(argv[2]);
	fprintf(stderr, "usage: names perf-map PID | elf FILE\n");
	return 2;
}
