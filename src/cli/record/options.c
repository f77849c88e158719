/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options of `krait record`: their table, their defaults, and checks of which options exclude
 * each other.
 */
#include "cli/record/record.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/log.h"
#include "cli/advice.h"
#include "cli/exit.h"
#include "cli/options/view_options.h"
#include "cli/record/rows.h"
#include "format/format.h"
#include "sampler/sources/event.h"
#include "view/wall.h"

int record_value_services(void *field, const char *text)
{
	return service_rules_parse(text, field);
}

/*
 * Default sampling frequencies. They don't divide 1000 Hz, so samples don't keep step with a
 * program's timers. perf's default is an odd number for the same reason.
 */
#define FREQ_PROCESS_HZ 999
#define FREQ_MACHINE_HZ 99

static const struct option_row rows[] = {
	RECORD_ROWS_TARGETS,

	RECORD_ROWS_SAMPLING(
		"until Ctrl-C or the end of the targets",
		"how long: 10, 10s, 500ms, 2m; with -- the recording ends then, not the command",
		"999 with --pid and --, 99 for the machine"),
	{.name = "wall",
	 .set = value_flag,
	 .field = RECORD_FIELD(session.wall),
	 .help = "record where threads run and what they wait for: -e cpu-clock -e wait"},
	RECORD_ROW_WAIT_BUDGET,
	RECORD_ROW_IDLE_AT,

	RECORD_ROWS_NATIVE,
	{.name = "kernel-addresses",
	 .set = value_flag,
	 .field = RECORD_FIELD(session.kernel_addresses),
	 .help = "write the kernel's addresses as they are, not relative to its start; needs the "
		 "right to read them in /proc/kallsyms"},

	VALUE_OUTPUT_ROW(RECORD_FIELD(output), "krait-NAME-DATE-TIME.html",
			 "where to write; the extension picks the format, - is standard output"),
	{.name = "format",
	 .arg = "FORMAT",
	 .set = value_string,
	 .field = RECORD_FIELD(format_name),
	 .complete = COMPLETE_FORMAT,
	 .help = "the format, whatever the file's extension is; krait help formats lists all"},
	{.name = "folded",
	 .letter = 'f',
	 .set = value_flag,
	 .field = RECORD_FIELD(folded),
	 .help = "folded stacks, on standard output unless --output is given"},
	{.name = "annotate",
	 .set = value_flag,
	 .field = RECORD_FIELD(annotate),
	 .help = "in folded stacks: a suffix after the name of a frame that isn't Python, _[n] "
		 "native, _[k] kernel, _[j] JIT, _[g] garbage collector"},
	{.name = "value",
	 .arg = "TYPE",
	 .set = value_string,
	 .field = RECORD_FIELD(value),
	 .initial = "samples in folded stacks, else time, or the event that was counted",
	 .complete = "samples cpu off_cpu wall gil_wait gil_blame lock_blame",
	 .help = "the value that text and pictures show"},
	{.name = "add-label",
	 .arg = "KEY=VALUE",
	 .set = value_label,
	 .field = RECORD_FIELD(session.labels),
	 .help = "write this label to every sample; may be repeated"},
	RECORD_ROW_SERVICE_FROM("none; with --by service, version, pod or image " SERVICE_DEFAULT),
	{.name = "label-intervals",
	 .arg = "FILE",
	 .set = value_string,
	 .field = RECORD_FIELD(session.label_intervals),
	 .complete = COMPLETE_FILE,
	 .help = "labels that the program gives to its own time: FILE has a line for each "
		 "interval, "
		 "and is read when the recording is done"},
	{.name = "times",
	 .set = value_times_exact,
	 .field = RECORD_FIELD(times),
	 .help = "record the exact time of every sample instead of 10 ms steps"},
	{.name = "no-times",
	 .set = value_times_none,
	 .field = RECORD_FIELD(times),
	 .help = "record no times, for a smaller file"},
	{.name = "summary-json",
	 .arg = "FILE",
	 .set = value_string,
	 .field = RECORD_FIELD(summary_json),
	 .complete = COMPLETE_FILE,
	 .help = "also write what the last lines of a recording say to FILE, as JSON"},
	{.name = "memory",
	 .arg = "SIZE",
	 .set = value_memory,
	 .field = RECORD_FIELD(session.memory),
	 .initial = "512M, or a quarter of the machine's memory if that is less",
	 .help = "limit of memory for names, stacks and writing them, from 8M to 4G; if they "
		 "need more, rare code is summed up as [rare code]"},
	SOURCE_ROWS(RECORD_FIELD(source), "html: ", "by default of your own files only"),
	{.name = "open",
	 .set = value_flag,
	 .field = RECORD_FIELD(open),
	 .help = "open the page when it is written"},

	VIEW_SAMPLE_ROWS(RECORD_FIELD(view)),
	VIEW_TIME_ROWS(RECORD_FIELD(view)),
	VIEW_GRAIN_ROWS(RECORD_FIELD(view)),
	VIEW_INVERT_ROW(RECORD_FIELD(view)),
	VIEW_BY_ROW(RECORD_FIELD(view)),
	VIEW_MINE_ROW(RECORD_FIELD(view)),
	{.group = "Conduct",
	 .name = "require-samples",
	 .set = value_flag,
	 .field = RECORD_FIELD(require_samples),
	 .help = "exit with 1 if not a single sample came"},
	{.name = "if-permitted",
	 .set = value_flag,
	 .field = RECORD_FIELD(if_permitted),
	 .help = "with --: without the rights to profile, warn once and run the command "
		 "unprofiled"},
	RECORD_ROWS_WORDS,
	OPTION_HELP,
	{},
};

