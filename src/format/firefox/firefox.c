/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes profiles for the Firefox Profiler (profiler.firefox.com), see firefox.h: the head, then
 * one thread after the other. A run of equal samples becomes two samples: one with the whole weight
 * where the run begins, and one without weight where it ends. If a pause follows, a sample without
 * stack and weight marks where the pause begins. The Firefox Profiler's activity graph needs these
 * samples without weight.
 */
#include "format/firefox/firefox.h"
#include "format/firefox/firefox_states.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/json.h"
#include "format/common/spool.h"
#include "format/common/writers.h"
#include "view/shape/timeline.h"
#include "view/shape/tree.h"

struct threads {
	struct firefox *f;
	/* columns of the table of samples, which are written after the stacks */
	FILE *times, *weights, *cpu;
	struct firefox_states states;
	struct timeline timeline;
	bool in_time;	 /* the values are times, which are written in milliseconds */
	unsigned digits; /* how many decimal places the values have if they aren't times */
	const char *thread_comma, *comma;
	uint64_t n; /* how many samples of the thread were written */
	/*
	 * the later of two times: when the sample that was written last ended, and that sample's
	 * own time
	 */
	int64_t at_ns;
	int64_t period_ns; /* time between two samples of a running thread; 0: not known */
};

static void put_ms(FILE *out, int64_t ns)
{
	json_put_decimal(out, ns, 6);
}

/*
 * Writes a sample. @node: the sample's node in the profile's tree of stacks; 0: the sample has no
 * stack. @cpu: the part of the weight that counts as CPU time since the preceding sample.
 */
static void put_sample(struct threads *t, uint32_t node, int64_t time_ns, int64_t weight,
		       int64_t cpu)
{
	FILE *out = t->f->out;

	if (node)
		fprintf(out, "%s%u", t->comma, node - 1);
	else
		fprintf(out, "%snull", t->comma);
	fputs(t->comma, t->times);
	put_ms(t->times, time_ns);
	fputs(t->comma, t->weights);
	if (t->in_time)
		put_ms(t->weights, weight);
	else
		json_put_decimal(t->weights, weight, t->digits);
	if (t->in_time)
		fprintf(t->cpu, "%s%lld", t->comma, (long long)cpu);
	t->comma = ",";
	t->n++;
}

/*
 * Writes the names of a thread and its process, which the Firefox Profiler needs. If the recording
 * lacks one of these names, krait makes up a name and lists it in "made_up", so that krait's reader
 * drops it.
 */
static void put_names(FILE *out, const struct timeline_thread *thread)
{
	const char *comma = "";

	fputs(",\"name\":", out);
	json_put_string(out, *thread->name	? thread->name
			     : *thread->process ? thread->process
						: "Thread");
	fputs(",\"processName\":", out);
	json_put_string(out, *thread->process ? thread->process : "Process");
	if (*thread->name && *thread->process)
		return;
	fputs(",\"made_up\":[", out);
	if (!*thread->name) {
		fputs("\"name\"", out);
		comma = ",";
	}
	if (!*thread->process)
		fprintf(out, "%s\"processName\"", comma);
	fputc(']', out);
}

static void put_thread_head(struct threads *t, const struct timeline_thread *thread)
{
	FILE *out = t->f->out;
	bool main = *thread->tid && streq(thread->tid, thread->pid);

	fprintf(out,
		"%s\n{\"processType\":\"default\",\"processStartupTime\":0,"
		"\"processShutdownTime\":null,\"registerTime\":",
		t->thread_comma);
	put_ms(out, MAX(thread->first_ns, (int64_t)0));
	fprintf(out, ",\"unregisterTime\":null,\"pausedRanges\":[],\"isMainThread\":%s",
		main ? "true" : "false");
	put_names(out, thread);
	fprintf(out, ",\"pid\":\"%llu\",\"tid\":%llu,\n", (unsigned long long)thread->pid_number,
		(unsigned long long)thread->tid_number);
	fputs("\"samples\":{\"stack\":[", out);
	t->thread_comma = ",";
}

