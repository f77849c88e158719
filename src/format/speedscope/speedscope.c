/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes speedscope's own format (its file-format-schema.json, unchanged since speedscope 0.6).
 * First comes a table of frames. Then comes a profile for each thread: its stacks, root first, and
 * their weights, in order of time. If several values are written, each thread has a profile for
 * each value. Such a profile has two more members, which say what its value is.
 */
#include "format/common/writers.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/json.h"
#include "format/common/spool.h"
#include "view/shape/frames.h"
#include "view/shape/timeline.h"
#include "view/shape/tree.h"

struct speedscope {
	struct profile *p;
	FILE *out, *weights;
	struct frames frames;
	struct timeline timeline;
	/* .value: index of the value that is written; .digits: decimal places of weights */
	unsigned value, digits;
	const char *unit, *comma;
	bool first_thread, several; /* .several: several values of the profile are written */
	int64_t end;		    /* sum of the weights of the current thread */
};

/* Returns speedscope's name of a unit; "none" for counts. */
static const char *unit_of(const char *unit)
{
	static const char *const units[] = {"nanoseconds", "microseconds", "milliseconds",
					    "seconds", "bytes"};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (streq(unit, units[i]))
			return units[i];
	}
	return "none";
}

static int put_frames(struct speedscope *s)
{
	struct frame_text t = {};
	int r = 0;

	for (uint32_t i = 0; i < s->frames.keys.n && !r; i++) {
		r = frames_text(&s->frames, frames_location(&s->frames, i), &t);
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", s->out);
		json_put_string(s->out, str_cstr(&t.name));
		if (*t.file) {
			fputs(",\"file\":", s->out);
			json_put_string(s->out, t.file);
		}
		if (t.line)
			fprintf(s->out, ",\"line\":%d", t.line);
		fputc('}', s->out);
	}
	str_fini(&t.name);
	return r;
}

static int begin_thread(void *arg, const struct timeline_thread *thread)
{
	struct speedscope *s = arg;
	const struct profile_value_type *type = &profile_meta(s->p)->values[s->value];
	_cleanup_str_ struct str name = {}, threads = {};

	timeline_name(thread, &threads);
	str_addf(&name, "%s%s%s", s->several ? type->type : "", s->several ? ": " : "",
		 str_cstr(&threads));
	if (name.failed || threads.failed)
		return err_set(-ENOMEM, "out of memory");
	fprintf(s->out, "%s\n{\"type\":\"sampled\",\"name\":", s->first_thread ? "" : ",");
	json_put_string(s->out, str_cstr(&name));
	if (s->several) {
		fputs(",\"valueType\":", s->out);
		json_put_string(s->out, type->type);
		fputs(",\"valueUnit\":", s->out);
		json_put_string(s->out, type->unit);
	}
	fprintf(s->out, ",\"unit\":\"%s\",\"startValue\":0,\"samples\":[", s->unit);
	s->first_thread = false;
	s->comma = "";
	s->end = 0;
	return 0;
}

static int put_run(void *arg, const struct profile_sample *run, int64_t last_ns)
{
	struct speedscope *s = arg;
	int64_t weight = run->values[s->value];
	size_t n = 0;
	const uint32_t *stack = run->stack ? profile_get_stack(s->p, run->stack, &n) : NULL;

	/* a sample that would make the sum overflow is left out; no real recording is that long */
	if (!weight || __builtin_add_overflow(s->end, weight, &s->end))
		return 0;
	fprintf(s->out, "%s\n[", s->comma);
	for (size_t i = n; i--;)
		fprintf(s->out, "%u%s", frames_of(&s->frames, stack[i]), i ? "," : "");
	fputc(']', s->out);
	fputs(s->comma, s->weights);
	json_put_decimal(s->weights, weight, s->digits);
	s->comma = ",";
	return ferror(s->out) ? -EIO : 0;
}

static int end_thread(void *arg, const struct timeline_thread *thread)
{
	struct speedscope *s = arg;
	int r;

	fputs("],\n\"weights\":[", s->out);
	r = spool_move(s->weights, s->out);
	fputs("],\n\"endValue\":", s->out);
	json_put_decimal(s->out, s->end, s->digits);
	fputc('}', s->out);
	return r;
}

static int put_value(struct speedscope *s, unsigned value)
{
	static const struct timeline_reader reader = {begin_thread, put_run, end_thread};
	const char *unit = profile_meta(s->p)->values[value].unit;

	s->value = value;
	s->unit = unit_of(unit);
	s->digits = profile_fraction_digits(unit);
	return timeline_each(&s->timeline, &reader, s);
}

/*
 * Tells whether an earlier value has the same type as @value, so that a reader couldn't tell the
 * two apart.
 */
static bool is_again(const struct profile_meta *m, unsigned value)
{
	for (unsigned i = 0; i < value; i++)
		if (profile_same_type(&m->values[i], &m->values[value]))
			return true;
	return false;
}

/*
 * Writes the profiles of all values, those of the default value first, because speedscope opens the
 * first profile.
 */
static int put_values(struct speedscope *s, unsigned first)
{
	const struct profile_meta *m = profile_meta(s->p);
	int r = put_value(s, first);

	for (unsigned i = 0; s->several && !r && i < m->n_values; i++)
		if (i != first && !is_again(m, i))
			r = put_value(s, i);
	return r;
}

/*
 * Tells whether the profile has several values that are worth writing. If it only has the number of
 * samples and one other value, only the other value is written.
 */
static bool has_several(const struct profile_meta *m)
{
	static const struct profile_value_type samples = {"samples", "count"};

	return m->n_values > (profile_same_type(&m->values[0], &samples) ? 2 : 1);
}

static int put_all(struct speedscope *s, const struct render_options *opt, unsigned value)
{
	int r;

	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"krait\",\"name\":",
	      s->out);
	json_put_string(s->out, opt->title ? opt->title : "Profile");
	fputs(",\n\"shared\":{\"frames\":[", s->out);
	r = put_frames(s);
	fputs("]},\n\"profiles\":[", s->out);
	s->first_thread = true;
	if (!r)
		r = put_values(s, value);
	fputs("]}\n", s->out);
	return r;
}

static int write_speedscope(struct speedscope *s, const struct render_options *opt)
{
	int r = opt->value ? tree_value(s->p, opt->value) : (int)profile_meta(s->p)->default_value;
	unsigned value;

	if (r < 0)
		return r;
	value = (unsigned)r;
	s->several = !opt->value && has_several(profile_meta(s->p));
	s->weights = spool_open();
	r = s->weights ? frames_init(&s->frames, s->p, false) : -EIO;
	if (!r)
		r = timeline_init(&s->timeline, s->p, opt->times, opt->by);
	return r ? r : put_all(s, opt, value);
}

int speedscope_write(struct profile *p, FILE *out, const struct render_options *opt)
{
	struct speedscope s = {.p = p, .out = out};
	int r = write_speedscope(&s, opt);

	if (s.weights)
		fclose(s.weights);
	frames_fini(&s.frames);
	timeline_fini(&s.timeline);
	if ((!r || r == -EIO) && (fflush(out) || ferror(out)))
		r = err_sys(errno ? -errno : -EIO, "can't write the speedscope file");
	return r;
}
