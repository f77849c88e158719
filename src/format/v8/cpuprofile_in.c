/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a .cpuprofile; see cpuprofile_in.h. In the file, a sample is just the id of a node. A
 * sample lasts until the next sample.
 */
#include "format/v8/cpuprofile_in.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/v8/v8_nodes.h"

#define FORMAT	  "cpuprofile"
#define NO_MEMORY VIEWER_NO_MEMORY
#define US	  3 /* 10^US is what the file's microseconds are multiplied by, to get ns */

struct reader {
	struct profile *p;
	uint64_t steps;
	/*
	 * where the lists "samples" and "timeDeltas" are in the file; .at is NULL if the file lacks
	 * the list
	 */
	struct json_in samples, deltas;
	int64_t start_ns, end_ns;
	struct v8_nodes nodes;
	struct str key;
};

static int bad(const struct json_in *in, const char *field, const char *what)
{
	return viewer_in_bad(FORMAT, in, field, what);
}

static int in_field(int r, const char *field)
{
	return viewer_in_wrap(FORMAT, r, field);
}

/*
 * A sample that was read but not added yet, because only the next sample tells how long it lasts.
 */
struct waiting {
	uint32_t node; /* node of the sample; V8_NO_NODE: no sample is waiting */
	int64_t at_ns;
};

/*
 * Adds a sample. V8's clock goes back now and then; a sample whose end would be before its
 * beginning gets the length 0.
 */
static int add_sample(struct reader *r, const struct json_in *in, const struct waiting *w,
		      int64_t until_ns)
{
	struct profile_sample s = {.values = {1, 0}};
	int err;

	if (w->node == V8_NO_NODE)
		return 0;
	err = v8_nodes_stack(&r->nodes, in, w->node, 0, &s.stack);
	if (err)
		return err;
	if (__builtin_sub_overflow(w->at_ns, r->start_ns, &s.time_ns) ||
	    __builtin_sub_overflow(until_ns, w->at_ns, &s.values[1]))
		return bad(in, "timeDeltas", "the sum of the times doesn't fit in 64 bits");
	s.time_ns = MAX(s.time_ns, (int64_t)0);
	s.values[1] = MAX(s.values[1], (int64_t)0);
	return profile_add(r->p, &s);
}

static int read_delta(struct reader *r, int64_t *at_ns)
{
	int64_t delta;
	int more = json_in_item(&r->deltas), err;

	if (!more)
		return bad(&r->deltas, "timeDeltas", "there are more samples than deltas");
	err = in_field(more < 0 ? more : json_in_scaled(&r->deltas, US, &delta), "timeDeltas");
	if (!err && __builtin_add_overflow(*at_ns, delta, at_ns))
		err = bad(&r->deltas, "timeDeltas", "the sum of the times doesn't fit in 64 bits");
	return err;
}

static int read_samples(struct reader *r)
{
	struct json_in *in = &r->samples;
	int64_t now = r->start_ns;
	struct waiting w = {.node = V8_NO_NODE};
	int more, err = in_field(json_in_enter(in, '['), "samples");

	err = err ? err : in_field(json_in_enter(&r->deltas, '['), "timeDeltas");
	while (!err && (more = json_in_item(in))) {
		uint32_t node;
		int64_t id;

		err = in_field(more < 0 ? more : json_in_integer(in, &id), "samples");
		if (err)
			return err;
		node = v8_nodes_find(&r->nodes, id);
		if (node == V8_NO_NODE)
			return bad(in, "samples", "no node has this id");
		err = read_delta(r, &now);
		err = err ? err : add_sample(r, in, &w, now);
		w = (struct waiting){node, now};
	}
	return err ? err : add_sample(r, in, &w, MAX(r->end_ns, now));
}

static void set_meta(struct reader *r)
{
	struct profile_meta *m = profile_meta(r->p);

	m->values[0] = (struct profile_value_type){"samples", "count"};
	m->values[1] = (struct profile_value_type){"time", "nanoseconds"};
	m->n_values = 2;
	m->default_value = 1;
	m->period_type = m->values[1];
	m->period = 1;
	if (r->end_ns > r->start_ns && r->start_ns >= 0)
		m->duration_ns = r->end_ns - r->start_ns;
}

static int read_file(struct reader *r, struct json_in in)
{
	int more, err = in_field(json_in_enter(&in, '{'), "the file");
	bool there = false;

	while (!err && (more = json_in_key(&in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			return in_field(more, "the file");
		if (streq(key, "nodes") && !there) {
			there = true;
			err = v8_nodes_read(&r->nodes, &in);
			continue;
		}
		if (streq(key, "startTime") || streq(key, "endTime")) {
			err = in_field(
				json_in_scaled(&in, US, *key == 's' ? &r->start_ns : &r->end_ns),
				"startTime, endTime");
			continue;
		}
		if (streq(key, "samples"))
			r->samples = in;
		else if (streq(key, "timeDeltas"))
			r->deltas = in;
		err = in_field(json_in_skip(&in), "the file");
	}
	err = err ? err : in_field(json_in_end(&in), "the file");
	if (!err && (!there || !r->samples.at || !r->deltas.at))
		err = bad(&in, "the file", "it lacks nodes, samples or timeDeltas");
	set_meta(r);
	return err ? err : read_samples(r);
}

int cpuprofile_read(const uint8_t *data, size_t n, struct profile **ret)
{
	struct reader r = {.p = profile_new()};
	size_t budget = VIEWER_BUDGET(n);
	_cleanup_str_ struct str unpacked = {};
	struct json_in in;
	int err = r.p ? viewer_in_open(FORMAT, data, n, budget, &unpacked, &in) : NO_MEMORY;

	r.steps = err ? 0 : VIEWER_STEPS(n, in.end - in.start);
	v8_nodes_init(&r.nodes, FORMAT, r.p, budget, &r.steps);
	err = err ? err : read_file(&r, in);
	v8_nodes_fini(&r.nodes);
	str_fini(&r.key);
	if (err)
		profile_free(r.p);
	else
		*ret = r.p;
	return err;
}

bool cpuprofile_probe(const uint8_t *head, size_t n)
{
	return viewer_in_begins(head, n, '{') && viewer_in_has(head, n, "\"nodes\"") &&
	       viewer_in_has(head, n, "\"callFrame\"");
}
