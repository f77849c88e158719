/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * preempt SHARES UNCHECKED: attaches the programs of preempt.bpf.c, which a running krait has
 * loaded, and ends. A child process goes on. When its standard input ends, it detaches the programs
 * and prints a line of JSON: what each program has counted, and how often the kernel skipped the
 * program.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preempt.h"

static const char *const names[PREEMPT_PROGRAMS] = {"on_read", "on_sleep", "on_schedule"};

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "preempt: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Opens the newest program or map with this name, of which the kernel keeps only 15 characters. */
static int find(const char *name, int (*next)(__u32, __u32 *), int (*open)(__u32), size_t name_at,
		void *info, __u32 bytes)
{
	int found = -1;

	for (__u32 id = 0; !next(id, &id);) {
		int fd = open(id);
		__u32 n = bytes;

		memset(info, 0, bytes);
		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, info, &n) || strcmp((char *)info + name_at, name)) {
			close(fd);
			continue;
		}
		if (found >= 0)
			close(found);
		found = fd;
	}
	must(found >= 0, name);
	return found;
}

static int find_program(const char *name)
{
	struct bpf_prog_info info;

	return find(name, bpf_prog_get_next_id, bpf_prog_get_fd_by_id,
		    offsetof(struct bpf_prog_info, name), &info, sizeof(info));
}

static int find_map(const char *name)
{
	struct bpf_map_info info;

	return find(name, bpf_map_get_next_id, bpf_map_get_fd_by_id,
		    offsetof(struct bpf_map_info, name), &info, sizeof(info));
}

static unsigned long long missed(int program)
{
	struct bpf_prog_info info = {};
	__u32 n = sizeof(info);

	must(!bpf_obj_get_info_by_fd(program, &info, &n), "program");
	return info.recursion_misses;
}

int main(int argc, char **argv)
{
	int map, program[PREEMPT_PROGRAMS], link[PREEMPT_PROGRAMS];
	const char *between = "{";
	pid_t child;
	char byte;

	must(argc == 3, "usage");
	map = find_map("preempts");
	for (__u32 i = 0; i < PREEMPT_PROGRAMS; i++) {
		struct preempt p = {.shares = atoi(argv[1]), .unchecked = atoi(argv[2])};

		program[i] = find_program(names[i]);
		must(!bpf_map_update_elem(map, &i, &p, BPF_ANY), "map");
		link[i] = bpf_raw_tracepoint_open(NULL, program[i]);
		must(link[i] >= 0, names[i]);
	}
	child = fork();
	must(child >= 0, "fork");
	/* This process ends, which tells its parent that the programs are attached. */
	if (child)
		return 0;
	while (read(0, &byte, 1) > 0)
		;
	for (__u32 i = 0; i < PREEMPT_PROGRAMS; i++) {
		struct preempt p;

		close(link[i]);
		must(!bpf_map_lookup_elem(map, &i, &p), "map");
		printf("%s\"%s\": {\"runs\": %llu, \"preempted\": %llu, \"interrupted\": %llu, "
		       "\"missed\": %llu}",
		       between, names[i], p.runs, p.preempted, p.interrupted, missed(program[i]));
		between = ", ";
	}
	puts("}");
	return 0;
}
