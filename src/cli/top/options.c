/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `krait top`: their table and their checks. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/log.h"
#include "cli/advice.h"
#include "cli/exit.h"
#include "cli/options/view_options.h"
#include "cli/record/rows.h"
#include "cli/top/top.h"

#define INTERVAL_MIN_NS (100 * NSEC_PER_MSEC)
#define PLAIN_ROWS	20
/* the user has chosen no table (only while options are parsed) */
#define TABLE_NOT_CHOSEN LIVE_TABLES

#define FIELD(f)	 offsetof(struct top_options, f)

#define TABLE(word, table)                                                                         \
	static int set_##word(void *field, const char *value)                                      \
	{                                                                                          \
		*(enum live_table *)field = table;                                                 \
		return 0;                                                                          \
	}
TABLE(functions, LIVE_FUNCTIONS)
TABLE(lines, LIVE_LINES)
TABLE(modules, LIVE_MODULES)
TABLE(threads, LIVE_THREADS)
TABLE(processes, LIVE_PROCESSES)

static const struct option_row rows[] = {
	RECORD_ROWS_TARGETS,

	{.group = "The table",
	 .name = "functions",
	 .set = set_functions,
	 .field = FIELD(table),
	 .help = "a row for each function; this is the default"},
	{.name = "lines",
	 .set = set_lines,
	 .field = FIELD(table),
	 .help = "a row for each source line"},
	{.name = "modules",
	 .set = set_modules,
	 .field = FIELD(table),
	 .help = "a row for each module"},
	{.name = "threads",
	 .set = set_threads,
	 .field = FIELD(table),
	 .help = "a row for each thread"},
	{.name = "processes",
	 .set = set_processes,
	 .field = FIELD(table),
	 .help = "a row for each process"},
	VIEW_BY_OWN_ROW(RECORD_FIELD(view), NULL,
			"a row for each process, thread, cgroup, state of the GIL (gil; without "
			"--wall only of running threads), or value of another label"),
	{.name = "sort",
	 .letter = 's',
	 .arg = "COLUMN",
	 .set = value_string,
	 .field = FIELD(sort),
	 .initial = "own, or cpu for threads and processes",
	 .complete = "own total own-share total-share own-time total-time cpu share gil running "
		     "runnable gil-wait lock net io sleep other name",
	 .help = "own, total: share of the last 10 s, with --json of the interval; own-share, "
		 "total-share, own-time, total-time: since the start; cpu, share, gil, name; with "
		 "--wall running, runnable, gil-wait, lock, net, io, sleep, other"},
	{.name = "with-native",
	 .set = value_flag,
	 .field = FIELD(with_native),
	 .help = "rows of native and kernel functions too; without this, their time counts for "
		 "the Python function that called them (keys n and K)"},
	{.name = "value",
	 .arg = "TYPE",
	 .set = value_string,
	 .field = RECORD_FIELD(value),
	 .initial = "that of the first event",
	 .complete = "samples cpu off_cpu wall gil_wait gil_blame lock_blame",
	 .help = "with several events (-e): the value that is shown; key e shows the next one"},
	{.name = "filter",
	 .arg = "TEXT",
	 .set = value_string,
	 .field = FIELD(filter),
	 .help = "only rows with this text, in upper or lower case"},
	{.name = "interval",
	 .letter = 'i',
	 .arg = "TIME",
	 .set = value_time,
	 .field = FIELD(interval_ns),
	 .initial = "1s",
	 .help = "how long an interval is: 1, 500ms; 100ms at least"},

	VIEW_SAMPLE_ROWS(RECORD_FIELD(view)),
	VIEW_INVERT_ROW(RECORD_FIELD(view)),

	{.group = "Output",
	 .name = "times",
	 .letter = 'n',
	 .arg = "N",
	 .set = value_times,
	 .field = FIELD(times),
	 .help = "print this many intervals as text and end"},
	{.name = "json",
	 .set = value_flag,
	 .field = FIELD(json),
	 .help = "print each interval as one line of JSON"},
	{.name = "plain",
	 .set = value_flag,
	 .field = FIELD(plain),
	 .help = "print each interval as text, also on a terminal"},
	{.name = "rows",
	 .arg = "N",
	 .set = value_times,
	 .field = FIELD(rows),
	 .initial = "20 as text, all as JSON",
	 .help = "print at most this many rows"},
	RECORD_ROWS_WORDS,

	RECORD_ROWS_SAMPLING("until it is ended", "how long: 10, 10s, 500ms, 2m",
			     "999 with --pid and --, 99 for the machine"),
	{.name = "wall",
	 .set = value_flag,
	 .field = RECORD_FIELD(session.wall),
	 .help = "show all time of threads, running and waiting (-e cpu-clock -e wait), and which "
		 "threads wait for which holder of the GIL; with --threads also what each thread "
		 "waits for now"},

	RECORD_ROWS_NATIVE,

	OPTION_HELP,
	{},
};

