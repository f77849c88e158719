/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes type information (BTF) that has only those types of the kernel that krait's programs use.
 * For each type of a program, libbpf compares the names of all types that it is given. The kernel
 * has more than 100,000 types, so libbpf would take 1 to 2 ms for each type.
 */
#ifndef SAMPLER_KERNEL_TYPES_H
#define SAMPLER_KERNEL_TYPES_H

#include <stddef.h>

struct kernel_types {
	int fd;
	char path[32]; /* the file's name, for .btf_custom_path; valid until kernel_types_close() */
};

/*
 * Copies the running kernel's types by which libbpf relocates the programs of object file @elf. The
 * object file is krait's own and isn't checked. Returns the path of a file in memory with the
 * copies. NULL: copying failed. In that case the caller gives libbpf the kernel's types themselves,
 * and libbpf reports what is wrong.
 */
const char *kernel_types_open(struct kernel_types *k, const void *elf);
void kernel_types_close(struct kernel_types *k);

#endif
