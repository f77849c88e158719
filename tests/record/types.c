/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * types OBJECT [load]: prints "picked" if krait picks the kernel's types for the programs in the
 * object file, else "not picked". With "load", the programs are loaded twice, with the picked types
 * and with all of the kernel's types, and "NAME TAG" is printed for each program. The tag is the
 * kernel's hash of the instructions after relocation. check.py compares the tags.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sampler/kernel_types.h"

static void print_tags(const struct bpf_object *obj)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, obj)
	{
		struct bpf_prog_info info = {};
		uint32_t n = sizeof(info);

		if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &n))
			exit(1);
		printf("%s ", bpf_program__name(program));
		for (size_t i = 0; i < sizeof(info.tag); i++)
			printf("%02x", info.tag[i]);
		putchar('\n');
	}
}

static void load(const char *file, const char *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = types);
	struct bpf_object *obj = bpf_object__open_file(file, &opts);
	int r = obj ? bpf_object__load(obj) : -1;

	if (r)
		printf("refused %d\n", r);
	else
		print_tags(obj);
	bpf_object__close(obj);
}

int main(int argc, char **argv)
{
	static char elf[8 << 20];
	_cleanup_fclose_ FILE *f = argc > 1 ? fopen(argv[1], "re") : NULL;
	_cleanup_(kernel_types_close) struct kernel_types types = {.fd = -1};
	const char *path;

	if (!f || !fread(elf, 1, sizeof(elf), f))
		return 2;
	libbpf_set_print(NULL);
	path = kernel_types_open(&types, elf);
	puts(path ? "picked" : "not picked");
	if (argc > 2) {
		load(argv[1], path);
		load(argv[1], NULL);
	}
	return 0;
}
