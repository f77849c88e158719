/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's configuration: it comes from /etc/krait/agent.conf, the files in agent.conf.d, and
 * the command line of `krait agent run`. `krait agent check` takes the same options, and says where
 * each setting comes from.
 */
#ifndef CLI_AGENT_OPTIONS_H
#define CLI_AGENT_OPTIONS_H

#include "cli/config/config.h"
#include "cli/options/values.h"
#include "cli/record/rows.h"
#include "store/store.h"

#define AGENT_CONFIG "/etc/krait/agent.conf"
/* if root runs the agent, the store may also belong to the user of this name */
#define AGENT_USER "krait"

struct agent_run_options {
	/*
	 * must be the first member, because the rows of record's option table (rows.h) point into
	 * it
	 */
	struct record_options record;
	const char *store;
	uint64_t max_bytes;
	uint32_t max_cpu_ppm;
	/* values of --pin-cpu and --pin-wait, in millionths; 0: the option isn't given */
	uint64_t pin_cpu_ppm, pin_wait_ppm;
	bool pin_failures;
	const char *on_trigger;
	/*
	 * value of --config: the file that is read instead of AGENT_CONFIG; NULL: the option isn't
	 * given
	 */
	const char *config;
	bool print; /* option --print of `krait agent check` */
	/* values of --count-function: functions whose CPU time is counted for Prometheus */
	VEC(const char *) functions;
};

void agent_options_init(struct agent_run_options *o);
void agent_options_fini(struct agent_run_options *o);

/*
 * Reads the configuration files and the command line into @o, and checks the options. @c must be
 * initialised, and owns the texts to which @o points. Returns 0; OPTIONS_HELP_ASKED; -EINVAL: @c
 * has the faults; or -ENOMEM + message.
 */
_must_use_ int agent_options_load(struct config *c, const struct command *self, int argc,
				  char **argv, struct agent_run_options *o);

/*
 * For the run() of a command: calls agent_options_load(), and prints the help or the faults.
 * Returns -1 if the command is to go on, else the exit code.
 */
_must_use_ int agent_options_read(struct config *c, const struct command *self, int argc,
				  char **argv, struct agent_run_options *o);

/* an option_set_fn: parses a size of the store, and sets a uint64_t to it, in bytes */
int agent_value_size(void *field, const char *text);
/*
 * an option_set_fn: parses a percentage from 1 to 1,000,000, and sets a uint64_t to it, in
 * millionths
 */
int agent_value_share(void *field, const char *text);
/* an option_set_fn: sets a const char * to the path of a program, which must begin with / */
int agent_value_program(void *field, const char *text);

#define AGENT_FIELD(f) offsetof(struct agent_run_options, f)

