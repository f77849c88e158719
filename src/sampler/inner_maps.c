/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts maps into maps of maps in batches, because each call that changes a map of maps waits until
 * all running programs have ended; see inner_maps.h.
 */
#include "sampler/inner_maps.h"

#include <bpf/bpf.h>
#include <errno.h>

int inner_maps_put(int outer, const uint32_t *number, const int *fd, uint32_t n)
{
	uint32_t done = n;

	if (!bpf_map_update_batch(outer, number, fd, &done, NULL))
		return 0;
	/* before Linux 5.14 there are no batches, so the maps are put in one by one */
	for (uint32_t i = 0; i < n; i++) {
		if (bpf_map_update_elem(outer, &number[i], &fd[i], BPF_ANY))
			return -errno;
	}
	return 0;
}
