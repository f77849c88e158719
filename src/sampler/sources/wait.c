/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The source of waits: each task switch at which a thread leaves its CPU because it waits is an
 * event.
 */
#include "base/util.h"
#include "sampler/sources/source.h"

static const struct source_event events[] = {{.name = "wait"}};

const struct event_source source_wait = {
	.program = "on_switch",
	.whole = true,
	.events = events,
	.n_events = ARRAY_SIZE(events),
	.value = "off_cpu",
	.unit = "nanoseconds",
};