static int begin_thread(void *arg, const struct timeline_thread *thread)
{
	struct threads *t = arg;

	put_thread_head(t, thread);
	t->comma = "";
	t->n = 0;
	t->at_ns = 0;
	return 0;
}

/*
 * Writes a run of equal samples, the last of which was taken at @last_ns. If no sample of the
 * profile has a time, each sample begins where the preceding one ends, and the first begins at 0.
 */
static int put_run(void *arg, const struct profile_sample *run, int64_t last_ns)
{
	struct threads *t = arg;
	uint32_t node = profile_stack_node(t->f->p, run->stack);
	int64_t weight = run->values[t->f->value], time_ns = run->time_ns, first;
	int64_t ran = MAX(weight, (int64_t)0); /* a weight below 0 counts as no CPU time */
	int64_t gap_ns = MAX(2 * t->period_ns, 20 * (int64_t)NSEC_PER_MSEC);

	firefox_states_add(&t->states, run);
	if (!weight)
		return 0;
	if (time_ns < 0) {
		put_sample(t, node, t->at_ns, weight, ran);
		if (t->in_time && t->timeline.untimed == profile_n_samples(t->f->p) &&
		    __builtin_add_overflow(t->at_ns, ran, &t->at_ns))
			t->at_ns = INT64_MAX;
		return ferror(t->f->out) ? -EIO : 0;
	}
	if (time_ns - t->at_ns > gap_ns && t->n)
		put_sample(t, 0, t->at_ns + t->period_ns, 0, 0);
	first = last_ns > time_ns ? MIN(ran, t->period_ns) : ran;
	put_sample(t, node, time_ns, weight, first);
	if (last_ns > time_ns)
		put_sample(t, node, last_ns, 0, ran - first);
	t->at_ns = last_ns;
	/*
	 * A single sample that stands for a long time is a wait, which begins at the sample's time.
	 */
	if (t->in_time && last_ns == time_ns && ran > gap_ns && ran < INT64_MAX - time_ns)
		t->at_ns = time_ns + ran - t->period_ns;
	return ferror(t->f->out) ? -EIO : 0;
}

static int end_thread(void *arg, const struct timeline_thread *thread)
{
	struct threads *t = arg;
	FILE *out = t->f->out;
	const char *unit = profile_meta(t->f->p)->values[t->f->value].unit;
	int r;

	fputs("],\n\"time\":[", out);
	r = spool_move(t->times, out);
	if (r)
		return r;
	fputs("],\n\"weight\":[", out);
	r = spool_move(t->weights, out);
	if (!r && t->in_time) {
		fputs("],\n\"threadCPUDelta\":[", out);
		r = spool_move(t->cpu, out);
	}
	fprintf(out, "],\n\"weightType\":\"%s\",\"length\":%llu},\n",
		t->in_time	       ? "tracing-ms"
		: streq(unit, "bytes") ? "bytes"
				       : "samples",
		(unsigned long long)t->n);
	r = r ? r : firefox_states_put(&t->states, out);
	fputc('}', out);
	return r;
}

/*
 * Writes the recording's comments, such as the command line and what was lost. The Firefox Profiler
 * shows them in its info panel.
 */
static void put_comments(const struct firefox *f)
{
	const struct profile_meta *m = profile_meta(f->p);

	fputs("\"extra\":[{\"label\":\"krait\",\"entries\":[", f->out);
	vec_foreach(text, &m->comments.list) {
		const char *colon = strstr(*text, ": ");
		size_t n = colon && colon - *text < 16 ? colon - *text : 0;
		char label[16] = "comment";

		if (n)
			snprintf(label, sizeof(label), "%.*s", (int)n, *text);
		fprintf(f->out, "%s\n{\"label\":", text > m->comments.list.v ? "," : "");
		json_put_string(f->out, label);
		fputs(",\"format\":\"string\",\"value\":", f->out);
		json_put_string(f->out, *text + (n ? n + 2 : 0));
		fputc('}', f->out);
	}
	fputs("]}],", f->out);
}

