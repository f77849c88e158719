/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait attach` and `krait run`: they record as `krait record` does, but take the options of
 * Python 3.15's own sampler (`python -m profiling.sampling`, Lib/profiling/sampling/cli.py in
 * Python's source).
 */
#include <stdio.h>
#include <strings.h>

#include "base/error.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "base/vec.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/options/values.h"

enum mode { MODE_CPU, MODE_GIL, MODE_WALL };

/*
 * What an option such as --pstats or --collapsed chooses: the output's format, and how the output's
 * name begins and ends if the user gives none.
 */
struct output_format {
	const char *name, *prefix, *extension;
};

struct attach_options {
	/*
	 * the output's format; NULL: krait's own page, under the name that `krait record` gives it
	 */
	const struct output_format *format;
	const char *output, *duration;
	uint32_t rate_hz;
	enum mode mode;
	bool module, native, subprocesses, browser, live, ignored;
};

static const struct output_format pstats = {"pstats", "pstats_", ".pstats"},
				  collapsed = {"folded", "collapsed_", ".txt"},
				  flamegraph = {"html", "flamegraph_", ".html"},
				  gecko = {"firefox", "gecko_", ".json"},
				  jsonl = {"jsonl", "jsonl_", ".jsonl"};

#define FORMAT(word)                                                                               \
	static int set_##word(void *field, const char *text)                                       \
	{                                                                                          \
		const struct output_format **f = field;                                            \
                                                                                                   \
		if (*f && *f != &word)                                                             \
			return err_set(-EINVAL,                                                    \
				       "only one output format can be chosen; another was "        \
				       "given before");                                            \
		*f = &word;                                                                        \
		return 0;                                                                          \
	}
FORMAT(pstats)
FORMAT(collapsed)
FORMAT(flamegraph)
FORMAT(gecko)
FORMAT(jsonl)

/* Parses a sampling rate: "10000", "10k" or "10khz". */
static int set_rate(void *field, const char *text)
{
	char digits[32];
	size_t n = strlen(text);

	if (n > 2 && !strcasecmp(text + n - 2, "hz"))
		n -= 2;
	if (n >= sizeof(digits))
		return err_set(-EINVAL, "'%s' is not a frequency; write 1000, 1k or 1khz", text);
	snprintf(digits, sizeof(digits), "%.*s", (int)n, text);
	return value_frequency(field, digits);
}

static const char *const modes[] = {[MODE_CPU] = "cpu", [MODE_GIL] = "gil", [MODE_WALL] = "wall"};

static int set_mode(void *field, const char *text)
{
	enum mode *mode = field;

	for (unsigned i = 0; i < ARRAY_SIZE(modes); i++) {
		if (streq(text, modes[i])) {
			*mode = i;
			return 0;
		}
	}
	return err_set(-EINVAL, "'%s' is not a mode; write cpu, gil or wall", text);
}

#define FIELD(f) offsetof(struct attach_options, f)

/*
 * clang-format would format the rows of the table, which are in a macro, as statements: it is off
 * here.
 */
/* clang-format off */
#define ROW_FORMAT(word, text)                                                                     \
	{.name = #word, .set = set_##word, .field = FIELD(format), .help = (text)}
#define ROWS                                                                                       \
	{.group = "Sampling", .name = "sampling-rate", .letter = 'r', .arg = "RATE",               \
	 .set = set_rate, .field = FIELD(rate_hz), .initial = "999",                               \
	 .help = "samples per second of CPU time: 10000, 10k, 10khz"},                             \
	{.name = "duration", .letter = 'd', .arg = "SECONDS", .set = value_string,                 \
	 .field = FIELD(duration), .initial = "until the end, or Ctrl-C", .help = "how long"},     \
	{.name = "mode", .arg = "MODE", .set = set_mode, .field = FIELD(mode), .initial = "cpu",   \
	 .complete = "cpu gil wall",                                                               \
	 .help = "cpu: threads that run; gil: only those that run with the GIL; wall: also what "  \
		 "threads wait for, and how long"},                                                \
	{.name = "native", .set = value_flag, .field = FIELD(native),                              \
	 .help = "all native frames, by name"},                                                    \
	{.name = "subprocesses", .set = value_flag, .field = FIELD(subprocesses),                  \
	 .help = "child processes too, in the same output"},                                       \
	{.name = "all-threads", .letter = 'a', .set = value_flag, .field = FIELD(ignored),         \
	 .help = "changes nothing: krait samples all threads"},                                    \
	{.name = "blocking", .set = value_flag, .field = FIELD(ignored),                           \
	 .help = "changes nothing: krait never stops a process, and each of its samples shows "    \
		 "a single moment"},                                                               \
	{.group = "Output (a page, if none is chosen)", .name = "pstats", .set = set_pstats,       \
	 .field = FIELD(format), .help = "write a file for Python's pstats module"},               \
	ROW_FORMAT(collapsed, "folded stacks"),                                                    \
	ROW_FORMAT(flamegraph, "krait's page"),                                                    \
	ROW_FORMAT(gecko, "write a file for the Firefox Profiler"),                                \
	ROW_FORMAT(jsonl, "krait's JSON lines"),                                                   \
	{.name = "output", .letter = 'o', .arg = "FILE", .set = value_string,                      \
	 .field = FIELD(output), .initial = "FORMAT_PID.EXTENSION, or FORMAT_SCRIPT.EXTENSION",    \
	 .complete = COMPLETE_FILE,                                                                \
	 .help = "where to write"},                                                                \
	{.name = "browser", .set = value_flag, .field = FIELD(browser),                            \
	 .help = "open the page"},                                                                 \
	{.name = "live", .set = value_flag, .field = FIELD(live),                                  \
	 .help = "show a screen instead, as `krait top` does"},                                    \
	OPTION_HELP, {}
/* clang-format on */

static const struct option_row attach_rows[] = {ROWS};
static const struct option_row run_rows[] = {{.group = "The program",
					      .name = "module",
					      .letter = 'm',
					      .set = value_flag,
					      .field = FIELD(module),
					      .help = "what follows is the name of a module"},
					     ROWS};

static const struct option_refusal refused[] = {
	{"async-aware", "krait shows the stacks of threads, not of tasks"},
	{"async-mode", "krait shows the stacks of threads, not of tasks"},
	{"opcodes", "krait shows lines and columns, but no instructions"},
	{"no-gc",
	 "krait always shows the garbage collector's time; `krait report FILE --kind gc` shows it "
	 "alone"},
	{"heatmap", "the page has the lines and their shares; use --flamegraph"},
	{"binary", "krait's pages and .pb.gz files keep everything; `krait report FILE -o OTHER` "
		   "converts them"},
	{"compression", "the recording in krait's page is always compressed"},
	{"diff-flamegraph", "`krait diff OLD NEW -o diff.html` compares two recordings"},
	{"realtime-stats", "`krait record -v` prints figures about the sampling at its end"},
	{"sort", "`krait report FILE` prints tables"},
	{"limit", "`krait report FILE --limit N` prints tables"},
	{"no-summary", "`krait report FILE` prints tables"},
	{},
};

typedef VEC(char *) word_vec;

/* The words of a command line for `krait record` or `krait top`. The list doesn't own them. */
struct words {
	word_vec list;
	struct str output, rate;
	int r;
};

static void add(struct words *w, const char *word)
{
	w->r = w->r ? w->r : vec_push(&w->list, (char *)word);
}

static void add_option(struct words *w, const char *name, const char *value)
{
	add(w, name);
	add(w, value);
}

static void add_output(struct words *w, const struct attach_options *o, const char *of)
{
	const struct output_format *f = o->format;

	if (f)
		add_option(w, "--format", f->name);
	if (f && !o->output) {
		str_addf(&w->output, "%s%s%s", f->prefix, of, f->extension);
		add_option(w, "--output", str_cstr(&w->output));
	} else if (o->output) {
		add_option(w, "--output", o->output);
	}
	if (o->mode == MODE_WALL)
		add_option(w, "--value", "wall");
	/* Only folded stacks need the option --lines: a page shows lines anyway. */
	if (f == &collapsed)
		add(w, "--lines");
	if (o->browser)
		add(w, "--open");
}

static void add_options(struct words *w, const struct attach_options *o, const char *of)
{
	if (o->rate_hz) {
		str_addf(&w->rate, "%u", o->rate_hz);
		add_option(w, "--frequency", str_cstr(&w->rate));
	}
	if (o->duration)
		add_option(w, "--duration", o->duration);
	if (o->mode == MODE_GIL)
		add_option(w, "--label", "gil=held");
	if (o->mode == MODE_WALL)
		add(w, "--wall");
	if (o->native)
		add_option(w, "--native", "full");
	if (!o->subprocesses)
		add(w, "--no-children");
	if (!o->live)
		add_output(w, o, of);
}

static int call(struct words *w, const struct attach_options *o)
{
	const struct command *c = o->live ? &command_top : &command_record;
	int r = EXIT_FAILED;

	if (w->output.failed || w->rate.failed)
		w->r = -ENOMEM;
	add(w, NULL);
	if (w->r)
		log_error("out of memory");
	else
		r = c->run(c, (int)w->list.n - 1, w->list.v);
	vec_fini(&w->list);
	str_fini(&w->output);
	str_fini(&w->rate);
	return r;
}

static int check(const struct attach_options *o)
{
	if (!o->live || (!o->format && !o->output && !o->browser))
		return 0;
	log_error("--live shows a screen and writes nothing; leave the output out");
	return EXIT_USAGE;
}

static int run_attach(const struct command *self, int argc, char **argv)
{
	struct attach_options o = {};
	struct operands operands;
	struct words w = {};
	int r = options_read(self, argc, argv, &o, &operands);

	if (r >= 0)
		return r;
	if (!operands.operand) {
		log_error("which process? krait attach PID");
		return EXIT_USAGE;
	}
	if (check(&o))
		return EXIT_USAGE;
	add_option(&w, "--pid", operands.operand);
	add_options(&w, &o, operands.operand);
	return call(&w, &o);
}

/* What follows the script on the command line belongs to the script, even options. */
static int run_run(const struct command *self, int argc, char **argv)
{
	struct attach_options o = {};
	struct operands operands;
	struct words w = {};
	int n = options_leading(self, argc, argv);
	int r = options_read(self, n, argv, &o, &operands);

	if (r >= 0)
		return r;
	n += n < argc && streq(argv[n], "--");
	if (n == argc) {
		log_error("which script? krait run SCRIPT [ARGUMENT...]");
		return EXIT_USAGE;
	}
	if (check(&o))
		return EXIT_USAGE;
	add_options(&w, &o, path_base(argv[n]));
	add(&w, "--");
	add(&w, "python3");
	if (o.module)
		add(&w, "-m");
	for (int i = n; i < argc; i++)
		add(&w, argv[i]);
	return call(&w, &o);
}

const struct command command_attach = {
	.name = "attach",
	.summary = "Record a process, with the options of Python 3.15's own sampler.",
	.synopsis = (const char *const[]){"attach [OPTIONS] PID", NULL},
	.examples =
		(const char *const[]){"krait attach -d 10 123\ta page",
				      "krait attach -d 10 --gecko 123\tfor the Firefox Profiler",
				      NULL},
	.borrowed = true,
	.rows = attach_rows,
	.refused = refused,
	.operand = "PID",
	.run = run_attach,
};

const struct command command_run = {
	.name = "run",
	.summary = "Record a script, with the options of Python 3.15's own sampler.",
	.synopsis = (const char *const[]){"run [OPTIONS] SCRIPT [ARGUMENT...]",
					  "run [OPTIONS] -m MODULE [ARGUMENT...]", NULL},
	.examples = (const char *const[]){"krait run app.py --port 80\ta page",
					  "krait run --pstats -o out.pstats -m pytest\tfor pstats",
					  NULL},
	.borrowed = true,
	.rows = run_rows,
	.refused = refused,
	.operand = "SCRIPT",
	.operand_is_file = true,
	.run = run_run,
};
