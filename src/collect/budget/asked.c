/* SPDX-License-Identifier: BSD-2-Clause */
/* The budget for asking processes; see asked.h. */
#include "collect/budget/asked.h"

#include "base/system/clock.h"
#include "collect/common/state.h"
#include "proc/read/reader.h"

/*
 * Without this limit, a process that keeps making large code objects would leave krait no time for
 * other processes. Names that can't be read within this limit stay unknown.
 */
#define ASKED_NS (250 * NSEC_PER_MSEC)

bool asked_may(const struct collect *c)
{
	return c->asked_ns <= ASKED_NS;
}

uint64_t asked_begin(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) + reader_spent_ns();
}

void asked_end(struct collect *c, uint64_t began_ns)
{
	c->asked_ns += asked_begin() - began_ns;
}
