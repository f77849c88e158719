/* SPDX-License-Identifier: BSD-2-Clause */
/* `krait report`: shows a profile, or writes it in another format. */
#include <errno.h>
#include <sys/stat.h>

#include "cli/report/report.h"
#include "base/cleanup.h"
#include "base/system/clock.h"
#include "base/error.h"
#include "base/system/log.h"
#include "base/vec.h"
#include "cli/advice.h"
#include "cli/cells.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/options/source_options.h"
#include "cli/options/values.h"
#include "cli/options/view_options.h"
#include "cli/report/headline.h"
#include "cli/report/stored.h"
#include "cli/write.h"
#include "format/common/embedded.h"
#include "format/read.h"
#include "view/shape/roots.h"
#include "view/waits/waits.h"
#include "view/wall.h"

struct report_options {
	const char *output, *format_name;
	const struct render_format *format;
	struct render_options render;
	struct view_options view;
	struct report_style style;
	/* prints the report; set if the output is the report, and not a profile in .format */
	int (*print)(const struct report_facts *f, const struct report_style *style, FILE *out);
	enum color_mode color;
	struct source_options source;
	enum source_mode source_mode;
	struct stored stored;
	bool json, quiet, idle;
};

#define FIELD(f) offsetof(struct report_options, f)

static const struct option_row rows[] = {
	VALUE_OUTPUT_ROW(FIELD(output), "standard output",
			 "where to write; the extension picks the format, - is standard output"),
	{.name = "format",
	 .arg = "FORMAT",
	 .set = value_string,
	 .field = FIELD(format_name),
	 .initial = "that of the file's extension; text on standard output",
	 .complete = COMPLETE_REPORT_FORMAT,
	 .help = "text, md (Markdown, for a job's summary; also -o FILE.md) or json (also -o "
		 "FILE.json): "
		 "the report; or any format that krait help formats lists"},
	{.name = "json",
	 .set = value_flag,
	 .field = FIELD(json),
	 .help = "the same as --format json"},
	{.name = "annotate",
	 .set = value_flag,
	 .field = FIELD(render.annotate),
	 .help = "in folded stacks: a suffix after the name of a frame that isn't Python, _[n] "
		 "native, _[k] kernel, _[j] JIT, _[g] garbage collector"},
	{.name = "value",
	 .arg = "TYPE",
	 .set = value_string,
	 .field = FIELD(render.value),
	 .initial = "samples in folded stacks, else time, or the event that was counted",
	 .complete = "samples cpu off_cpu wall gil_wait gil_blame lock_blame",
	 .help = "the value that text and pictures show; TYPE/UNIT if several have the same name"},
	{.name = "no-times",
	 .set = value_times_none,
	 .field = FIELD(render.times),
	 .help = "write no times, for a smaller file"},
	{.group = "The report",
	 .name = "limit",
	 .letter = 'n',
	 .arg = "N",
	 .set = view_value_rows,
	 .field = FIELD(style.limit),
	 .initial = "10; in a terminal of less than 40 rows 5, and as many lines as fit",
	 .help = "rows of a table"},
	{.name = "tree",
	 .set = value_flag,
	 .field = FIELD(style.tree),
	 .help = "also the call paths that cost most, as a tree; the only call of a function is "
		 "marked, not indented; library functions that only call the next one share a row"},
	{.name = "per-process",
	 .set = value_flag,
	 .field = FIELD(style.per_process),
	 .help = "each process's share too; if not all fit, processes of one name share a row"},
	{.name = "per-thread",
	 .set = value_flag,
	 .field = FIELD(style.per_thread),
	 .help = "each thread's share too; if not all fit, threads of one name share a row"},
	{.name = "idle",
	 .set = value_flag,
	 .field = FIELD(idle),
	 .help = "with --value off_cpu: waits of threads without work too (a pool's worker, a "
		 "server that waits for clients); without --idle only the sum of these waits is "
		 "shown"},
	STORED_ROWS(FIELD(stored)),
	SOURCE_ROWS(FIELD(source), "text, md, html: ",
		    "by default what FILE has if it is a page; in a text on standard output that "
		    "of your own files too"),
	VIEW_SAMPLE_ROWS(FIELD(view)),
	STORED_TIME_ROWS(FIELD(stored)),
	VIEW_SHAPE_ROWS(FIELD(view)),
	VIEW_MINE_ROW(FIELD(view)),
	VALUE_QUIET_ROW(FIELD(quiet), "Conduct"),
	VALUE_COLOR_ROW(FIELD(color)),
	OPTION_HELP,
	{},
};

