/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes speedscope's own format (its file-format-schema.json, unchanged since speedscope 0.6): a
 * table of frames; then for each thread a profile with all its stacks, root first, and their
 * weights, in order of time.
 */
#include "format/common/writers.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "format/common/spool.h"
#include "view/shape/frames.h"
#include "view/shape/timeline.h"
#include "view/shape/tree.h"

struct speedscope {
	struct profile *p;
	FILE *out, *weights;
	struct frames frames;
	struct timeline timeline;
	unsigned value, digits; /* index of the value, and the decimal places of weights */
	const char *unit, *comma;
	bool first_thread;
	int64_t end; /* sum of the weights of the current thread */
};

/* Returns the unit as speedscope knows it; "none" for counts. */
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
	_cleanup_str_ struct str name = {};

	timeline_name(thread, &name);
	if (name.failed)
		return err_set(-ENOMEM, "out of memory");
	fprintf(s->out, "%s\n{\"type\":\"sampled\",\"name\":", s->first_thread ? "" : ",");
	json_put_string(s->out, str_cstr(&name));
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

	/* A sum that overflows can't be drawn, but no real recording is so long. */
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

static int put_all(struct speedscope *s, const struct render_options *opt)
{
	static const struct timeline_reader reader = {begin_thread, put_run, end_thread};
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
		r = timeline_each(&s->timeline, &reader, s);
	fputs("]}\n", s->out);
	return r;
}

static int write_speedscope(struct speedscope *s, const struct render_options *opt)
{
	int r = opt->value ? tree_value(s->p, opt->value) : (int)profile_meta(s->p)->default_value;

	if (r < 0)
		return r;
	s->value = (unsigned)r;
	s->unit = unit_of(profile_meta(s->p)->values[s->value].unit);
	s->digits = profile_fraction_digits(profile_meta(s->p)->values[s->value].unit);
	s->weights = spool_open();
	r = s->weights ? frames_init(&s->frames, s->p, false) : -EIO;
	if (!r)
		r = timeline_init(&s->timeline, s->p, opt->times, opt->by);
	return r ? r : put_all(s, opt);
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
