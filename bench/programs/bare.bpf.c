/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shows how little a stack walk can cost that reads frame by frame: this program follows the frame
 * chain of one thread, reads 8 bytes of user memory for each frame and does nothing else. bench/run
 * walk compares krait's walk with it.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>

#define MAX_STEPS 1024

/* bare.c sets these variables before it loads the program. */
const volatile __u64 first_addr; /* address of the pointer to the innermost frame */
/*
 * 1 in 3.11 and 3.12: the pointer to the innermost frame is in a _PyCFrame, and first_addr is the
 * address of a pointer to that _PyCFrame
 */
const volatile __u32 via_cframe;
const volatile __u32 cframe_off;
const volatile __u32 back_off; /* offset, within a frame, of the pointer to the caller's frame */

/* Only one thread is sampled, so no other program writes these variables at the same time. */
__u64 samples, steps;

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct chain {
	__u64 frame;
	__u32 n;
};

static int step(__u64 i, struct chain *c)
{
	if (!c->frame)
		return 1;
	c->n++;
	if (bpf_probe_read_user(&c->frame, sizeof(c->frame), (void *)(c->frame + back_off)))
		return 1;
	return 0;
}

SEC("perf_event")
int on_bare(void *ctx)
{
	struct chain c = {};

	if (bpf_probe_read_user(&c.frame, sizeof(c.frame), (void *)first_addr))
		return 0;
	if (via_cframe &&
	    bpf_probe_read_user(&c.frame, sizeof(c.frame), (void *)(c.frame + cframe_off)))
		return 0;
	bpf_loop(MAX_STEPS, step, &c, 0);
	samples++;
	steps += c.n;
	return 0;
}