/*
 * Tells whether the output is the report: it is on standard output, and in .md and .json files.
 * Sets .print.
 */
static bool is_report(struct report_options *o)
{
	const char *name = o->format_name;

	if (!name && (!o->output || streq(o->output, "-")))
		name = "text";
	if (!name && str_ends(o->output, ".md"))
		name = "md";
	/* extensions such as .speedscope.json belong to other formats */
	if (!name && str_ends(o->output, ".json") && !render_known_file(o->output))
		name = "json";
	if (!name)
		return false;
	if (streq(name, "text"))
		o->print = report_print_text;
	else if (streq(name, "md"))
		o->print = report_print_md;
	else if (streq(name, "json"))
		o->print = report_print_json;
	return o->print;
}

static bool shows_source(const struct report_options *o)
{
	return o->print ? o->print != report_print_json : streq(o->format->name, "html");
}

/*
 * Tells whether other users will probably read the output: files and Markdown are made to be passed
 * on. Anybody may have made the profile, and may have put the names of this user's private files
 * into it. krait must not publish the text of such files.
 */
static bool is_passed_on(const struct report_options *o)
{
	return o->print == report_print_md || (o->print && o->output && !streq(o->output, "-"));
}

static int check(struct report_options *o, const struct operands *operands)
{
	int r;

	o->stored.exact = o->style.per_process || o->style.per_thread;
	r = stored_check(&o->stored, &o->view, operands);
	if (r)
		return r;
	if (o->json && o->format_name)
		return err_set(-EINVAL, "--json and --format exclude each other; keep one");
	if (o->json)
		o->format_name = "json";
	o->format = is_report(o) ? NULL : write_format(o->format_name, o->output);
	if (!o->print && !o->format)
		return -EINVAL;
	if (o->render.annotate && (!o->format || !streq(o->format->name, "folded")))
		return err_set(-EINVAL, "--annotate is for folded stacks; add --format folded");
	if (source_options_mode(&o->source, &o->source_mode))
		return -EINVAL;
	if (o->source_mode != SOURCE_OWN && !shows_source(o))
		return err_set(-EINVAL, "%s is for the report and for pages",
			       o->source.all ? "--source" : "--no-source");
	if (o->source_mode == SOURCE_OWN && is_passed_on(o))
		o->source_mode = SOURCE_NONE;
	o->render.by = o->view.by;
	o->style.by = o->view.by;
	return view_options_check(&o->view);
}

static enum costs_by costs_by(const struct report_options *o)
{
	return o->view.grain == VIEW_LINES ? COSTS_BY_LINE : COSTS_BY_FILE;
}

struct idle_sum {
	const struct report_facts *f;
	int64_t ns;
};

static int add_idle(void *arg, const struct profile_sample *s)
{
	struct idle_sum *sum = arg;
	const struct report_facts *f = sum->f;

	if (s->values[f->value] > 0 && streq(profile_label_text(f->p, s->labels, "idle"), "yes"))
		costs_sum(&sum->ns, s->values[f->value]);
	return 0;
}

/* Adds up how long threads waited because they had no work. */
static int find_idle(const struct report_facts *f, int64_t *ret)
{
	struct idle_sum sum = {.f = f};
	int r = profile_each(f->p, add_idle, &sum);

	*ret = sum.ns;
	return r;
}

/*
 * Removes the waits of threads without work. The sentence about waits is made before that, because
 * it needs all that the threads did.
 */
static int leave_idle_out(const struct report_options *o, struct report_facts *f)
{
	const struct view_options without = {.no_idle = true};
	int r = find_idle(f, &f->idle);

	if (r || !f->idle)
		return r;
	r = report_find_waits(f, costs_by(o), o->view.invert);
	f->partial = true;
	return r ? r : view_apply(&f->p, &without, NULL);
}

/* Removes the samples and frames that the user's filters exclude from the profile. */
static int apply_filters(const struct report_options *o, struct report_facts *f)
{
	int r;

	if (!view_wanted(&o->view))
		return 0;
	f->filtered = true;
	f->partial = view_is_partial(&o->view);
	f->frames_left_out = o->view.hide.n || o->view.show.n || o->view.native != VIEW_NATIVE_FULL;
	r = view_options_warn(&o->view, f->p);
	r = r ? r : view_apply(&f->p, &o->view, &f->totals);
	if (!r && f->totals.all_samples && !f->totals.shown_samples)
		log_warn("nothing of the profile matches the filters");
	return r;
}

