/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait py-spy record` and `krait py-spy top`: run krait's own commands, with the options that
 * correspond to those of py-spy.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/log.h"
#include "base/nomem.h"
#include "cli/advice.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/py_spy/py_spy.h"

struct format {
	/* the format's name in krait, and the extension of its files */
	const char *own, *extension;
	/* .what: words after "Wrote "; .next: advice what to do with the file, or NULL */
	const char *what, *next;
};

static const struct format formats[] = {
	[PY_SPY_FLAMEGRAPH] = {"svg", ".svg", "flamegraph data to", NULL},
	[PY_SPY_RAW] = {"folded", ".txt", "raw flamegraph data to",
			"`krait report` and flamegraph viewers read it"},
	[PY_SPY_SPEEDSCOPE] = {"speedscope", ".json", "speedscope file to",
			       "Visit https://www.speedscope.app/ to view"},
	[PY_SPY_CHROMETRACE] = {"trace", ".json", "chrome trace to",
				"Visit chrome://tracing or https://ui.perfetto.dev/ to view"},
};

/*
 * Passed to shape(), which changes the samples before they are written. .samples: how many are
 * left.
 */
struct shaping {
	const struct py_spy_options *o;
	uint64_t samples;
};

static int shape(void *arg, struct profile **p)
{
	struct shaping *s = arg;

	return py_spy_shape(s->o, p, &s->samples);
}

/* Makes a name for the output, such as "123-2026-11-27T10-17-30+0000.svg". */
static int name_file(const struct py_spy_options *o, struct str *ret)
{
	time_t now = time(NULL);
	struct tm tm;
	char at[64] = "";

	if (localtime_r(&now, &tm))
		strftime(at, sizeof(at), "%Y-%m-%dT%H-%M-%S%z", &tm);
	if (o->pid)
		str_addf(ret, "%d", o->pid);
	else
		str_add(ret, path_base(o->program[0]));
	str_addf(ret, "-%s%s", at, formats[o->format].extension);
	return ret->failed ? err_nomem() : 0;
}

/* Sets the targets and the frequency of the recording. */
static int set_targets(const struct py_spy_options *o, struct record_options *to)
{
	to->session.cmd = o->program;
	to->session.freq_hz = o->rate_hz;
	to->session.no_children = !o->subprocesses;
	to->session.kernel = false;
	return o->pid ? vec_push(&to->session.pids, o->pid) : 0;
}

static int set_gil(const struct py_spy_options *o, struct record_options *to)
{
	return o->gil ? vec_push(&to->view.labels, "gil=held") : 0;
}

static void say_start(const struct py_spy_options *o, const char *lead)
{
	printf("%sSampling process %u times a second", lead, o->rate_hz);
	if (o->duration_ns)
		printf(" for %.0f seconds", (double)o->duration_ns / NSEC_PER_SEC);
	puts(". Press Control-C to exit.\n");
	fflush(stdout);
}

/* Prints that there are no samples, and that no file is written. */
static int say_nothing(const struct py_spy_options *o, const char *path)
{
	if (o->duration_ns == PY_SPY_NO_TIME)
		return EXIT_DONE;
	log_error("no Python ran in that time, so %s isn't written", path);
	return EXIT_FAILED;
}

static void say_end(const struct py_spy_options *o, const char *lead, const struct shaping *s,
		    const char *path)
{
	const struct format *f = &formats[o->format];

	printf("%sWrote %s '%s'. Samples: %llu Errors: 0\n", lead, f->what, path,
	       (unsigned long long)s->samples);
	if (f->next)
		printf("%s%s\n", lead, f->next);
}

static int record(const struct py_spy_options *o, struct record_options *to)
{
	struct shaping s = {.o = o};
	_cleanup_str_ struct str path = {};
	/*
	 * what py-spy prints before its messages: nothing if it shows progress and captures the
	 * program's output
	 */
	const char *lead = o->capture && !o->hideprogress ? "" : "py-spy> ";
	int r = 0;

	if (!o->output)
		r = name_file(o, &path);
	else /* for py-spy, "-" is the name of a file */
		str_addf(&path, "%s%s", streq(o->output, "-") ? "./" : "", o->output);

	r = r ? r : set_targets(o, to);
	r = r ? r : set_gil(o, to);
	if (r)
		return r;
	to->session.duration_ns = o->duration_ns;
	to->session.native = o->native ? NATIVE_MODE_FULL : NATIVE_MODE_NONE;
	to->output = str_cstr(&path);
	to->format_name = formats[o->format].own;
	to->bare = true;
	to->end_command = true;
	to->reshape = shape;
	to->reshape_arg = &s;
	r = record_options_check(to);
	if (r)
		return r;
	/* py-spy has no frames `import NAME`: it shows the frames of Python's import machinery. */
	to->session.interpreter_frames = !o->native;
	say_start(o, lead);
	log_set_level(LOG_WARN);
	r = cmd_record(to);
	if (r != EXIT_DONE)
		return r;
	if (!s.samples && o->format == PY_SPY_FLAMEGRAPH)
		return say_nothing(o, to->output);
	say_end(o, lead, &s, to->output);
	return EXIT_DONE;
}

int py_spy_record(const struct py_spy_options *o)
{
	struct record_options to;
	int r;

	record_options_init(&to);
	r = record(o, &to);
	record_options_fini(&to);
	if (r >= 0)
		return r;
	log_error("%s", error_words());
	return EXIT_FAILED;
}

#define DELAY_MIN_MS 100ull /* krait top has no shorter intervals than this */

/* Runs `krait top`, whose screen differs from py-spy's. */
int py_spy_top(const struct py_spy_options *o)
{
	uint64_t delay_ms = MAX(o->delay_ns / NSEC_PER_MSEC, DELAY_MIN_MS);
	char pid[32], rate[32], interval[32];
	VEC(char *) words = {};
	int r = 0;

	snprintf(pid, sizeof(pid), "--pid=%d", o->pid);
	snprintf(rate, sizeof(rate), "--frequency=%u", o->rate_hz);
	snprintf(interval, sizeof(interval), "--interval=%llums", (unsigned long long)delay_ms);
	char *const options[] = {rate,
				 interval,
				 o->native ? "--with-native" : "--native=none",
				 o->pid ? pid : NULL,
				 o->subprocesses ? NULL : "--no-children",
				 o->gil ? "--label=gil=held" : NULL,
				 o->program ? "--" : NULL};

	for (size_t i = 0; !r && i < ARRAY_SIZE(options); i++)
		r = options[i] ? vec_push(&words, options[i]) : 0;
	for (char **word = o->program; !r && word && *word; word++)
		r = vec_push(&words, *word);
	r = r ? r : vec_push(&words, NULL);
	if (r)
		log_error("out of memory");
	r = r ? EXIT_FAILED : command_top.run(&command_top, (int)words.n - 1, words.v);
	vec_fini(&words);
	return r;
}
