/* SPDX-License-Identifier: BSD-2-Clause */
/* What threads wait for: each switch of a thread that leaves its CPU because it waits. */
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