static const struct option_refusal refused[] = {
	{"since", "top shows what happens now; krait record and krait report have --since"},
	{"until", "krait top shows what happens now; --duration ends krait top"},
	{},
};

/*
 * Chooses the table. --by process and --by thread choose the tables of processes and threads,
 * because the rows of those tables also have the ids.
 */
static int choose_table(struct top_options *o)
{
	const char *by = o->record.view.by;
	bool own = by && (streq(by, "process") || streq(by, "thread"));

	if (by && o->table != TABLE_NOT_CHOSEN)
		return err_set(-EINVAL, "--by and --%s exclude each other: each chooses the table",
			       table_word(o->table));
	if (own)
		o->table = streq(by, "process") ? LIVE_PROCESSES : LIVE_THREADS;
	else if (by)
		o->table = LIVE_BY;
	else if (o->table == TABLE_NOT_CHOSEN)
		o->table = LIVE_FUNCTIONS;
	if (own)
		o->record.view.by = NULL;
	return 0;
}

/* Names of columns that users type, and the names of these columns in krait and in JSON. */
static const char *const own_columns[][2] = {
	{"own", "self"}, {"own-share", "self-share"}, {"own-time", "self-time"}};

static bool can_sort(enum live_table table, const char *name)
{
	for (const struct table_column *c = table_columns; c->name; c++)
		if ((c->tables & TABLE_OF(table)) && streq(c->name, name))
			return true;
	return false;
}

static const struct table_column *column_of(const char *name)
{
	const struct table_column *c = table_columns;

	while (!streq(c->name, name))
		c++;
	return c;
}

/* Tells whether standard input and output are a terminal that can move its cursor. */
static bool is_interactive(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && term && !streq(term, "dumb");
}

static int check(struct top_options *o)
{
	int r = choose_table(o);

	if (r)
		return r;
	if (o->interval_ns < INTERVAL_MIN_NS)
		return err_set(-EINVAL, "--interval is too short: 100ms at least");
	if (o->json && o->plain)
		return err_set(-EINVAL, "--json and --plain exclude each other; keep one");
	for (size_t i = 0; o->sort && i < ARRAY_SIZE(own_columns); i++)
		if (streq(o->sort, own_columns[i][0]))
			o->sort = own_columns[i][1];
	if (!o->sort)
		o->sort = can_sort(o->table, "self") ? "self" : "cpu";
	if (!can_sort(o->table, o->sort))
		return err_set(-EINVAL,
			       "--sort %s: the table of %s has no such column; see `krait "
			       "top --help`",
			       o->sort,
			       o->table == LIVE_BY ? o->record.view.by : table_word(o->table));
	o->plain |= !o->json && (o->times || !is_interactive());
	if (o->plain && !o->rows)
		o->rows = PLAIN_ROWS;
	if (o->record.view.invert && (o->json || o->plain))
		return err_set(-EINVAL, "--invert turns the trees of the screen around; a printed "
					"table has none");
	r = record_options_check(&o->record);
	if (!r && column_of(o->sort)->of_waits && !session_events_wait(&o->record.events))
		return err_set(-EINVAL, "--sort %s is about what threads wait for; add --wall",
			       o->sort);
	return r;
}

static void fini(struct top_options *o)
{
	record_options_fini(&o->record);
}

static int run(const struct command *self, int argc, char **argv)
{
	_cleanup_(fini) struct top_options o = {.interval_ns = NSEC_PER_SEC,
						.table = TABLE_NOT_CHOSEN};
	struct operands operands;
	int r;

	record_options_init(&o.record);
	r = options_read(self, argc, argv, &o, &operands);
	if (r >= 0)
		return r;
	o.record.session.cmd = operands.cmd;
	r = check(&o);
	if (r) {
		log_error("%s", error_words());
		return EXIT_USAGE;
	}
	log_set_level(LOG_NOTE + MIN(o.record.verbose, 2));
	return cmd_top(&o);
}

const struct command command_top = {
	.name = "top",
	.summary = "Show live where Python programs spend their time.",
	.synopsis = (const char *const[]){"top [OPTIONS] -- COMMAND [ARGUMENT...]",
					  "top [OPTIONS] --pid PID", "top [OPTIONS]",
					  "top -n 1 --json [--sort COLUMN] [OPTIONS]", NULL},
	.examples = (const char *const[]){"krait top -p 123\twhat a program does now",
					  "krait top\tevery Python process",
					  "krait top -- python app.py\ta program from its start",
					  "krait top -n 1 --json --sort own\tone second, for a "
					  "script",
					  NULL},
	.takes_command = true,
	.rows = rows,
	.refused = refused,
	.run = run,
};
