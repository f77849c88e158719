/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record COMMAND...: records COMMAND with src/record and the rooms below it, linked without
 * src/cli. Prints a line for each sample: the functions of its stack, the outermost first, with ";"
 * between them. At last prints "due N came N" from the recording's summary: how many samples there
 * should be, and how many there are. check.py checks the output.
 */
#include <stdio.h>

#include "base/error.h"
#include "base/system/log.h"
#include "record/session.h"
#include "record/figures/summary.h"

static int print_stack(void *profile, const struct profile_sample *sample)
{
	const struct profile *p = profile;
	size_t n;
	const uint32_t *frames = profile_get_stack(p, sample->stack, &n);

	while (n--) {
		const struct profile_location *l = profile_get_location(p, frames[n]);
		uint32_t name = l->function ? profile_get_function(p, l->function)->name : 0;

		printf("%s%s", name ? profile_get_string(p, name) : "?", n ? ";" : "");
	}
	putchar('\n');
	return 0;
}

static int begin(struct session *s)
{
	int r = session_check_permitted(s);

	r = r ? r : caller_find(&s->caller);
	r = r ? r : spawn_start(&s->spawn, s->options->cmd, caller_become, &s->caller);
	r = r ? r : session_set_up(s);
	r = r ? r : rights_drop(s->caller.other);
	return r ? r : session_start(s);
}

static int record(struct session *s)
{
	struct summary m;
	int r = begin(s), q;

	if (r)
		return r;
	r = session_run(s, NULL, NULL);
	q = session_stop(s);
	summary_take(&m, s);
	session_end_sampling(s);
	r = r ? r : q ? q : profile_each(s->profile, print_stack, s->profile);
	printf("due %llu came %llu\n", (unsigned long long)m.due,
	       (unsigned long long)m.collect.samples);
	summary_fini(&m);
	return r;
}

int main(int argc, char **argv)
{
	struct session_options o = {.freq_hz = 999, .cmd = argv + 1};
	struct session s;
	int r;

	/* all messages are logged, but no sink is set that would print them */
	log_set_level(LOG_DEBUG);
	session_init(&s, &o);
	session_bound_init(&s);
	r = argc > 1 ? record(&s) : -EINVAL;
	if (r)
		printf("failed: %s\n", err_msg());
	session_fini(&s);
	return r || session_hangs(&s);
}
