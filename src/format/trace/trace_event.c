/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the fields of one trace event, whose meaning trace_in.c decides. See trace_event.h.
 */
#include "format/trace/trace_event.h"

#include "base/text/str.h"
#include "format/common/folded_frame.h"

static int in_field(int r, const char *field)
{
	return viewer_in_wrap(FORMAT, r, field);
}

static void event_clear(struct event *e)
{
	struct str *all[] = {&e->phase, &e->name, &e->category, &e->pid,
			     &e->tid,	&e->id,	  &e->file,	&e->given};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		str_clear(all[i]);
	e->args = (struct json_in){};
	e->ts = e->dur = 0;
	e->line = 0;
	e->has_ts = e->has_dur = false;
}

void trace_event_fini(struct event *e)
{
	struct str *all[] = {&e->phase, &e->name, &e->category, &e->pid,
			     &e->tid,	&e->id,	  &e->file,	&e->given};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		str_fini(all[i]);
}

/*
 * Reads the member "args", which may be of any type. If it is an object, it may say where the
 * function is, or give a thread's name.
 */
static int read_args(struct reader *r, struct json_in *in, struct event *e)
{
	struct json_in before = *in;
	int more, err = 0;

	if (json_in_enter(in, '{')) {
		*in = before;
		return in_field(json_in_skip(in), "args");
	}
	e->args = before;
	while (!err && (more = json_in_key(in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			err = in_field(more, "args");
		else if (streq(key, "file") || streq(key, "filename"))
			err = viewer_in_text(FORMAT, in, "file", &e->file);
		else if (streq(key, "line"))
			err = viewer_in_line(FORMAT, in, "line", &e->line);
		else if (streq(key, "name"))
			err = viewer_in_text(FORMAT, in, "name", &e->given);
		else
			err = in_field(json_in_skip(in), "args");
	}
	return err;
}

int trace_event_read(struct reader *r, struct json_in *in, struct event *e)
{
	int more, err = in_field(json_in_enter(in, '{'), "traceEvents");

	event_clear(e);
	while (!err && (more = json_in_key(in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			return in_field(more, "traceEvents");
		if (streq(key, "ph"))
			err = viewer_in_text(FORMAT, in, "ph", &e->phase);
		else if (streq(key, "name"))
			err = viewer_in_text(FORMAT, in, "name", &e->name);
		else if (streq(key, "cat"))
			err = viewer_in_text(FORMAT, in, "cat", &e->category);
		else if (streq(key, "pid") || streq(key, "tid"))
			err = viewer_in_id(FORMAT, in, key, *key == 'p' ? &e->pid : &e->tid);
		else if (streq(key, "id"))
			err = viewer_in_id(FORMAT, in, key, &e->id);
		else if (streq(key, "args"))
			err = read_args(r, in, e);
		else if (streq(key, "ts"))
			err = viewer_in_scaled(FORMAT, in, "ts", US, &e->ts, &e->has_ts);
		else if (streq(key, "dur"))
			err = viewer_in_scaled(FORMAT, in, "dur", US, &e->dur, &e->has_dur);
		else
			err = in_field(json_in_skip(in), "traceEvents");
	}
	return err;
}
