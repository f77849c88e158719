/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads V8 profiles within a trace; see trace_profiles.h. */
#include "format/trace/trace_profiles.h"

#include <errno.h>
#include "base/error.h"

#define NO_MEMORY VIEWER_NO_MEMORY
#define US	  3 /* 10^US is what the file's microseconds are multiplied by, to get ns */

static int bad(const struct trace_profiles *t, const struct json_in *in, const char *field,
	       const char *what)
{
	return viewer_in_bad(t->format, in, field, what);
}

static int in_field(const struct trace_profiles *t, int r, const char *field)
{
	return viewer_in_wrap(t->format, r, field);
}

void trace_profiles_init(struct trace_profiles *t, const char *format, struct profile *p,
			 size_t budget, uint64_t *steps)
{
	*t = (struct trace_profiles){.format = format, .p = p, .budget = budget, .steps = steps};
	map_init(&t->at);
}

void trace_profiles_fini(struct trace_profiles *t)
{
	vec_foreach(profile, &t->list) {
		v8_nodes_fini(&(*profile)->nodes);
		vec_fini(&(*profile)->ticks);
		free(*profile);
	}
	vec_fini(&t->list);
	map_fini(&t->at);
	str_fini(&t->key);
}

/* Adds an empty V8 profile. NULL: out of memory. */
static struct trace_profile *add_profile(struct trace_profiles *t,
					 const struct trace_profile_event *e, uint64_t key)
{
	struct trace_profile *profile = calloc(1, sizeof(*profile));

	if (!profile || vec_push(&t->list, profile)) {
		free(profile);
		return NULL;
	}
	v8_nodes_init(&profile->nodes, t->format, t->p, t->budget, t->steps);
	/*
	 * the file may lack nodes: Chrome's buffer may have been full, or the trace may have begun
	 * after the profile
	 */
	profile->nodes.partial = true;
	profile->id = e->id;
	profile->thread = e->thread;
	return map_put(&t->at, key, t->list.n - 1) ? NULL : profile;
}

static struct trace_profile *profile_of(struct trace_profiles *t,
					const struct trace_profile_event *e)
{
	uint64_t key = (uint64_t)e->pid << 32 | e->id;
	const uint64_t *found = map_get(&t->at, key);

	return found ? t->list.v[*found] : add_profile(t, e, key);
}

/*
 * Where the members of an event's "data" are in the file. .at is NULL if the event lacks the
 * member.
 */
struct data {
	struct json_in start, end, samples, deltas;
};

/*
 * Reads the nodes of "cpuProfile", and stores where its samples are in the file. The samples are
 * read later, because they refer to nodes.
 */
static int read_cpu_profile(struct trace_profiles *t, struct trace_profile *profile,
			    struct json_in *in, struct data *d)
{
	int more, err = in_field(t, json_in_enter(in, '{'), "cpuProfile");

	while (!err && (more = json_in_key(in, &t->key))) {
		const char *key = str_cstr(&t->key);

		if (more < 0)
			return in_field(t, more, "cpuProfile");
		if (streq(key, "nodes")) {
			err = v8_nodes_read(&profile->nodes, in);
			continue;
		}
		if (streq(key, "samples"))
			d->samples = *in;
		else if (streq(key, "timeDeltas"))
			d->deltas = *in;
		err = in_field(t, json_in_skip(in), "cpuProfile");
	}
	return err;
}

static int read_data(struct trace_profiles *t, struct trace_profile *profile, struct json_in *in,
		     struct data *d)
{
	int more, err = in_field(t, json_in_enter(in, '{'), "data");

	while (!err && (more = json_in_key(in, &t->key))) {
		const char *key = str_cstr(&t->key);

		if (more < 0)
			return in_field(t, more, "data");
		if (streq(key, "cpuProfile")) {
			err = read_cpu_profile(t, profile, in, d);
			continue;
		}
		if (streq(key, "startTime"))
			d->start = *in;
		else if (streq(key, "endTime"))
			d->end = *in;
		else if (streq(key, "timeDeltas"))
			d->deltas = *in;
		err = in_field(t, json_in_skip(in), "data");
	}
	return err;
}

static int read_args(struct trace_profiles *t, struct trace_profile *profile, struct json_in in,
		     struct data *d)
{
	int more, err = in_field(t, json_in_enter(&in, '{'), "args");

	while (!err && (more = json_in_key(&in, &t->key))) {
		if (more < 0)
			err = in_field(t, more, "args");
		else if (streq(str_cstr(&t->key), "data"))
			err = read_data(t, profile, &in, d);
		else
			err = in_field(t, json_in_skip(&in), "args");
	}
	return err;
}

/*
 * Reads a time. Refuses times beyond a limit, because differences between such times could
 * overflow.
 */
static int read_moment(struct trace_profiles *t, struct json_in *in, const char *field,
		       int64_t *ret)
{
	int err = in_field(t, json_in_scaled(in, US, ret), field);

	if (!err && (*ret < INT64_MIN / 4 || *ret > INT64_MAX / 4))
		err = bad(t, in, field, "the time is too large");
	return err;
}

