/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait agent export`: copies what the agent recorded in a window of time into another store, for
 * another machine.
 */
#include "cli/agent/agent.h"

#include <stdio.h>

#include "base/error.h"
#include "base/system/clock.h"
#include "base/system/log.h"
#include "cli/advice.h"
#include "cli/exit.h"
#include "cli/options/window.h"

struct export_options {
	const char *store, *since, *until, *output;
};

#define FIELD(f) offsetof(struct export_options, f)
#define EVER	 "500000h" /* an age that no store reaches */

static void say(const struct export_options *o, const struct store_facts *f)
{
	char from[64], to[64];

	clock_local(f->first_ms, "%F %T", from);
	clock_local(f->last_ms, "%F %T %z", to);
	log_note("%s has %llu samples, %s to %s", o->output, (unsigned long long)f->samples, from,
		 to);
	log_note("to read them: krait report --store %s --since \"%s\"", o->output, from);
}

static int export(const struct export_options *o, const struct window *w)
{
	struct store *s = NULL;
	struct store_facts facts;
	int r = store_open(o->store, 0, &s);

	r = r ? r : store_copy(s, o->output, w->since_ms, w->until_ms, &facts);
	store_close(s);
	if (!r && !facts.samples)
		r = err_set(-ENODATA, "%s", WINDOW_EMPTY);
	if (!r)
		say(o, &facts);
	return r;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct export_options o = {.store = STORE_DIRECTORY};
	struct operands operands;
	struct window w;
	int r = options_read(self, argc, argv, &o, &operands);

	if (r >= 0)
		return r;
	if (!o.output) {
		log_error("name the directory to write to: krait agent export -o DIR");
		return EXIT_USAGE;
	}
	if (window_options(o.since ? o.since : EVER, o.until, &w)) {
		log_error("%s", error_words());
		return EXIT_USAGE;
	}
	window_say(&w);
	if (!export(&o, &w))
		return EXIT_DONE;
	log_error("%s", error_words());
	return EXIT_FAILED;
}

static const struct option_row rows[] = {
	AGENT_ROW_STORE("The store", FIELD(store)),
	{.group = "What is copied",
	 .name = "since",
	 .arg = "TIME",
	 .set = value_string,
	 .field = FIELD(since),
	 .help = "from this time on: 10m ago, 03:00, \"2026-03-01 03:00+01:00\", or a window "
		 "03:00..03:10 (default: everything)"},
	{.name = "until",
	 .arg = "TIME",
	 .set = value_string,
	 .field = FIELD(until),
	 .help = "up to this time (default: now)"},
	{.group = "Output",
	 .name = "output",
	 .letter = 'o',
	 .arg = "DIR",
	 .set = value_string,
	 .field = FIELD(output),
	 .complete = COMPLETE_FILE,
	 .help = "the directory to make; it becomes a store, which --store reads on any machine"},
	OPTION_HELP,
	{},
};

const struct command command_agent_export = {
	.name = "agent export",
	.summary = "Copy what was recorded in a window into a directory of its own.",
	.synopsis =
		(const char *const[]){"agent export [--since TIME] [--until TIME] -o DIR", NULL},
	.examples = (const char *const[]){"krait agent export --since 1h -o incident\t"
					  "the last hour, to be sent and read elsewhere",
					  NULL},
	.rows = rows,
	.run = run,
};
