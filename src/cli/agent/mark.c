/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `krait agent mark TEXT`: makes the agent keep the samples of the minutes around now (pin them).
 */
#include "cli/agent/agent.h"

#include <stdio.h>

#include "base/error.h"
#include "base/nomem.h"
#include "base/system/log.h"
#include "cli/advice.h"
#include "cli/exit.h"
#include "cli/options/values.h"
#include "cli/options/window.h"
#include "query/ask.h"
#include "store/pins/marks.h"

struct mark_options {
	const char *store, *socket;
};

#define FIELD(f) offsetof(struct mark_options, f)

/*
 * Sends the mark (a request to keep the samples of the time around now) to the server of queries,
 * which has the right to pass it on to the agent.
 */
static int ask_server(const char *socket, const char *text, struct pin *ret)
{
	_cleanup_(query_fini) struct query q = {.kind = QUERY_MARK, .words = text};
	_cleanup_(pins_fini) struct pins pins = {};
	_cleanup_str_ struct str body = {};
	int r = ask(socket, &q, &body);

	r = r ? r : pins_read(&pins, str_cstr(&body));
	if (!r && pins.list.n != 1)
		r = err_set(-EPROTO, "the server that answered isn't krait's agent");
	if (!r)
		*ret = pins.list.v[0];
	return r;
}

static int mark(const struct mark_options *o, const char *text, struct pin *ret)
{
	int r = marks_send(o->store, text, ret);

	/* the server at the default socket answers for the agent's own store only */
	if (r != -EACCES || (!o->socket && !streq(o->store, STORE_DIRECTORY)))
		return r;
	return ask_server(o->socket ? o->socket : QUERY_SOCKET, text, ret);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct mark_options o = {.store = STORE_DIRECTORY};
	struct operands operands;
	struct pin pin;
	int r = options_read(self, argc, argv, &o, &operands);

	if (r >= 0)
		return r;
	if (!operands.operand) {
		log_error("say what happened: krait agent mark \"deploy 1.2.3\"");
		return EXIT_USAGE;
	}
	r = mark(&o, operands.operand, &pin);
	if (r) {
		log_error("%s", error_words());
		return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	window_say(&(struct window){pin.since_ms, pin.until_ms, true});
	log_note("this moment is pinned: krait last --pin %lld shows it", (long long)pin.id);
	return EXIT_DONE;
}

static const struct option_row rows[] = {
	AGENT_ROW_STORE("The agent", FIELD(store)),
	{.name = "socket",
	 .arg = "PATH",
	 .set = value_string,
	 .field = FIELD(socket),
	 .initial = QUERY_SOCKET,
	 .complete = COMPLETE_FILE,
	 .help = "ask the server at this socket if the store can't be read"},
	OPTION_HELP,
	{},
};

const struct command command_agent_mark = {
	.name = "agent mark",
	.summary = "Keep the minute before and after this moment, and say what happened.",
	.synopsis = (const char *const[]){"agent mark [OPTIONS] TEXT", NULL},
	.examples =
		(const char *const[]){"krait agent mark \"deploy 1.2.3\"\tkeep two minutes", NULL},
	.rows = rows,
	.operand = "TEXT",
	.run = run,
};
