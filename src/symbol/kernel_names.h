/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds names of kernel addresses in /proc/kallsyms, which includes modules and BPF programs. */
#ifndef SYMBOL_KERNEL_NAMES_H
#define SYMBOL_KERNEL_NAMES_H

#include "base/util.h"

struct kernel_names;

/*
 * Reads @fd, /proc/kallsyms, from its beginning, which takes some 100 ms. The file shows addresses
 * only if the process had the right to see them when it opened the file. 0; -EPERM: all addresses
 * are zeros; -errno. Failures leave a message.
 */
_must_use_ int kernel_names_open(int fd, struct kernel_names **ret);
void kernel_names_free(struct kernel_names *k); /* @k may be NULL */

/*
 * Does what kernel_names_open() does, with @n bytes of text in place of a file. The text may end in
 * the middle of a line.
 */
_must_use_ int kernel_names_parse(const char *text, size_t n, struct kernel_names **ret);

/*
 * Returns the name of the function that holds @addr; NULL: no function holds @addr. Sets *module to
 * "" for the kernel itself, "bpf", "ftrace", or a module's name. Both texts belong to @k. kallsyms
 * has no sizes: a function reaches to the next symbol of its module. The last function before
 * another module, and every BPF program, reach 64 KiB at most.
 */
const char *kernel_names_find(const struct kernel_names *k, uint64_t addr, const char **module);

/*
 * Returns a number for @addr that doesn't reveal where the kernel lies in memory. If @addr is in
 * the kernel itself, the number is the distance from _stext; else it is the distance from the start
 * of the function that holds @addr. 0: neither distance is known.
 */
uint64_t kernel_names_relative(const struct kernel_names *k, uint64_t addr);

/* Returns the memory that @k holds, in bytes. */
size_t kernel_names_bytes(const struct kernel_names *k);

#endif
