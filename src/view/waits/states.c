/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of threads: their words, and how long threads were in each; see waits.h. */
#include <errno.h>

#include "view/waits/threads.h"

#define RUNNING "running"

static const struct waits_word words[] = {
	{RUNNING, "on a CPU", .is = true},
	{"runnable", "for a CPU"},
	{"stolen", "without the CPU, which the host took", .is = true},
	{"gil", "for the GIL"},
	{"lock", "for a lock", .others = true},
	{"sleep", "asleep", .is = true, .passive = true, .others = true},
	{"net", "for the network"},
	{"poll", "for events (poll)", .passive = true, .others = true},
	{WAITS_LOOP, "with nothing to run", .is = true, .passive = true, .others = true},
	{"pipe", "for a pipe", .others = true},
	{"disk", "for the disk"},
	{"child", "for a child process", .others = true},
	{"page-fault", "for pages of memory"},
	{"signal", "for a signal", .passive = true, .others = true},
	{"stopped", "stopped by a signal", .is = true, .passive = true},
	{"frozen", "frozen by a control group", .is = true, .passive = true},
	{"traced", "stopped by a debugger", .is = true, .passive = true},
	{"other", "in the kernel"},
};

const struct waits_word *waits_word(const char *state)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (streq(words[i].name, state))
			return &words[i];
	return NULL;
}

bool waits_is_state(const char *word)
{
	return waits_word(word) || str_starts(word, "other: ");
}

bool waits_is_interval(const char *state)
{
	return !streq(state, "runnable") && !streq(state, "stolen");
}

void waits_add_known(struct str *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		str_addf(b, "%s%s", i ? ", " : "", words[i].name);
}

int waits_value(struct profile *p, const char *type)
{
	const struct profile_value_type ns = {type, "nanoseconds"};
	const struct profile_meta *m = profile_meta(p);

	for (unsigned i = 0; i < m->n_values; i++)
		if (profile_same_type(&m->values[i], &ns))
			return (int)i;
	return -1;
}

bool waits_is_idle(const struct profile *p, uint32_t labels)
{
	return streq(profile_label_text(p, labels, "idle"), "yes");
}

/* Adds to the time of a state. */
static int add(waits_states *ret, const char *name, bool idle, int64_t ns)
{
	if (ns <= 0)
		return 0;
	vec_foreach(s, ret) {
		if (s->idle != idle || !streq(s->name, name))
			continue;
		costs_sum(&s->ns, ns);
		return 0;
	}
	return vec_push(ret, (struct waits_state){name, ns, idle});
}

static int longest_first(const void *va, const void *vb)
{
	const struct waits_state *a = va, *b = vb;

	if (a->idle != b->idle)
		return a->idle ? 1 : -1;
	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return strcmp(a->name, b->name);
}

int waits_states_of(struct profile *p, const struct profile_sum *sums, size_t n, waits_states *ret)
{
	int off = waits_value(p, "off_cpu"), cpu = waits_value(p, "cpu"), r = 0;

	for (size_t i = 0; off >= 0 && i < n && !r; i++) {
		const char *state = profile_label_text(p, sums[i].labels, "state");

		r = add(ret, *state ? state : "other", waits_is_idle(p, sums[i].labels),
			sums[i].values[off]);
		if (!r && cpu >= 0)
			r = add(ret, RUNNING, false, sums[i].values[cpu]);
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), longest_first);
	return r;
}
