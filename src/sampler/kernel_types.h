/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's types that krait's programs use, as type information (BTF) of their own. For each
 * such type libbpf compares the names of all types that it is given. The kernel has 100,000 and
 * more, so that takes 1 to 2 ms for each.
 */
#ifndef SAMPLER_KERNEL_TYPES_H
#define SAMPLER_KERNEL_TYPES_H

#include <stddef.h>

struct kernel_types {
	int fd;
	char path[32]; /* the file's name, for .btf_custom_path; valid until kernel_types_close() */
};

/*
 * Makes the types that the programs of object file @elf (krait's own, not checked) are relocated
 * by, out of those of the running kernel. Returns the path of a file in memory that has them, or
 * NULL: libbpf has to look in the kernel's, and says what is wrong.
 */
const char *kernel_types_open(struct kernel_types *k, const void *elf);
void kernel_types_close(struct kernel_types *k);

#endif
