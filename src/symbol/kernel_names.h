/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of kernel addresses from /proc/kallsyms, modules and BPF programs included. */
#ifndef SYMBOL_KERNEL_NAMES_H
#define SYMBOL_KERNEL_NAMES_H

#include "base/util.h"

struct kernel_names;

/*
 * Reads @fd, /proc/kallsyms, from its beginning: some 100 ms. It shows addresses by the rights of
 * who opened it, when that was done. 0; -EPERM where it shows zeros; -errno; with a message.
 */
_must_use_ int kernel_names_open(int fd, struct kernel_names **ret);
void kernel_names_free(struct kernel_names *k); /* NULL is fine */

/* The same from @n bytes of text, which may end anywhere. */
_must_use_ int kernel_names_parse(const char *text, size_t n, struct kernel_names **ret);

/*
 * Name of the function that holds @addr; NULL if none does. *module: "" for the kernel itself, "bpf",
 * "ftrace", a module's name. Both are @k's. kallsyms has no
 * sizes: a function reaches to the next symbol of its module; the last one before another module,
 * and every BPF program, no further than 64 KiB.
 */
const char *kernel_names_find(const struct kernel_names *k, uint64_t addr, const char **module);

/*
 * Where @addr is without telling where the kernel is: from _stext for the kernel itself, named or
 * not; else from the start of the function that holds it. 0: nothing of it can be said.
 */
uint64_t kernel_names_relative(const struct kernel_names *k, uint64_t addr);

size_t kernel_names_bytes(const struct kernel_names *k); /* memory held */

#endif
