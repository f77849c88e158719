/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verify [--all-options] FILE...: loads BPF object files as they are, without krait's user space,
 * and prints whether this kernel's verifier accepts them and what that costs. --all-options sets
 * every byte of the constants that user space sets (.rodata) to 1: all options are on, so no
 * program has code that the verifier leaves out. The output is "OBJECT FILE ok|refused MS ms" and,
 * for each program, "PROGRAM NAME", followed by the last lines of the verifier's log: "processed N
 * insns ...", or why it refused the program.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { LOG_BYTES = 4 << 20, LOG_TAIL_LINES = 25 };

static int print_warning(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vprintf(format, args) : 0;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/*
 * Prints the last lines of the verifier's log: why it refused a program, and "processed N insns
 * ...".
 */
static void print_tail(const char *log, int lines)
{
	const char *p = log + strlen(log);

	while (p > log && lines >= 0)
		if (*--p == '\n')
			lines--;
	printf("%s\n", p);
}

static int collect_logs(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		char *log = calloc(1, LOG_BYTES);

		if (!log)
			return -ENOMEM;
		/* The verifier writes into this buffer as long as the program runs. */
		bpf_program__set_log_buf(program, log, LOG_BYTES);
		bpf_program__set_log_level(program, 4 /* the log has only statistics */);
	}
	return 0;
}

static void set_all_options(struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		size_t n = bpf_map__value_size(map);
		void *value = malloc(n);

		if (value && strstr(bpf_map__name(map), ".rodata")) {
			memset(value, 1, n);
			bpf_map__set_initial_value(map, value, n);
		}
		free(value);
	}
}

static int verify(const char *path, int all_options)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;
	double start = now_ms();
	int err;

	if (object && all_options)
		set_all_options(object);
	if (!object || collect_logs(object)) {
		printf("OBJECT %s unreadable: %s\n", path, strerror(errno));
		return -1;
	}
	err = bpf_object__load(object);
	printf("OBJECT %s %s %.0f ms\n", path, err ? "refused" : "ok", now_ms() - start);
	bpf_object__for_each_program(program, object)
	{
		size_t size;

		printf("PROGRAM %s\n", bpf_program__name(program));
		print_tail(bpf_program__log_buf(program, &size), err ? LOG_TAIL_LINES : 3);
	}
	bpf_object__close(object);
	return err;
}

int main(int argc, char **argv)
{
	struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
	int bad = 0, all_options;

	setrlimit(RLIMIT_MEMLOCK, &unlimited); /* before 5.11 this limit also counts BPF maps */
	libbpf_set_print(print_warning);
	all_options = argc > 1 && !strcmp(argv[1], "--all-options");
	for (int i = 1 + all_options; i < argc; i++)
		bad |= verify(argv[i], all_options) != 0;
	fflush(stdout);
	return bad;
}
