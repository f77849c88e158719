/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces libFuzzer's main(). Runs the fuzzer on each file in a child process, and prints "FILE
 * SECONDS KIB": the child's CPU time and its peak of memory. If the child fails or takes more than
 * LIMIT_S, prints "FILE failed STATUS".
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void run(const char *path)
{
	const struct rlimit limit = {LIMIT_S, LIMIT_S};
	FILE *f = fopen(path, "rb");
	uint8_t *data = malloc(4 << 20);
	size_t n = f && data ? fread(data, 1, 4 << 20, f) : 0;

	setrlimit(RLIMIT_CPU, &limit);
	if (n)
		LLVMFuzzerTestOneInput(data, n);
	_exit(n ? 0 : 1);
}

int main(int argc, char **argv)
{
	struct rusage u;
	int status;

	for (int i = 1; i < argc; i++) {
		pid_t child;

		fflush(stdout);
		child = fork();
		if (!child)
			run(argv[i]);
		if (child < 0 || wait4(child, &status, 0, &u) != child)
			return 1;
		if (status)
			printf("%s failed %d\n", argv[i], status);
		else
			printf("%s %.3f %ld\n", argv[i],
			       (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
				       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6,
			       u.ru_maxrss);
	}
	return 0;
}
