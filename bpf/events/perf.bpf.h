/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * perf events: on every CPU an event of the chosen kind runs on_sample() whenever its period is
 * over.
 */
#ifndef BPF_EVENTS_PERF_H
#define BPF_EVENTS_PERF_H

#include "capture.bpf.h"

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct moment m = {
		.task = (void *)bpf_get_current_task(),
		.ctx = ctx,
		.user_mode = CTX_USER_MODE(ctx),
		.weight = sample_weight ? sample_weight : ctx->sample_period,
	};

	if (armed)
		capture(&m, SLOT_PERF);
	return 0;
}

#endif