static void put_meta(const struct threads *t)
{
	const struct firefox *f = t->f;
	const struct profile_meta *m = profile_meta(f->p);

	fputs("{\"meta\":{\"preprocessedProfileVersion\":60,\"version\":33,\"processType\":0,"
	      "\"stackwalk\":1,\"symbolicated\":true,\"markerSchema\":[",
	      f->out);
	fprintf(f->out, "%s],\"interval\":", t->states.waits < 0 ? "" : firefox_state_schema);
	put_ms(f->out, t->period_ns ? t->period_ns : (int64_t)NSEC_PER_MSEC);
	fputs(",\"startTime\":", f->out);
	put_ms(f->out, m->time_ns);
	/*
	 * profilingEndTime isn't written: with it the Firefox Profiler would ignore a sample at the
	 * very end of the recording.
	 */
	if (t->in_time)
		fputs(",\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
		      "\"threadCPUDelta\":\"ns\"}",
		      f->out);
	fputs(",\"importedFrom\":\"krait\",\"product\":", f->out);
	json_put_string(f->out, f->opt->title ? f->opt->title : "krait");
	fputs(",\"sourceCodeIsNotOnSearchfox\":true,\"keepProfileThreadOrder\":true,", f->out);
	put_comments(f);
	fprintf(f->out, "\n\"categories\":[%s]},\n", firefox_categories);
}

static int put_all(struct threads *t)
{
	/* equal samples aren't joined into runs, because each wait gets a marker of its own */
	const struct timeline_reader reader = {begin_thread, put_run, end_thread,
					       .every_sample = t->states.waits >= 0};
	int r;

	t->thread_comma = "";
	put_meta(t);
	firefox_put_libs(t->f);
	firefox_put_shared(t->f);
	fputs("\"threads\":[", t->f->out);
	r = timeline_each(&t->timeline, &reader, t);
	fputs("]}\n", t->f->out);
	return r;
}

static int write_firefox(struct threads *t)
{
	struct firefox *f = t->f;
	const struct profile_meta *m = profile_meta(f->p);
	int r = f->opt->value ? tree_value(f->p, f->opt->value) : (int)m->default_value;

	if (r < 0)
		return r;
	f->value = (unsigned)r;
	t->in_time = streq(m->values[r].unit, "nanoseconds");
	t->digits = profile_fraction_digits(m->values[r].unit);
	if (m->period_type.unit && streq(m->period_type.unit, "nanoseconds"))
		t->period_ns = MIN(MAX(m->period, (int64_t)0), 3600 * (int64_t)NSEC_PER_SEC);
	t->times = spool_open();
	t->weights = t->times ? spool_open() : NULL;
	t->cpu = t->weights ? spool_open() : NULL;
	r = t->cpu ? timeline_init(&t->timeline, f->p, f->opt->times, f->opt->by) : -EIO;
	r = r ? r : firefox_states_open(&t->states, f->p);
	if (!r)
		r = firefox_tables_init(f);
	return r ? r : put_all(t);
}

int firefox_write(struct profile *p, FILE *out, const struct render_options *opt)
{
	struct firefox f = {.p = p, .out = out, .opt = opt};
	struct threads t = {.f = &f};
	int r = write_firefox(&t);

	if (t.times)
		fclose(t.times);
	if (t.weights)
		fclose(t.weights);
	if (t.cpu)
		fclose(t.cpu);
	firefox_states_close(&t.states);
	timeline_fini(&t.timeline);
	firefox_tables_fini(&f);
	if ((!r || r == -EIO) && (fflush(out) || ferror(out)))
		r = err_sys(errno ? -errno : -EIO, "can't write the Firefox profile");
	return r;
}
