/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SAMPLER_INNER_MAPS_H
#define SAMPLER_INNER_MAPS_H

#include <stdint.h>

/*
 * Puts the @n maps @fd into map of maps @outer, at the numbers @number. The kernel waits 10 to 20
 * ms until no program uses the maps that are replaced (kernel/bpf/syscall.c,
 * maybe_wait_bpf_programs()); since Linux 6.8 it waits once for a batch. 0 or a negative errno.
 */
int inner_maps_put(int outer, const uint32_t *number, const int *fd, uint32_t n);

#endif