/*
 * Returns the name of the value that is shown; NULL: the profile's default. With --by waiter the
 * default is lock_blame, because only its samples have the label `waiter`.
 */
static const char *value_of(const struct report_options *o, struct profile *p)
{
	bool blame = o->view.by && streq(o->view.by, "waiter") &&
		     profile_time_value(p, "lock_blame") >= 0;

	return !o->render.value && blame ? "lock_blame" : o->render.value;
}

/*
 * Chooses the value that is shown, and removes the samples and frames that aren't shown from the
 * profile.
 */
static int choose_samples(const struct report_options *o, struct report_facts *f)
{
	int64_t idle;
	int r = o->print ? report_find_value(f, value_of(o, f->p)) : 0;

	if (r)
		return r;
	if (!o->print || o->idle || view_asks_for_idle(&o->view) ||
	    !streq(profile_meta(f->p)->values[f->value].type, "off_cpu"))
		return apply_filters(o, f);
	r = find_idle(f, &idle);
	r = r ? r : apply_filters(o, f);
	costs_sum(&f->totals.all[f->value], -idle);
	return r ? r : leave_idle_out(o, f);
}

/*
 * Refuses --per-process or --per-thread if no sample has a label that names its process or thread.
 * Call it before anything is printed.
 */
static int check_per(const struct report_facts *f, bool wanted, const char *what)
{
	int r = wanted ? roots_check(f->p, f->sums, f->n_sums, what) : 0;

	return r == -EINVAL ? err_set(r, "--per-%s: no sample has the label '%s'", what, what) : r;
}

static int find_facts(const struct report_options *o, struct report_facts *f)
{
	int r = report_find_value(f, value_of(o, f->p));

	r = r ? r : profile_sums(f->p, &f->sums, &f->n_sums);
	if (!r && o->style.by)
		r = roots_check(f->p, f->sums, f->n_sums, o->style.by);
	r = r ? r : check_per(f, o->style.per_process, "process");
	r = r ? r : check_per(f, o->style.per_thread, "thread");
	r = r ? r : report_find_costs(f, costs_by(o), o->view.invert);
	if (r)
		return r;
	costs_sort(&f->costs);
	if (!f->filtered)
		f->totals.all[f->value] = f->costs.all;
	return 0;
}

/* How many rows a table has if the user gave no --limit. */
#define ROWS	 10
#define FEW_ROWS 5

struct print_arg {
	const struct report_options *o;
	struct report_facts *f;
};

static int print(void *arg, FILE *out)
{
	const struct print_arg *a = arg;
	struct report_style style = a->o->style;

	style.grain = a->o->view.grain;
	style.colored = color_wanted(a->o->color, out);
	style.width = cells_terminal_width(out);
	style.height = cells_terminal_height(out);
	if (style.fit)
		style.limit = style.height && style.height < REPORT_TALL ? FEW_ROWS : ROWS;
	return a->o->print(a->f, &style, out);
}

/*
 * A page that is made from another page gets the source text of that other page. If only a part of
 * the profile is shown, the new page gets no text, because it isn't known which text belongs to
 * that part.
 */
static int take_text(const struct report_options *o, const struct report_facts *f, struct str *text)
{
	if (o->source_mode != SOURCE_OWN || view_wanted(&o->view) ||
	    !streq(o->format->name, "html") || !str_ends(f->path, ".html"))
		return 0;
	return read_source_file(f->path, EMBEDDED_SOURCE, text);
}

/*
 * If the profile is a page, reads the source text in the page. The report may show this text even
 * if it is passed on, because it doesn't come from the user's own files.
 */
static int read_page(const struct report_options *o, struct report_facts *f)
{
	_cleanup_str_ struct str text = {};
	int r;

	if (!o->print || o->print == report_print_json || o->source.none ||
	    !str_ends(f->path, ".html"))
		return 0;
	r = read_source_file(f->path, EMBEDDED_SOURCE, &text);
	return r ? r : page_text_read(&f->page, &text);
}

