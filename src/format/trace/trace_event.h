/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads one trace event, with its fields as the file has them. */
#ifndef FORMAT_TRACE_TRACE_EVENT_H
#define FORMAT_TRACE_TRACE_EVENT_H

#include "format/trace/trace_reader.h"

struct event {
	/* texts of the event; .given: the "name" in the event's "args" */
	struct str phase, name, category, pid, tid, id, file, given;
	/* where the event's "args" are in the file; .at is NULL if the event has no "args" */
	struct json_in args;
	int64_t ts, dur;
	int32_t line;
	bool has_ts, has_dur;
};

/*
 * Reads the next event into @e; the event that @e had before is overwritten. 0 or -errno + message.
 */
_must_use_ int trace_event_read(struct reader *r, struct json_in *in, struct event *e);
void trace_event_fini(struct event *e);

#endif
