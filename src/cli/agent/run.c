/* SPDX-License-Identifier: BSD-2-Clause */
/* `krait agent run`: records into the store until a signal ends it. */
#include <errno.h>

#include "agent/agent.h"
#include "base/error.h"
#include "base/system/clock.h"
#include "base/system/log.h"
#include "cli/advice.h"
#include "cli/agent/agent.h"
#include "cli/agent/options.h"
#include "cli/exit.h"
#include "cli/record/fail.h"
#include "host/users.h"
#include "record/command/signals.h"

/* how many messages of the same kind are printed in a minute; others are dropped */
#define LINES_A_MINUTE 10

/*
 * Starts the agent's writer, a process of its own, before everything else. So it is forked while
 * krait has no threads, open files and kernel programs.
 */
static int begin(struct session *s, const struct agent_options *o, struct agent **ret)
{
	int r = agent_begin(s, o, ret);

	if (r)
		return r;
	agent_confine(*ret);
	r = caller_find(&s->caller);
	r = r ? r : session_set_up(s);
	/*
	 * only the writer writes files, so this process doesn't need root's rights over other
	 * users' files
	 */
	r = r ? r : rights_drop(true);
	r = r ? r : session_start(s);
	agent_confine_loaded(*ret);
	return r;
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

/*
 * What is needed to read the configuration again after a SIGHUP: the command line of the start, and
 * where the options are.
 */
struct reload {
	const struct command *self;
	int argc;
	char **argv;
	struct agent_run_options *o; /* the options that are in force */
	struct config *c;	     /* knows in which file each option in force was set */
	struct agent_options *agent; /* the part of the options in force that agent.c reads */
};

static void say_restart(void *ctx, const struct option_row *row)
{
	if (row->in_file == OPTION_RESTART)
		log_warn("the new value of %s takes effect when the agent is started again",
			 row->name);
}

/* Copies the options that can change while the agent runs. */
static void take_over(const struct agent_run_options *from, struct agent_run_options *to)
{
	to->record.verbose = from->record.verbose;
	to->record.session.freq_hz = from->record.session.freq_hz;
	to->record.session.wait_budget_ppm = from->record.session.wait_budget_ppm;
	to->max_cpu_ppm = from->max_cpu_ppm;
	log_set_level(LOG_NOTE + MIN(to->record.verbose, 2));
}

/*
 * Reads the configuration again. If it has a fault, the old configuration stays in force as a
 * whole.
 */
static void reload(void *ctx)
{
	_cleanup_(agent_options_fini) struct agent_run_options o;
	_cleanup_(config_fini) struct config c;
	struct reload *l = ctx;

	agent_options_init(&o);
	if (agent_options_load(&c, l->self, l->argc, l->argv, &o)) {
		config_say_faults(&c);
		log_error("the new configuration is wrong, so the agent goes on with the old one");
		return;
	}
	take_over(&o, l->o);
	l->agent->max_cpu_ppm = o.max_cpu_ppm;
	config_changes(l->c, &c, say_restart, NULL);
	log_note("the configuration was read again");
}

static int agent(struct agent_run_options *o, struct reload *l)
{
	struct agent_options agent = {.session = &o->record.session,
				      .store = o->store,
				      .max_bytes = o->max_bytes,
				      .max_cpu_ppm = o->max_cpu_ppm,
				      .pin_cpu_ppm = o->pin_cpu_ppm,
				      .pin_wait_ppm = o->pin_wait_ppm,
				      .pin_failures = o->pin_failures,
				      .on_trigger = o->on_trigger,
				      .functions = o->functions.v,
				      .n_functions = o->functions.n,
				      .reload = reload,
				      .reload_ctx = l};
	struct session s;
	int code;

	l->agent = &agent;
	if (users_ids(AGENT_USER, &agent.user, &agent.group))
		agent.user = 0;
	log_set_level(LOG_NOTE + MIN(o->record.verbose, 2));
	log_limit(LINES_A_MINUTE, 60 * NSEC_PER_SEC);
	session_init(&s, &o->record.session);
	session_bound_init(&s);
	signals_take();
	signals_take_reload();
	signals_take_usr1();
	code = record(&s, &agent, o->record.color);
	session_end_sampling(&s);
	session_fini(&s);
	return fail_exit_code(&s, code);
}

static int run(const struct command *self, int argc, char **argv)
{
	_cleanup_(agent_options_fini) struct agent_run_options o;
	_cleanup_(config_fini) struct config c;
	struct reload l = {self, argc, argv, &o, &c, NULL};
	int r;

	agent_options_init(&o);
	r = agent_options_read(&c, self, argc, argv, &o);
	return r < 0 ? agent(&o, &l) : r;
}

static const struct option_row rows[] = {
	CONFIG_ROW(AGENT_FIELD(config), AGENT_CONFIG),
	AGENT_ROWS,
	OPTION_HELP,
	{},
};

const struct command command_agent_run = {
	.name = "agent run",
	.summary = "Record until a signal, every Python process by default.",
	.synopsis = (const char *const[]){"agent run [OPTIONS]", NULL},
	.examples = (const char *const[]){"krait agent run --wall\trecord all the time", NULL},
	.rows = rows,
	.run = run,
};