static int convert(struct report_options *o, struct report_facts *f)
{
	_cleanup_str_ struct str text = {}, headline = {};
	int r = take_text(o, f, &text);

	if (!r && streq(o->format->name, "html"))
		r = headline_add(f->p, o->render.value, o->view.invert, f->partial, &headline);
	o->render.tells_waits = r > 0;
	if (r < 0) {
		log_error("%s", error_words());
		return EXIT_FAILED;
	}
	o->render.headline = str_cstr(&headline);
	o->render.source_text = text.n ? str_cstr(&text) : NULL;
	r = write_file(f->p, o->output, o->format, &o->render);
	source_say_shown(&f->source, o->output);
	return r;
}

static int write_it(struct report_options *o, struct report_facts *f)
{
	int r;

	view_say_unknown(view_mine(&o->view, f->p));
	r = wall_derive(f->p, o->render.value, o->format ? o->format->name : NULL);
	r = r ? r : choose_samples(o, f);
	if (!r && o->print)
		r = find_facts(o, f);
	r = r ? r : read_page(o, f);
	f->source.p = f->p;
	f->source.since_ns = source_ran(f->p, f->path);
	o->render.open_source = SOURCE_OF_PAGE(&f->source);
	o->render.source_shown = source_shown;
	o->render.source_arg = &f->source;
	if (r) {
		log_error("%s", error_words());
		return EXIT_FAILED;
	}
	if (o->format)
		return convert(o, f);
	cells_init();
	return write_output(o->output, print, &(struct print_arg){o, f});
}

static int read_it(struct report_options *o, const char *path, struct profile **ret)
{
	return o->stored.dir ? stored_read(&o->stored, ret) : read_profile_file(path, ret);
}

static int report(struct report_options *o, const char *path)
{
	struct caller caller;
	struct report_facts f = {.path = path,
				 .source.rules = {.caller = &caller, .mode = o->source_mode}};
	int r = caller_find(&caller);

	if (!r)
		r = read_it(o, path, &f.p);
	if (r) {
		caller_fini(&caller);
		log_error("%s", error_words());
		return EXIT_FAILED;
	}
	if (!profile_n_samples(f.p) && o->stored.dir)
		stored_say_empty(&o->stored);
	else if (!profile_n_samples(f.p))
		log_warn("%s has no samples", path);
	r = write_it(o, &f);
	page_text_fini(&f.page);
	report_facts_fini(&f);
	profile_free(f.p);
	caller_fini(&caller);
	return r;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct report_options o = {.render.times = PROFILE_TIMES_EXACT};
	struct operands operands;
	int r = options_read(self, argc, argv, &o, &operands);

	if (r < 0 && self == &command_last && stored_last(&o.stored, &operands)) {
		log_error("%s", error_words());
		r = EXIT_USAGE;
	}
	if (r < 0 && check(&o, &operands)) {
		log_error("%s", error_words());
		r = EXIT_USAGE;
	}
	log_set_level(o.quiet ? LOG_WARN : LOG_NOTE);
	/* with --limit N, a table has N rows even if they don't fit */
	o.style.fit = !o.style.limit;
	if (r < 0)
		r = report(&o, operands.operand ? operands.operand : o.stored.dir);
	stored_fini(&o.stored);
	view_options_fini(&o.view);
	return r;
}

const struct command command_report = {
	.name = "report",
	.reads_files = true,
	.summary = "Show a profile, any tool's, or write it in another format.",
	.synopsis = (const char *const[]){"report [OPTIONS] FILE", NULL},
	.examples =
		(const char *const[]){"krait report x.pb.gz\twhere the time goes, in the terminal",
				      "krait report x.pb.gz -o x.html\ta recording as a page",
				      "krait report x.html --format folded\tas text",
				      "krait report --store /var/lib/krait --since 03:00 --until "
				      "03:10\tten minutes of last night",
				      NULL},
	.rows = rows,
	.operand = "FILE",
	.operand_is_file = true,
	.run = run,
};

const struct command command_last = {
	.name = "last",
	.reads_files = true,
	.summary = "Show the last minutes that krait agent has recorded.",
	.synopsis = (const char *const[]){"last TIME [-p PID | --service NAME] [OPTIONS]",
					  "last --pin N | --mark TEXT [OPTIONS]", NULL},
	.examples =
		(const char *const[]){"krait last 10m\twhere the machine's time went",
				      "krait last 1h -p 4711 -o x.html\tone process as a page",
				      "krait last 03:00..03:10\tten minutes of last night", NULL},
	.rows = rows,
	.operand = "TIME",
	.run = run,
};
