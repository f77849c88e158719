/* SPDX-License-Identifier: BSD-2-Clause */
/* The source of CPU time: the kernel runs a timer on every CPU. */
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
	 * the kernel's shortest period: perf_swevent_start_hrtimer() (kernel/events/core.c) takes
	 * it in place of a shorter one
	 */
	.least_period = 10000,
	.skips_idle = true,
};