/* clang-format off */
#define AGENT_ROWS                                                                                 \
	{.group = "The store",                                                                     \
	 .name = "store",                                                                          \
	 .arg = "DIR",                                                                             \
	 .set = value_string,                                                                      \
	 .field = AGENT_FIELD(store),                                                              \
	 .initial = STORE_DIRECTORY,                                                               \
	 .complete = COMPLETE_FILE,                                                                \
	 .help = "the directory to record into; made if it isn't there"},                          \
	{.name = "max-size",                                                                       \
	 .arg = "SIZE",                                                                            \
	 .set = agent_value_size,                                                                  \
	 .field = AGENT_FIELD(max_bytes),                                                          \
	 .initial = "1G",                                                                          \
	 .help = "size limit of the store, at least 32M; the oldest samples are removed first"},   \
	{.name = "count-function",                                                                 \
	 .arg = "NAME",                                                                            \
	 .set = value_strings,                                                                     \
	 .field = AGENT_FIELD(functions),                                                          \
	 .help = "count this function's CPU time for Prometheus; NAME is as in reports, such "     \
		 "as shop.cart.total; may be given up to 50 times"},                               \
	RECORD_ROWS_CHOSEN("Targets (none of them = every Python process on the machine)"),        \
	RECORD_ROW_ALL,                                                                            \
	{.group = "Sampling",                                                                      \
	 .name = "frequency",                                                                      \
	 .letter = 'F',                                                                            \
	 .in_file = OPTION_LIVE,                                                                   \
	 .arg = "HZ",                                                                              \
	 .set = value_frequency,                                                                   \
	 .field = RECORD_FIELD(session.freq_hz),                                                   \
	 .initial = "99",                                                                          \
	 .help = "samples a second of CPU time"},                                                  \
	{.name = "wall",                                                                           \
	 .set = value_flag,                                                                        \
	 .field = RECORD_FIELD(session.wall),                                                      \
	 .help = "record where threads run and what they wait for"},                               \
	RECORD_ROW_WAIT_BUDGET,                                                                    \
	{.name = "max-cpu",                                                                        \
	 .arg = "PERCENT",                                                                         \
	 .in_file = OPTION_LIVE,                                                                   \
	 .set = value_budget,                                                                      \
	 .field = AGENT_FIELD(max_cpu_ppm),                                                        \
	 .initial = "1",                                                                           \
	 .help = "the most of one CPU's time that the agent itself may take, from 0.1 to 100; "    \
		 "above that, it halves its sampling rate and --wait-budget until it takes less"}, \
	{.name = "pin-cpu",                                                                        \
	 .arg = "PERCENT",                                                                         \
	 .set = agent_value_share,                                                                 \
	 .field = AGENT_FIELD(pin_cpu_ppm),                                                        \
	 .help = "pin the time in which a service, or a program outside of any service, "          \
		 "takes more than PERCENT of one CPU for 10 s; 250 is two and a half CPUs"},       \
	{.name = "pin-wait",                                                                       \
	 .arg = "PERCENT",                                                                         \
	 .set = agent_value_share,                                                                 \
	 .field = AGENT_FIELD(pin_wait_ppm),                                                       \
	 .help = "pin the time in which a service's threads together wait more than PERCENT "      \
		 "of one thread's time for 10 s; waits for work don't count; needs --wall"},       \
	{.name = "pin-failures",                                                                   \
	 .set = value_flag,                                                                        \
	 .field = AGENT_FIELD(pin_failures),                                                       \
	 .help = "pin the time when a process ends with an error: with a status other than 0, or " \
		 "by a signal other than SIGTERM, SIGINT and SIGHUP; needs --wall"},               \
	{.name = "on-trigger",                                                                     \
	 .arg = "PROGRAM",                                                                         \
	 .set = agent_value_program,                                                               \
	 .field = AGENT_FIELD(on_trigger),                                                         \
	 .complete = COMPLETE_FILE,                                                                \
	 .help = "run this program, without rights, when a window of time is pinned; its "         \
		 "arguments are the trigger's name, the reason in words, and the window as "       \
		 "`krait last` takes one"},                                                        \
	RECORD_ROW_IDLE_AT,                                                                        \
	RECORD_ROW_NATIVE(NULL),                                                                   \
	RECORD_ROW_SERVICE_FROM("none"),                                                           \
	{.name = "add-label",                                                                      \
	 .arg = "KEY=VALUE",                                                                       \
	 .set = value_label,                                                                       \
	 .field = RECORD_FIELD(session.labels),                                                    \
	 .help = "write this label to every sample; may be repeated"},                             \
	{.group = "Conduct",                                                                       \
	 .name = "verbose",                                                                        \
	 .letter = 'v',                                                                            \
	 .in_file = OPTION_LIVE,                                                                   \
	 .set = value_more,                                                                        \
	 .field = RECORD_FIELD(verbose),                                                           \
	 .help = "print more messages; -vv prints all"},                                           \
	{.name = "quiet",                                                                          \
	 .letter = 'q',                                                                            \
	 .in_file = OPTION_LIVE,                                                                   \
	 .set = value_flag,                                                                        \
	 .field = RECORD_FIELD(quiet),                                                             \
	 .help = "only warnings and errors"},                                                      \
	VALUE_COLOR_ROW(RECORD_FIELD(color))
/* clang-format on */

#endif
