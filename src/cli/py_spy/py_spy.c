/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of `krait py-spy`, parsed as py-spy 0.4 does it (src/config.rs). */
#include "cli/py_spy/py_spy.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/error.h"
#include "base/system/log.h"
#include "base/nomem.h"
#include "cli/advice.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/options/help.h"
#include "cli/options/values.h"

#define RATE_HZ 100
/* without "--" on the command line, a program may have at most this many words */
#define MAX_WORDS 4096

static int set_pid(void *field, const char *text)
{
	bool hex = str_starts(text, "0x") || str_starts(text, "0X");
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, hex ? 16 : 10);
	if (errno || end == text || *end || pid <= 0 || pid > INT32_MAX)
		return err_set(-EINVAL, "'%s' is not a process id", text);
	*(pid_t *)field = (pid_t)pid;
	return 0;
}

static int set_duration(void *field, const char *text)
{
	if (streq(text, "unlimited"))
		*(uint64_t *)field = 0;
	else if (streq(text, "0"))
		*(uint64_t *)field = PY_SPY_NO_TIME;
	else
		return value_duration(field, text);
	return 0;
}

static int set_format(void *field, const char *text)
{
	static const char *const names[] = {[PY_SPY_FLAMEGRAPH] = "flamegraph",
					    [PY_SPY_RAW] = "raw",
					    [PY_SPY_SPEEDSCOPE] = "speedscope",
					    [PY_SPY_CHROMETRACE] = "chrometrace"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcasecmp(text, names[i])) {
			*(enum py_spy_format *)field = (enum py_spy_format)i;
			return 0;
		}
	return err_set(-EINVAL,
		       "'%s' is not a format; write flamegraph, raw, speedscope or chrometrace",
		       text);
}

#define FIELD(f) offsetof(struct py_spy_options, f)

/* clang-format would format the rows of a table in a macro as statements: it is off here. */
/* clang-format off */
#define ROW_PID                                                                                    \
	{.group = "Options", .name = "pid", .letter = 'p', .arg = "PID", .set = set_pid,           \
	 .complete = COMPLETE_PROCESS, .help = "the process, in decimal or hex"}
#define ROW_FILENAMES                                                                              \
	{.name = "full-filenames", .set = value_flag, .field = FIELD(full_filenames),              \
	 .help = "show whole paths of files, not only the part from the package on"}
#define ROW_SUBPROCESSES                                                                           \
	{.name = "subprocesses", .letter = 's', .set = value_flag, .field = FIELD(subprocesses),   \
	 .help = "record its child processes too"}
#define ROW_NATIVE                                                                                 \
	{.name = "native", .letter = 'n', .set = value_flag, .field = FIELD(native),               \
	 .help = "native frames too"}
#define ROW_NONBLOCKING                                                                            \
	{.name = "nonblocking", .set = value_flag, .field = FIELD(ignored),                        \
	 .help = "changes nothing: krait never stops a process"}
#define ROW_RATE                                                                                   \
	{.name = "rate", .letter = 'r', .arg = "HZ", .set = value_frequency,                       \
	 .field = FIELD(rate_hz), .initial = "100", .help = "samples per second of CPU time"}
#define ROWS_WHICH                                                                                 \
	{.name = "gil", .letter = 'g', .set = value_flag, .field = FIELD(gil),                     \
	 .help = "samples of threads that hold the GIL only"},                                     \
	{.name = "idle", .letter = 'i', .set = value_flag, .field = FIELD(idle),                   \
	 .help = "changes nothing: krait samples running threads; `krait py-spy dump` shows "      \
		 "those that wait"}
/* clang-format on */