void record_options_init(struct record_options *o)
{
	*o = (struct record_options){.session = {.native = NATIVE_MODE_LEAF, .kernel = true}};
}

void record_options_fini(struct record_options *o)
{
	vec_fini(&o->session.pids);
	vec_fini(&o->session.comms);
	vec_fini(&o->session.cgroups);
	vec_fini(&o->session.containers);
	vec_fini(&o->session.labels);
	vec_fini(&o->session.idle_at);
	vec_fini(&o->session.events);
	view_options_fini(&o->view);
}

static int check_targets(const struct record_options *o)
{
	const struct session_options *s = &o->session;
	bool chosen = s->comms.n || s->cgroups.n || s->containers.n;

	if (s->cmd && s->pids.n)
		return err_set(-EINVAL, "--pid and a command after -- exclude each other; record "
					"them one after the other");
	if (s->cmd && chosen)
		return err_set(-EINVAL, "a command after -- is the only target; leave --comm, "
					"--cgroup and --container out");
	if (s->no_children && !s->cmd && !s->pids.n)
		return err_set(-EINVAL,
			       "--no-children needs a process: --pid or a command after --");
	if (o->if_permitted && !s->cmd)
		return err_set(-EINVAL, "--if-permitted needs a command to run after --");
	return 0;
}

static bool all_have_rates(const struct session_events *all)
{
	for (unsigned i = 0; i < all->n; i++)
		if (!all->v[i].own_rate)
			return false;
	return true;
}

static int check_sampling(struct record_options *o)
{
	struct session_options *s = &o->session;
	bool given = s->freq_hz || s->count;
	int r;

	if (s->wall && s->events.n)
		return err_set(-EINVAL, "--wall stands for -e cpu-clock -e wait; leave one of "
					"--wall and --event out");
	if (s->freq_hz && s->count)
		return err_set(-EINVAL, "--frequency and --count exclude each other; keep one");
	if (!given)
		s->freq_hz = s->cmd || s->pids.n ? FREQ_PROCESS_HZ : FREQ_MACHINE_HZ;
	r = session_events_parse(&o->events, s);
	if (!r && s->wait_budget_ppm && !session_events_wait(&o->events))
		return err_set(-EINVAL, "--wait-budget has no meaning without --wall or -e wait; "
					"leave it out");
	if (!r && given && o->events.n == 1 && o->events.v[0].source->whole)
		return err_set(-EINVAL,
			       "each %s is recorded, so --%s has no meaning for it; leave it out",
			       o->events.v[0].name, s->count ? "count" : "frequency");
	if (!r && given && all_have_rates(&o->events))
		return err_set(
			-EINVAL,
			"each --event has a rate of its own, so none uses --%s; leave it out",
			s->count ? "count" : "frequency");
	return r;
}