static int read_delta(struct trace_profiles *t, struct json_in *deltas, int64_t *at_ns)
{
	int64_t delta;
	int more = json_in_item(deltas), err;

	if (!more)
		return bad(t, deltas, "timeDeltas", "there are more samples than deltas");
	err = more < 0 ? in_field(t, more, "timeDeltas")
		       : read_moment(t, deltas, "timeDeltas", &delta);
	if (!err && (__builtin_add_overflow(*at_ns, delta, at_ns) || *at_ns < INT64_MIN / 4 ||
		     *at_ns > INT64_MAX / 4))
		err = bad(t, deltas, "timeDeltas", "the sum of the times is too large");
	return err;
}

static int read_samples(struct trace_profiles *t, struct trace_profile *profile, struct data *d)
{
	struct json_in *in = &d->samples;
	int more, err = in_field(t, json_in_enter(in, '['), "samples");

	if (!err && !d->deltas.at)
		err = bad(t, in, "timeDeltas", "samples have no deltas");
	err = err ? err : in_field(t, json_in_enter(&d->deltas, '['), "timeDeltas");
	while (!err && (more = json_in_item(in))) {
		struct trace_tick tick;
		int64_t id;

		err = in_field(t, more < 0 ? more : json_in_integer(in, &id), "samples");
		if (err)
			break;
		tick.node = v8_nodes_find(&profile->nodes, id);
		err = read_delta(t, &d->deltas, &profile->at_ns);
		tick.at_ns = profile->at_ns;
		if (!err && vec_push(&profile->ticks, tick))
			err = NO_MEMORY;
	}
	return err;
}

static int begin(struct trace_profiles *t, struct trace_profile *profile,
		 const struct trace_profile_event *e, struct data *d)
{
	int64_t start_ns = e->ts_ns;
	int err = 0;

	if (!e->begins || profile->begun)
		return 0;
	if (d->start.at)
		err = read_moment(t, &d->start, "startTime", &start_ns);
	if (err)
		return err;
	profile->begun = true;
	profile->thread = e->thread;
	profile->start_ns = start_ns;
	return 0;
}

static int take(struct trace_profiles *t, struct trace_profile *profile,
		const struct trace_profile_event *e)
{
	int64_t end_ns = profile->end_ns;
	struct data d = {};
	int err;

	profile->last = e->args;
	err = read_args(t, profile, e->args, &d);
	err = err ? err : begin(t, profile, e, &d);
	if (!err && d.samples.at)
		err = read_samples(t, profile, &d);
	if (!err && d.end.at)
		err = read_moment(t, &d.end, "endTime", &end_ns);
	profile->end_ns = err ? profile->end_ns : end_ns;
	return err ? err
		   : viewer_in_check_memory(t->format, &e->args, "samples", t->p,
					    profile->ticks.n * sizeof(*profile->ticks.v),
					    t->budget);
}

int trace_profiles_take(struct trace_profiles *t, const struct trace_profile_event *e)
{
	struct trace_profile *profile = profile_of(t, e);
	size_t n = profile ? profile->ticks.n : 0;
	int64_t at_ns = profile ? profile->at_ns : 0;
	int err = profile ? take(t, profile, e) : NO_MEMORY;

	if (err == -EINVAL) {
		profile->ticks.n = n;
		profile->at_ns = at_ns;
	}
	return err;
}

int64_t trace_profiles_start(const struct trace_profiles *t, int64_t none)
{
	vec_foreach(profile, &t->list)
		if ((*profile)->begun)
			none = MIN(none, (*profile)->start_ns);
	return none;
}

bool trace_profiles_any(const struct trace_profiles *t)
{
	vec_foreach(profile, &t->list)
		if ((*profile)->ticks.n)
			return true;
	return false;
}

/* Returns the time at which sample number @i ends. */
static int64_t end_of(const struct trace_profile *profile, size_t i)
{
	if (i + 1 < profile->ticks.n)
		return profile->ticks.v[i + 1].at_ns;
	return profile->begun && profile->end_ns ? profile->end_ns - profile->start_ns : 0;
}

/*
 * Adds the samples of a V8 profile. V8's clock goes back now and then; a sample whose end would be
 * before its beginning gets the length 0.
 */
int trace_profile_add(struct trace_profiles *t, struct trace_profile *profile, uint32_t labels,
		      int64_t base_ns)
{
	int err = 0;

	t->n_orphans += profile->nodes.n_orphans;
	for (size_t i = 0; !err && i < profile->ticks.n; i++) {
		const struct trace_tick *tick = &profile->ticks.v[i];
		struct profile_sample s = {.labels = labels, .time_ns = -1, .values = {1, 0}};

		if (tick->node == V8_NO_NODE) {
			t->n_unknown++;
			continue;
		}
		if (profile->begun)
			s.time_ns = MAX(profile->start_ns - base_ns + tick->at_ns, (int64_t)0);
		s.values[1] = MAX(end_of(profile, i) - tick->at_ns, (int64_t)0);
		err = v8_nodes_stack(&profile->nodes, &profile->last, tick->node, 0, &s.stack);
		err = err ? err : profile_add(t->p, &s);
	}
	return err;
}
