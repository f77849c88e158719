/* SPDX-License-Identifier: BSD-2-Clause */
/* CPU time: a timer of the kernel's on every CPU. */
#include "base/util.h"
#include "sampler/sources/source.h"

static const struct source_event events[] = {
	{"cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	{"task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
};

const struct event_source source_clock = {
	.program = "on_sample",
	.events = events,
	.n_events = ARRAY_SIZE(events),
	.value = "cpu",
	.unit = "nanoseconds",
	.clock = true,
	/*
	 * for a shorter period perf_swevent_start_hrtimer() (kernel/events/core.c) takes this
	 * period
	 */
	.least_period = 10000,
	.skips_idle = true,
};
