/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the agent's configuration; see options.h. */
#include "cli/agent/options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/log.h"
#include "cli/advice.h"
#include "cli/exit.h"
#include "cli/options/help.h"

#define DEFAULT_BYTES	((uint64_t)1 << 30)
#define MOST_BYTES	((uint64_t)1 << 50)
#define DEFAULT_CPU_PPM 10000
#define MOST_PERCENT	1000000
#define PPM_PERCENT	10000

int agent_value_size(void *field, const char *text)
{
	uint64_t n;

	if (value_scaled(text, 1024, MOST_BYTES, &n) || n < STORE_LEAST_BYTES)
		return err_set(-EINVAL, "'%s' is not a size from 32M on; write 500M, 1G or 20G",
			       text);
	*(uint64_t *)field = n;
	return 0;
}

int agent_value_share(void *field, const char *text)
{
	uint64_t percent;

	if (value_scaled(text, 1000, MOST_PERCENT, &percent) || !percent)
		return err_set(-EINVAL,
			       "'%s' is not a percentage; write 80, or 250 for two and a half CPUs "
			       "or threads",
			       text);
	*(uint64_t *)field = percent * PPM_PERCENT;
	return 0;
}

int agent_value_program(void *field, const char *text)
{
	if (*text != '/')
		return err_set(-EINVAL, "'%s' isn't the path of a program from / on", text);
	if (access(text, X_OK))
		return err_set(-EINVAL, "'%s' can't be run: %s", text, strerror(errno));
	*(const char **)field = text;
	return 0;
}

void agent_options_init(struct agent_run_options *o)
{
	*o = (struct agent_run_options){.store = STORE_DIRECTORY,
					.max_bytes = DEFAULT_BYTES,
					.max_cpu_ppm = DEFAULT_CPU_PPM};
	record_options_init(&o->record);
	/* this label lets the server of queries decide which samples a user may see */
	o->record.session.users = true;
	o->record.session.seldom = true;
}

void agent_options_fini(struct agent_run_options *o)
{
	vec_fini(&o->functions);
	record_options_fini(&o->record);
}

static int check_pins(const struct agent_run_options *o)
{
	if (o->record.session.wall)
		return 0;
	if (o->pin_wait_ppm)
		return err_set(-EINVAL, "--pin-wait is about waits; add --wall");
	if (o->pin_failures)
		return err_set(-EINVAL, "--pin-failures needs --wall: only a recording of waits "
					"sees how processes end");
	return 0;
}

int agent_options_load(struct config *c, const struct command *self, int argc, char **argv,
		       struct agent_run_options *o)
{
	struct operands operands;
	int r;

	config_init(c, self, o);
	r = config_load(c, AGENT_CONFIG, argc, argv, &operands);
	if (!r && (record_options_check(&o->record) || check_pins(o)))
		r = config_blame(c);
	return r;
}

int agent_options_read(struct config *c, const struct command *self, int argc, char **argv,
		       struct agent_run_options *o)
{
	int r = agent_options_load(c, self, argc, argv, o);

	if (!r)
		return -1;
	if (r == OPTIONS_HELP_ASKED) {
		help_command(stdout, self);
		return EXIT_DONE;
	}
	if (r == -ENOMEM)
		log_error("%s", error_words());
	config_say_faults(c);
	return r == -ENOMEM ? EXIT_FAILED : EXIT_USAGE;
}
