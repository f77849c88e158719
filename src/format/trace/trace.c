/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes Chrome's trace events (the "Trace Event Format") for Perfetto and chrome://tracing. If
 * consecutive samples of a thread share a function, the function becomes one slice: a B and an E
 * event. The slices of a thread nest. A sample lasts as long as its value, so a function's slices
 * add up to its time. A sample begins at its own time. But if the preceding sample ends later, or
 * only a little earlier, the sample begins where that one ends. So a thread that runs on shows no
 * gaps, although samples aren't taken to the nanosecond and their times may be in steps.
 *
 * What a thread waited for is drawn on a track of its own, "states of MainThread": an asynchronous
 * event for the track, and one within it for each wait. On that track each wait has its real
 * length, and needn't lie within a slice.
 */
#include "format/common/writers.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/json.h"
#include "base/vec.h"
#include "profile/intervals/part.h"
#include "view/shape/frames.h"
#include "view/shape/timeline.h"
#include "view/shape/tree.h"
#include "view/waits/waits.h"

struct trace {
	struct profile *p;
	FILE *out;
	struct frames frames;
	struct timeline timeline;
	unsigned value;
	int64_t slack_ns; /* gaps shorter than this between two slices are closed */
	const char *comma;
	const struct timeline_thread *thread;
	/*
	 * the process number of the last thread that was written; UINT64_MAX: no thread was written
	 * yet
	 */
	uint64_t pid_number;
	VEC(uint32_t) open; /* frames of the slices that haven't ended yet, outermost first */
	/* when the sample that was written last ends; -1: no sample was written yet */
	int64_t at_ns;
	/* index of the value that is the time of waits; -1: the profile has no such value */
	int waits;
	int64_t waited_ns; /* when the thread's last wait ends; -1: the thread has no wait */
};

static void put_head(struct trace *t, const char *phase)
{
	fprintf(t->out, "%s\n{\"ph\":\"%s\",\"pid\":%llu,\"tid\":%llu", t->comma, phase,
		(unsigned long long)t->thread->pid_number,
		(unsigned long long)t->thread->tid_number);
	t->comma = ",";
}

/* Writes the present time, .at_ns, in microseconds, the unit of trace events. */
static void put_time(struct trace *t)
{
	fputs(",\"ts\":", t->out);
	json_put_decimal(t->out, t->at_ns, 3);
}