static int check_native(const struct record_options *o)
{
	const struct session_options *s = &o->session;

	if (s->interpreter_frames && s->native != NATIVE_MODE_FULL)
		return err_set(-EINVAL,
			       "--interpreter-frames shows native frames between Python's; "
			       "say --native=full too");
	if (s->native_lines && s->native == NATIVE_MODE_NONE)
		return err_set(-EINVAL,
			       "--native-lines and --native=none exclude each other; keep one");
	if (s->kernel_addresses && !s->kernel)
		return err_set(-EINVAL,
			       "--kernel-addresses and --no-kernel exclude each other; keep one");
	if (s->all && s->native == NATIVE_MODE_NONE)
		return err_set(-EINVAL, "--all shows processes that have native frames only; "
					"leave --native=none out");
	if (s->all && (s->pids.n || s->cmd))
		return err_set(-EINVAL, "--all and %s exclude each other; keep one",
			       s->cmd ? "a command after --" : "--pid");
	return 0;
}

/*
 * Returns the event whose value is shown: the one that --value names or, without --value, the first
 * event. NULL: there is no such event.
 */
static const struct event *shown_event(const struct record_options *o)
{
	for (unsigned i = 0; i < o->events.n; i++)
		if (!o->value || streq(o->value, o->events.v[i].sample_type))
			return &o->events.v[i];
	return NULL;
}

static int check_value(const struct record_options *o)
{
	_cleanup_str_ struct str list = {};

	if (shown_event(o) || streq(o->value, "samples"))
		return 0;
	if (is_wall(o->value) && session_events_wait(&o->events) && session_events_cpu(&o->events))
		return 0;
	/* each recording of waits has these values, in addition to those of its events */
	if (session_events_wait(&o->events) &&
	    (streq(o->value, "gil_wait") || streq(o->value, "gil_blame") ||
	     streq(o->value, "lock_blame")))
		return 0;
	for (unsigned i = 0; i < o->events.n; i++)
		str_addf(&list, "%s%s", i + 1 < o->events.n ? ", " : " and ",
			 o->events.v[i].sample_type);
	return err_set(-EINVAL, "--value %s isn't recorded; there are samples%s", o->value,
		       str_cstr(&list));
}

/*
 * Refuses options that would make writing the recording fail: by then the recording would be lost.
 */
static int check_shown(const struct record_options *o)
{
	const char *by = o->view.by;
	int r = check_value(o);

	if (r)
		return r;
	if (by && !record_has_label(o, by) && !record_by_may_lack(o))
		return err_set(
			-EINVAL,
			"--by %s isn't a label of this recording; there are process, thread, "
			"pid, tid, cgroup, container, gil, service, version, pod, image, with "
			"-e wait state, idle, on and waiter, and labels that are added",
			by);
	if ((o->view.since_ns || o->view.until_ns) && o->times == PROFILE_TIMES_NONE)
		return err_set(-EINVAL, "--since and --until need times; leave --no-times out");
	return view_options_check(&o->view);
}

/*
 * Refuses -f (write folded stacks) if the output's name has the extension of another format: one of
 * the two must be a mistake. With --format folded, such a name is allowed.
 */
static int check_folded(const struct record_options *o)
{
	const struct render_format *named;

	if (o->format_name && !streq(o->format_name, "folded"))
		return err_set(-EINVAL, "--folded and --format %s exclude each other; keep one",
			       o->format_name);
	named = o->format_name ? NULL : render_by_file(o->output);
	if (named && !streq(named->name, "folded"))
		return err_set(-EINVAL,
			       "--folded writes text, but %s is a name for %s; leave -f out, or "
			       "use --format folded if that is meant",
			       o->output, named->name);
	return 0;
}

/*
 * Tells whether a time can be shown. With --value, the value must be a time. Without --value, it is
 * enough if one of the events measures time.
 */
static bool has_time(const struct record_options *o)
{
	const struct event *shown = shown_event(o);

	/*
	 * if --value names no event's value, it names a value of waits; all values of waits are
	 * times
	 */
	if (!shown && o->value && !streq(o->value, "samples"))
		return true;
	for (unsigned i = 0; !o->value && i < o->events.n; i++)
		if (event_is_time(&o->events.v[i]))
			return true;
	return shown && event_is_time(shown);
}

/*
 * For a format that shows times: refuses options with which its writer would fail after the
 * recording.
 */
