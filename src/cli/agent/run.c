/* SPDX-License-Identifier: BSD-2-Clause */
/* `krait agent run`: records until a signal, into the store. */
#include <errno.h>

#include "agent/agent.h"
#include "base/error.h"
#include "base/system/log.h"
#include "cli/advice.h"
#include "cli/agent/agent.h"
#include "cli/exit.h"
#include "cli/options/values.h"
#include "cli/record/fail.h"
#include "cli/record/rows.h"
#include "record/command/signals.h"

struct run_options {
	struct record_options record; /* first, for the rows of rows.h */
	const char *store;
	uint64_t max_bytes;
};

#define FIELD(f)      offsetof(struct run_options, f)
#define DEFAULT_BYTES ((uint64_t)1 << 30)

/* A size of the store. */
static int value_store_size(void *field, const char *text)
{
	static const char letters[] = "KMGT";
	char *end;
	double n = strtod(text, &end);
	const char *letter = *end ? strchr(letters, *end) : NULL;

	if (letter && !end[1])
		for (const char *l = letters; l <= letter; l++)
			n *= 1024;
	if (end == text || (*end && (!letter || end[1])) || !(n >= (double)STORE_LEAST_BYTES) ||
	    n > (double)(1ull << 50))
		return err_set(-EINVAL, "'%s' is not a size from 32M on; write 500M, 1G or 20G",
			       text);
	*(uint64_t *)field = (uint64_t)n;
	return 0;
}

static const struct option_row rows[] = {
	{.group = "The store",
	 .name = "store",
	 .arg = "DIR",
	 .set = value_string,
	 .field = FIELD(store),
	 .initial = STORE_DIRECTORY,
	 .complete = COMPLETE_FILE,
	 .help = "the directory to record into; made if it isn't there"},
	{.name = "max-size",
	 .arg = "SIZE",
	 .set = value_store_size,
	 .field = FIELD(max_bytes),
	 .initial = "1G",
	 .help = "the most that the store may take, from 32M on; what is oldest goes first"},
	RECORD_ROWS_CHOSEN("Targets (none of them = every Python process on the machine)"),
	RECORD_ROW_ALL,
	{.group = "Sampling",
	 .name = "frequency",
	 .letter = 'F',
	 .arg = "HZ",
	 .set = value_frequency,
	 .field = RECORD_FIELD(session.freq_hz),
	 .initial = "99",
	 .help = "samples a second of CPU time"},
	{.name = "wall",
	 .set = value_flag,
	 .field = RECORD_FIELD(session.wall),
	 .help = "record where threads run and what they wait for"},
	RECORD_ROW_WAIT_BUDGET,
	RECORD_ROW_IDLE_AT,
	RECORD_ROW_NATIVE(NULL),
	{.name = "add-label",
	 .arg = "KEY=VALUE",
	 .set = value_label,
	 .field = RECORD_FIELD(session.labels),
	 .help = "write this label to every sample; may be repeated"},
	{.group = "Conduct",
	 .name = "verbose",
	 .letter = 'v',
	 .set = value_more,
	 .field = RECORD_FIELD(verbose),
	 .help = "say more; -vv says everything"},
	VALUE_QUIET_ROW(RECORD_FIELD(quiet), NULL),
	VALUE_COLOR_ROW(RECORD_FIELD(color)),
	OPTION_HELP,
	{},
};

/* Starts the writer first: it is forked before krait has threads, files and programs of its own. */
static int begin(struct session *s, const struct agent_options *o, struct agent **ret)
{
	int r = agent_begin(s, o, ret);

	r = r ? r : caller_find(&s->caller);
	r = r ? r : session_set_up(s);
	r = r ? r : rights_drop(s->caller.other);
	return r ? r : session_start(s);
}

static int record(struct session *s, const struct agent_options *o, enum color_mode color)
{
	struct agent *a = NULL;
	int r = session_check_permitted(s), stopped;

	if (r)
		return fail_refused(s, color, EXIT_RIGHTS);
	r = begin(s, o, &a);
	if (!r) {
		log_note("recording into %s; Ctrl-C or SIGTERM ends it", o->store);
		r = agent_run(a);
		stopped = session_stop(s);
		r = r ? r : stopped;
	}
	r = a ? agent_end(a, r) : r;
	return r ? fail(s, fail_code(r)) : EXIT_DONE;
}

static int agent(const struct run_options *o)
{
	struct agent_options agent = {&o->record.session, o->store, o->max_bytes};
	struct session s;
	int code;

	session_init(&s, &o->record.session);
	session_bound_init(&s);
	signals_take();
	code = record(&s, &agent, o->record.color);
	session_end_sampling(&s);
	session_fini(&s);
	return fail_exit_code(&s, code);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct run_options o = {.store = STORE_DIRECTORY, .max_bytes = DEFAULT_BYTES};
	struct operands operands;
	int r;

	record_options_init(&o.record);
	r = options_read(self, argc, argv, &o, &operands);
	if (r < 0 && record_options_check(&o.record)) {
		log_error("%s", error_words());
		r = EXIT_USAGE;
	}
	log_set_level(LOG_NOTE + MIN(o.record.verbose, 2));
	if (r < 0)
		r = agent(&o);
	record_options_fini(&o.record);
	return r;
}

const struct command command_agent_run = {
	.name = "agent run",
	.summary = "Record until a signal, every Python process by default.",
	.synopsis = (const char *const[]){"agent run [OPTIONS]", NULL},
	.examples = (const char *const[]){"krait agent run --wall\trecord all the time", NULL},
	.rows = rows,
	.run = run,
};