static void put_name(struct trace *t, const char *what, const char *name)
{
	put_head(t, "M");
	fprintf(t->out, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	json_put_string(t->out, name);
	fputs("}}", t->out);
}

/*
 * Writes most of a trace event by which an asynchronous event of the thread begins (@phase "b") or
 * ends ("e"). The caller adds arguments, if any, and closes the brace.
 */
static void put_async(struct trace *t, const char *phase, int64_t ns, const char *name)
{
	put_head(t, phase);
	fprintf(t->out, ",\"cat\":\"state\",\"id\":\"%llu\",\"ts\":",
		(unsigned long long)t->thread->tid_number);
	json_put_decimal(t->out, ns, 3);
	fputs(",\"name\":", t->out);
	json_put_string(t->out, name);
}

/* Appends the name of the track that shows the thread's states. */
static void add_track(const struct trace *t, struct str *b)
{
	str_addf(b, "states of %s", *t->thread->name ? t->thread->name : "the thread");
}

static int put_wait(struct trace *t, const struct profile_sample *s)
{
	int64_t ns = wait_length(t->p, s, t->waits);
	const char *state = profile_label_text(t->p, s->labels, "state");
	_cleanup_str_ struct str track = {};

	if (!ns)
		return 0;
	add_track(t, &track);
	if (track.failed)
		return err_set(-ENOMEM, "out of memory");
	if (t->waited_ns < 0) {
		put_async(t, "b", s->time_ns, str_cstr(&track));
		fputc('}', t->out);
	}
	put_async(t, "b", s->time_ns, *state ? state : "other");
	fputs(",\"args\":{\"on\":", t->out);
	json_put_string(t->out, profile_label_text(t->p, s->labels, "on"));
	fputs("}}", t->out);
	t->waited_ns = MAX(t->waited_ns, s->time_ns + ns);
	put_async(t, "e", s->time_ns + ns, *state ? state : "other");
	fputc('}', t->out);
	return 0;
}

static int end_states(struct trace *t)
{
	_cleanup_str_ struct str track = {};

	if (t->waited_ns < 0)
		return 0;
	add_track(t, &track);
	put_async(t, "e", t->waited_ns, str_cstr(&track));
	fputc('}', t->out);
	t->waited_ns = -1;
	return track.failed ? err_set(-ENOMEM, "out of memory") : 0;
}

static int begin_thread(void *arg, const struct timeline_thread *thread)
{
	struct trace *t = arg;

	t->thread = thread;
	if (*thread->process && t->pid_number != thread->pid_number)
		put_name(t, "process_name", thread->process);
	if (*thread->name)
		put_name(t, "thread_name", thread->name);
	t->pid_number = thread->pid_number;
	t->at_ns = -1;
	return 0;
}

/*
 * Ends all open slices except the @keep outermost ones. Names are written only because speedscope
 * needs them to find the slice that ends. Arguments must not be written: with them, speedscope
 * would put a slice that begins at the same time before this end.
 */
static int close_slices(struct trace *t, size_t keep)
{
	struct frame_text text = {};
	int r = 0;

	for (; !r && t->open.n > keep; t->open.n--) {
		uint32_t frame = t->open.v[t->open.n - 1];

		r = frames_text(&t->frames, frames_location(&t->frames, frame), &text);
		put_head(t, "E");
		put_time(t);
		fputs(",\"name\":", t->out);
		json_put_string(t->out, str_cstr(&text.name));
		fputc('}', t->out);
	}
	str_fini(&text.name);
	return r;
}

static int open_slice(struct trace *t, uint32_t location)
{
	struct frame_text text = {};
	const struct profile_location *l = profile_get_location(t->p, location);
	int r = frames_text(&t->frames, location, &text);

	put_head(t, "B");
	put_time(t);
	fprintf(t->out, ",\"cat\":\"%s\",\"name\":",
		frames_kind(profile_get_mapping(t->p, l->mapping)->kind));
	json_put_string(t->out, str_cstr(&text.name));
	fputs(",\"args\":{", t->out);
	if (*text.file) {
		fputs("\"file\":", t->out);
		json_put_string(t->out, text.file);
	}
	if (text.line)
		fprintf(t->out, "%s\"line\":%d", *text.file ? "," : "", text.line);
	fputs("}}", t->out);
	str_fini(&text.name);
	if (!r && vec_push(&t->open, frames_of(&t->frames, location)))
		r = err_set(-ENOMEM, "out of memory");
	return r;
}

/*
 * Returns how many of the open slices, counted from the outermost one, are also in @stack (leaf
 * first).
 */
static size_t common(const struct trace *t, const uint32_t *stack, size_t n)
{
	size_t same = 0;

	while (same < t->open.n && same < n &&
	       t->open.v[same] == frames_of(&t->frames, stack[n - 1 - same]))
		same++;
	return same;
}

static int put_run(void *arg, const struct profile_sample *run, int64_t last_ns)
{
	struct trace *t = arg;
	size_t n = 0, keep;
	const uint32_t *stack = run->stack ? profile_get_stack(t->p, run->stack, &n) : NULL;
	int64_t duration_ns = run->values[t->value];
	int r = put_wait(t, run);

	if (r || run->time_ns < 0 || duration_ns <= 0 ||
	    duration_ns > INT64_MAX - MAX(t->at_ns, (int64_t)0) ||
	    duration_ns > INT64_MAX - run->time_ns)
		return r;
	if (t->at_ns < 0 || run->time_ns - t->at_ns > t->slack_ns) {
		r = close_slices(t, 0);
		t->at_ns = run->time_ns;
	}
	keep = common(t, stack, n);
	if (!r)
		r = close_slices(t, keep);
	for (size_t i = n - keep; i-- && !r;)
		r = open_slice(t, stack[i]);
	t->at_ns += duration_ns;
	return r ? r : ferror(t->out) ? -EIO : 0;
}

static int end_thread(void *arg, const struct timeline_thread *thread)
{
	int r = close_slices(arg, 0);

	return r ? r : end_states(arg);
}

static int put_bare(struct trace *t, const struct timeline_reader *reader)
{
	int r;

	fputc('[', t->out);
	r = timeline_each(&t->timeline, reader, t);
	fputs("]\n", t->out);
	return r;
}

static int put_all(struct trace *t, const struct render_options *opt)
{
	static const struct timeline_reader reader = {begin_thread, put_run, end_thread,
						      .every_sample = true};
	int r;

	t->comma = "";
	if (opt->bare)
		return put_bare(t, &reader);
	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":\"krait\",\"title\":",
	      t->out);
	json_put_string(t->out, opt->title ? opt->title : "Profile");
	fprintf(t->out, ",\"samples without a time\":\"%llu\"},\n\"traceEvents\":[",
		(unsigned long long)t->timeline.untimed);
	r = timeline_each(&t->timeline, &reader, t);
	fputs("]}\n", t->out);
	return r;
}