static const struct option_row record_rows[] = {
	ROW_PID,
	ROW_FILENAMES,
	{.name = "output",
	 .letter = 'o',
	 .arg = "FILE",
	 .set = value_string,
	 .field = FIELD(output),
	 .initial = "PID-TIME.svg, .txt or .json",
	 .complete = COMPLETE_FILE,
	 .help = "where to write"},
	{.name = "format",
	 .letter = 'f',
	 .arg = "FORMAT",
	 .set = set_format,
	 .field = FIELD(format),
	 .initial = "flamegraph",
	 .complete = "flamegraph raw speedscope chrometrace",
	 .help = "flamegraph, raw, speedscope or chrometrace"},
	{.name = "duration",
	 .letter = 'd',
	 .arg = "SECONDS",
	 .set = set_duration,
	 .field = FIELD(duration_ns),
	 .initial = "unlimited",
	 .help = "how long to record; a program that krait started is killed then"},
	ROW_RATE,
	ROW_SUBPROCESSES,
	{.name = "function",
	 .letter = 'F',
	 .set = value_flag,
	 .field = FIELD(function),
	 .help = "the first line of functions instead of the line that runs"},
	{.name = "nolineno", .set = value_flag, .field = FIELD(nolineno), .help = "no lines"},
	{.name = "threads",
	 .letter = 't',
	 .set = value_flag,
	 .field = FIELD(threads),
	 .help = "an outermost frame for each thread"},
	ROWS_WHICH,
	{.name = "capture",
	 .set = value_flag,
	 .field = FIELD(capture),
	 .help = "changes only the prefix of krait's lines; the program's output is always shown"},
	{.name = "hideprogress",
	 .set = value_flag,
	 .field = FIELD(hideprogress),
	 .help = "no progress line"},
	ROW_NATIVE,
	ROW_NONBLOCKING,
	OPTION_HELP,
	{},
};

static const struct option_row top_rows[] = {
	ROW_PID,
	ROW_RATE,
	ROW_SUBPROCESSES,
	{.name = "full-filenames",
	 .set = value_flag,
	 .field = FIELD(ignored),
	 .help = "changes nothing: names of files are as in `krait top`"},
	ROWS_WHICH,
	{.name = "delay",
	 .arg = "SECONDS",
	 .set = value_duration,
	 .field = FIELD(delay_ns),
	 .initial = "1.0",
	 .help = "how long an interval is"},
	ROW_NATIVE,
	ROW_NONBLOCKING,
	OPTION_HELP,
	{},
};

static const struct option_row dump_rows[] = {
	ROW_PID,
	ROW_FILENAMES,
	{.name = "locals",
	 .letter = 'l',
	 .set = value_more,
	 .field = FIELD(locals),
	 .help = "changes nothing: krait doesn't read local variables"},
	{.name = "json", .letter = 'j', .set = value_flag, .field = FIELD(json), .help = "as JSON"},
	ROW_SUBPROCESSES,
	ROW_NATIVE,
	ROW_NONBLOCKING,
	OPTION_HELP,
	{},
};

static const struct option_refusal dump_refused[] = {
	{"core", "krait reads running processes, no core files"},
	{},
};

int py_spy_exit_code(int code)
{
	switch (code) {
	case EXIT_RIGHTS:
	case EXIT_NOT_FOUND:
	case EXIT_NOT_RUNNABLE:
		return EXIT_FAILED;
	default:
		return code;
	}
}

/*
 * Makes a NULL-terminated list of the words of the program to run: those after "--" or, without
 * "--", the operands.
 */
static int take_program(const struct operands *operands, struct py_spy_options *o, char ***ret)
{
	o->program = operands->cmd;
	if (!operands->n || operands->cmd)
		return 0;
	o->program = *ret = calloc(operands->n + 1, sizeof(**ret));
	if (!*ret)
		return err_nomem();
	memcpy(*ret, operands->words, operands->n * sizeof(**ret));
	return 0;
}

static int check(const struct py_spy_options *o, const struct operands *operands)
{
	if (!o->pid && !o->program)
		return err_set(-EINVAL, "which process? Give it with --pid");
	if (operands->cmd && operands->n)
		return err_set(-EINVAL, "'%s' before -- is one word too many", operands->operand);
	if (o->pid && o->program)
		return err_set(
			-EINVAL,
			"--pid and a program exclude each other; record them one after the other");
	if (o->nolineno && o->function)
		return err_set(-EINVAL, "--function and --nolineno exclude each other; keep one");
	return 0;
}

static void warn(const struct py_spy_options *o)
{
	if (o->idle)
		log_warn("--idle has no effect: krait samples only threads that run; "
			 "`krait py-spy dump` also shows threads that wait");
	if (o->locals)
		log_warn("--locals has no effect: krait doesn't read local variables");
}

