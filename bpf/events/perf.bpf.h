/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * perf events: on every CPU an event of the chosen kind runs on_sample() whenever its period is
 * over.
 */
#ifndef BPF_EVENTS_PERF_H
#define BPF_EVENTS_PERF_H

#include "capture.bpf.h"

/*
 * Returns which of the recording's events runs the program, as the event's number. The part of the
 * context that the program may see doesn't have this number. The kernel's own context (struct
 * bpf_perf_event_data_kern) leads to the event, and in its .wakeup_events user space has stored the
 * event's number. (bpf_get_attach_cookie() would return the number from 5.15 on.)
 */
walk_inline __u32 source_of(const struct bpf_perf_event_data *ctx)
{
	const struct bpf_perf_event_data_kern *kern = (const void *)ctx;

	if (n_sources < 2)
		return 0;
	return (__u32)bounded(BPF_CORE_READ(kern, event, attr.wakeup_events), ABI_MAX_SOURCES);
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	__u32 source = source_of(ctx);
	__u64 weight = source_weight[source];
	struct moment m = {
		.ctx = ctx,
		.source = (__u8)source,
		.user_mode = CTX_USER_MODE(ctx),
		.kernel_stack = source_config[source].kernel_stack,
		.weight = weight ? weight : ctx->sample_period,
	};

	if (armed)
		capture(&m, SLOT_PERF);
	return 0;
}

#endif
