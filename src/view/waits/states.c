/* SPDX-License-Identifier: BSD-2-Clause */
/* The states of threads: the words for them, and how long threads were in each; see waits.h. */
#include <errno.h>

#include "view/waits/threads.h"

#define RUNNING "running"
#define OTHER	"other"

static const struct waits_word words[] = {
	{RUNNING, "on a CPU", .is = true},
	{"runnable", "for a CPU"},
	{"stolen", "kept off the CPU by the host (steal time)", .is = true},
	{"gil", "for the GIL"},
	{"stop-the-world", "for the end of a stop-the-world pause", .lock = true},
	{"critical-section", "for an object's lock (critical section)", .lock = true},
	{"lock", "for a lock", .lock = true, .others = true},
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
	{OTHER, "in the kernel"},
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

void waits_add_known(struct str *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		str_addf(b, "%s%s", i ? ", " : "", words[i].name);
}

bool waits_is_idle(const struct profile *p, uint32_t labels)
{
	return streq(profile_label_text(p, labels, "idle"), "yes");
}

/*
 * Keys of two states whose names may not be strings of the profile. The key of every other state is
 * the id of its string.
 */
#define KEY_OTHER   (UINT32_MAX - 1)
#define KEY_RUNNING UINT32_MAX

/*
 * Adds a time to the state with key @key. @at: a map from the key, with a bit for idle, to the
 * index in @ret.
 */
static int add(struct map *at, waits_states *ret, uint32_t key, struct waits_state state)
{
	uint64_t full = (uint64_t)key << 1 | state.idle, *found = map_get(at, full);

	if (state.ns <= 0)
		return 0;
	if (!found)
		return map_put(at, full, ret->n) || vec_push(ret, state) ? -ENOMEM : 0;
	costs_sum(&ret->v[*found].ns, state.ns);
	return 0;
}

static int add_wait(struct map *at, waits_states *ret, const struct profile *p, uint32_t labels,
		    int64_t ns)
{
	uint32_t key = profile_label_value(p, labels, "state");
	const char *name = profile_get_string(p, key);

	if (!*name || streq(name, OTHER)) {
		key = KEY_OTHER;
		name = OTHER;
	} else if (streq(name, RUNNING)) {
		key = KEY_RUNNING;
	}
	return add(at, ret, key, (struct waits_state){name, ns, waits_is_idle(p, labels)});
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

static int add_all(struct map *at, waits_states *ret, struct profile *p,
		   const struct profile_sum *sums, size_t n)
{
	int off = profile_time_value(p, "off_cpu"), cpu = profile_time_value(p, "cpu"), r = 0;

	for (size_t i = 0; off >= 0 && i < n && !r; i++) {
		r = add_wait(at, ret, p, sums[i].labels, sums[i].values[off]);
		if (!r && cpu >= 0)
			r = add(at, ret, KEY_RUNNING,
				(struct waits_state){RUNNING, sums[i].values[cpu], false});
	}
	return r;
}

/*
 * Keeps the first WAITS_STATES states and as many idle states, and sums up all further states as
 * "other". That is needed because a file may come from anywhere and have any number of states. @ret
 * must be sorted.
 */
static int sum_up(waits_states *ret)
{
	struct waits_state rest[] = {{OTHER, 0, false}, {OTHER, 0, true}};
	size_t kept = 0, of[2] = {};

	vec_foreach(s, ret) {
		if (of[s->idle] < WAITS_STATES && !streq(s->name, OTHER)) {
			of[s->idle]++;
			ret->v[kept++] = *s;
		} else {
			costs_sum(&rest[s->idle].ns, s->ns);
		}
	}
	ret->n = kept;
	for (size_t i = 0; i < ARRAY_SIZE(rest); i++)
		if (rest[i].ns && vec_push(ret, rest[i]))
			return -ENOMEM;
	return 0;
}

static void sort(waits_states *states)
{
	if (states->n)
		qsort(states->v, states->n, sizeof(*states->v), longest_first);
}

int waits_states_of(struct profile *p, const struct profile_sum *sums, size_t n, waits_states *ret)
{
	struct map at;
	int r;

	map_init(&at);
	r = add_all(&at, ret, p, sums, n);
	map_fini(&at);
	sort(ret);
	r = r ? r : sum_up(ret);
	sort(ret);
	return r;
}