/*
 * Returns the length up to which gaps between slices are closed: a little more than the length of a
 * sample. If the profile doesn't say how long a sample is, returns the resolution that times have
 * in files.
 */
static int64_t slack(const struct profile_meta *m)
{
	const char *unit = m->period_type.unit;

	if (!unit || !streq(unit, "nanoseconds") || m->period <= 0)
		return 10 * (int64_t)NSEC_PER_MSEC;
	return MAX(m->period / 4 * 5, (int64_t)NSEC_PER_MSEC);
}

/*
 * Chooses the value that is drawn: the one that the user asked for, else the default value, else
 * any value that is a time. Other values can't be drawn as slices.
 */
static int choose_value(struct trace *t, const struct render_options *opt)
{
	const struct profile_meta *m = profile_meta(t->p);
	int r = opt->value ? tree_value(t->p, opt->value) : (int)m->default_value;

	if (r < 0)
		return r;
	for (unsigned i = 0; !opt->value && i < m->n_values; i++) {
		if (!streq(m->values[r].unit, "nanoseconds"))
			r = (int)i;
	}
	if (!streq(m->values[r].unit, "nanoseconds"))
		return err_set(-EINVAL,
			       "a trace shows how long things take, but this profile counts "
			       "%s; speedscope or svg show that",
			       m->values[r].type);
	t->value = (unsigned)r;
	t->waits = opt->bare ? -1 : profile_time_value(t->p, "off_cpu");
	t->slack_ns = slack(m);
	return 0;
}

static int write_trace(struct trace *t, const struct render_options *opt)
{
	int r = choose_value(t, opt);

	if (!r)
		r = frames_init(&t->frames, t->p, true);
	if (!r)
		r = timeline_init(&t->timeline, t->p, opt->times, NULL);
	if (!r && t->timeline.untimed && t->timeline.untimed == profile_n_samples(t->p))
		return err_set(-EINVAL, "a trace needs the times of the samples, and this profile "
					"has none; speedscope or svg don't need them");
	return r ? r : put_all(t, opt);
}

int trace_write(struct profile *p, FILE *out, const struct render_options *opt)
{
	struct trace t = {.p = p, .out = out, .pid_number = UINT64_MAX, .waited_ns = -1};
	int r = write_trace(&t, opt);

	vec_fini(&t.open);
	frames_fini(&t.frames);
	timeline_fini(&t.timeline);
	if ((!r || r == -EIO) && (fflush(out) || ferror(out)))
		r = err_sys(errno ? -errno : -EIO, "can't write the trace");
	return r;
}