static int run_one(const struct command *c, int argc, char **argv,
		   int (*fn)(const struct py_spy_options *o))
{
	struct py_spy_options o = {.rate_hz = RATE_HZ, .delay_ns = NSEC_PER_SEC};
	struct operands operands;
	char **words = NULL;
	int r = options_read(c, argc, argv, &o, &operands);

	if (r >= 0)
		return r;
	r = take_program(&operands, &o, &words);
	r = r ? r : check(&o, &operands);
	if (r) {
		log_error("%s", error_words());
	} else {
		warn(&o);
		r = py_spy_exit_code(fn(&o));
	}
	free(words);
	return r < 0 ? EXIT_USAGE : r;
}

static int run_record(const struct command *c, int argc, char **argv)
{
	return run_one(c, argc, argv, py_spy_record);
}

static int run_top(const struct command *c, int argc, char **argv)
{
	return run_one(c, argc, argv, py_spy_top);
}

static int run_dump(const struct command *c, int argc, char **argv)
{
	return run_one(c, argc, argv, py_spy_dump);
}

static const struct command parts[] = {
	{.name = "py-spy record",
	 .summary = "Record a program as py-spy does.",
	 .synopsis =
		 (const char *const[]){"py-spy record [OPTIONS] --pid PID",
				       "py-spy record [OPTIONS] -- PROGRAM [ARGUMENT...]", NULL},
	 .rows = record_rows,
	 .operand = "PROGRAM",
	 .max_operands = MAX_WORDS,
	 .takes_command = true,
	 .run = run_record},
	{.name = "py-spy top",
	 .summary = "What a program does now, in krait's own table.",
	 .synopsis = (const char *const[]){"py-spy top [OPTIONS] --pid PID",
					   "py-spy top [OPTIONS] -- PROGRAM [ARGUMENT...]", NULL},
	 .rows = top_rows,
	 .operand = "PROGRAM",
	 .max_operands = MAX_WORDS,
	 .takes_command = true,
	 .run = run_top},
	{.name = "py-spy dump",
	 .summary = "The stacks of all Python threads of a process as py-spy prints them.",
	 .synopsis = (const char *const[]){"py-spy dump [OPTIONS] --pid PID", NULL},
	 .rows = dump_rows,
	 .refused = dump_refused,
	 .run = run_dump},
};

#define PREFIX strlen("py-spy ")

/* Finds a command by the beginning of its name, which is enough for py-spy too. */
static const struct command *part_by_word(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (*word && str_starts(parts[i].name + PREFIX, word))
			return &parts[i];
	return NULL;
}

static void help(FILE *out)
{
	fputs("Usage: krait py-spy COMMAND [OPTIONS]\n\n"
	      "Runs py-spy's commands with krait. Commands:\n",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		fprintf(out, "  %-10s %s\n", parts[i].name + PREFIX, parts[i].summary);
	fputs("\n`krait py-spy COMMAND --help` lists the options, `man krait` says what differs.\n",
	      out);
}

static int run(const struct command *self, int argc, char **argv)
{
	const struct command *part;

	if (!argc) {
		help(stderr);
		return EXIT_USAGE;
	}
	if (streq(argv[0], "-V") || streq(argv[0], "--version"))
		return command_version.run(&command_version, argc - 1, argv + 1);
	part = part_by_word(streq(argv[0], "help") && argc > 1 ? argv[1] : argv[0]);
	if (part && streq(argv[0], "help")) {
		help_command(stdout, part);
		return EXIT_DONE;
	}
	if (part)
		return part->run(part, argc - 1, argv + 1);
	if (streq(argv[0], "help") || streq(argv[0], "-h") || streq(argv[0], "--help")) {
		help(stdout);
		return EXIT_DONE;
	}
	log_error("krait py-spy has no command '%s'; there are record, top and dump", argv[0]);
	return EXIT_USAGE;
}

static const struct option_row no_options[] = {OPTION_HELP, {}};

const struct command command_py_spy = {
	.name = "py-spy",
	.summary = "Do what py-spy would, for programs that call it: record, top, dump.",
	.synopsis = (const char *const[]){"py-spy record|top|dump [OPTIONS]", NULL},
	.examples = (const char *const[]){"krait py-spy dump --pid 123\tas py-spy prints it",
					  "krait py-spy record -d 10 -f raw -o r.txt --pid 123\t"
					  "raw, flamegraph, speedscope or chrometrace",
					  NULL},
	.rows = no_options,
	.operand = "COMMAND",
	.run = run,
};