static int check_times(const struct record_options *o)
{
	if (o->times == PROFILE_TIMES_NONE)
		return err_set(-EINVAL, "the format %s shows times; leave --no-times out",
			       o->format->name);
	if (!has_time(o))
		return err_set(-EINVAL,
			       "the format %s shows how long things take, and %s isn't a time; "
			       "leave %s out",
			       o->format->name, o->value ? o->value : o->events.v[0].name,
			       o->value ? "--value" : "--event");
	return 0;
}

/*
 * Chooses the output's format: that of --format or -f, else that of the file's extension, else a
 * page.
 */
static int check_output(struct record_options *o)
{
	int r;

	if (o->folded && !o->output)
		o->output = "-";
	r = o->folded ? check_folded(o) : 0;
	if (r)
		return r;
	if (o->folded)
		o->format_name = "folded";
	if (o->output && streq(o->output, "-") && !o->format_name)
		return err_set(-EINVAL, "standard output has no extension; say the format too, as "
					"in `-o - --format folded`");
	if (o->format_name)
		o->format = render_by_name(o->format_name);
	else
		o->format = o->output ? render_by_file(o->output) : &render_formats[0];
	if (!o->format)
		return -EINVAL;
	r = render_check_by(o->format, o->view.by);
	if (!r && o->format->needs_times)
		r = check_times(o);
	if (r)
		return r;
	/*
	 * if each event is one sample, as with waits, the number of samples doesn't tell how long
	 * the waits were, so the event's own value is shown
	 */
	if (!o->value && o->events.v[0].source->whole)
		o->value = o->events.v[0].sample_type;
	if (o->annotate && !streq(o->format->name, "folded"))
		return err_set(
			-EINVAL,
			"--annotate works with folded stacks only, not with the format %s; add -f",
			o->format->name);
	r = source_options_mode(&o->source, &o->source_mode);
	if (r)
		return r;
	if (o->source_mode != SOURCE_OWN && !streq(o->format->name, "html"))
		return err_set(
			-EINVAL,
			"%s works with pages only, and the format %s is no page; use --format html",
			o->source.all ? "--source" : "--no-source", o->format->name);
	if (o->output && o->summary_json && streq(o->output, "-") && streq(o->summary_json, "-"))
		return err_set(-EINVAL,
			       "--summary-json - and the profile would be mixed on standard "
			       "output; give one of them a file");
	if (o->open && o->output && streq(o->output, "-"))
		return err_set(-EINVAL, "--open needs a file; standard output can't be opened");
	return 0;
}

int record_options_check(struct record_options *o)
{
	int r;

	if (o->quiet && o->verbose)
		return err_set(-EINVAL, "--quiet and --verbose exclude each other; keep one");
	if (o->quiet)
		o->verbose = -1;
	r = check_targets(o);
	if (!r)
		r = check_sampling(o);
	if (!r && o->session.idle_at.n && !session_events_wait(&o->events))
		r = err_set(-EINVAL, "--idle-at is about waits; add --wall or -e wait");
	if (!r)
		r = check_native(o);
	if (!r)
		r = record_choose_services(o);
	if (!r)
		r = check_shown(o);
	return r ? r : check_output(o);
}

static int run(const struct command *self, int argc, char **argv)
{
	_cleanup_(record_options_fini) struct record_options o;
	struct operands operands;
	int r;

	record_options_init(&o);
	r = options_read(self, argc, argv, &o, &operands);
	if (r >= 0)
		return r;
	o.session.cmd = operands.cmd;
	r = record_options_check(&o);
	if (r) {
		log_error("%s", error_words());
		return EXIT_USAGE;
	}
	log_set_level(LOG_NOTE + MIN(o.verbose, 2));
	return cmd_record(&o);
}

const struct command command_record = {
	.name = "record",
	.summary = "Record where Python programs spend their time.",
	.synopsis = (const char *const[]){"record [OPTIONS] -- COMMAND [ARGUMENT...]",
					  "record [OPTIONS] --pid PID", "record [OPTIONS]", NULL},
	.examples =
		(const char *const[]){"krait record -- python app.py\trun and profile a program",
				      "krait record -p 123 -d 10\ta running one, for 10 s",
				      "krait record -o out.folded -p 123\tuntil Ctrl-C or its end",
				      "krait -p 123 -f -d 10 > stacks.txt\tfolded stacks",
				      "krait record -d 10\tevery Python process", NULL},
	.rows = rows,
	.takes_command = true,
	.run = run,
};
