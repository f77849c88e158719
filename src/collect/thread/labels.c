/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the labels of samples, which say who ran or waited. There is one set of labels for each
 * thread, state of the GIL and wait.
 */
#include <stdio.h>

#include "collect/thread/internal.h"
#include "collect/thread/wait_state.h"
#include "profile/remake/condense.h"

#define MAX_LABELS 32
/*
 * a thread that has this many label sets gets no new label sets for the threads whose waits it
 * ended
 */
#define SETS_MOST 1000

struct label_list {
	struct profile_label v[MAX_LABELS];
	size_t n;
};

static void add(struct collect *c, struct label_list *l, const char *key, const char *value)
{
	if (!value || !*value || l->n == MAX_LABELS)
		return;
	l->v[l->n++] = (struct profile_label){profile_string(c->profile, key),
					      profile_string(c->profile, value)};
}

static void add_number(struct collect *c, struct label_list *l, const char *key, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	add(c, l, key, text);
}

/* Has the user given all samples a label with this key? */
static bool is_given(const struct collect *c, const char *key)
{
	uint32_t id = profile_string(c->profile, key);

	for (size_t i = 0; i < c->config.n_labels; i++)
		if (c->config.labels[i].key == id)
			return true;
	return false;
}

/*
 * Adds the labels of the service. If the user has given a label for the version or the service,
 * krait doesn't add its own.
 */
static void add_service(struct collect *c, struct label_list *l, const struct service *s)
{
	const struct {
		const char *key, *value;
	} own[] = {{"service", s->name},
		   {"version", s->version},
		   {"pod", s->pod},
		   {"image", s->image}};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (own[i].value && !is_given(c, own[i].key))
			add(c, l, own[i].key, own[i].value);
}

static const char *gil_word(uint8_t state)
{
	static const char *const words[] = {
#define X(name, word) word,
		GIL_STATES(X)
#undef X
	};

	return words[state];
}

/* Does the sample's label set name a thread whose wait was ended? */
static bool is_named(const struct wait_labels *wait)
{
	return wait->waiter && wait->waiter != WAITER_UNNAMED;
}

static uint32_t make_labels(struct collect *c, const struct process *p, const struct thread *t,
			    uint8_t gil, const struct wait_labels *wait)
{
	struct label_list l = {};
	char text[64];
	bool full = collect_is_full(c);

	add_number(c, &l, "pid", p->key.tgid);
	if (!full)
		add_number(c, &l, "tid", t->tid);
	add(c, &l, "thread", full ? "[no memory for more threads]" : t->name);
	add(c, &l, "process", p->name);
	add(c, &l, "cgroup", p->cgroup);
	add(c, &l, "container", p->container);
	if (p->runs_as)
		add_number(c, &l, "uid", (uint32_t)(p->runs_as - 1));
	if (c->config.services)
		add_service(c, &l, &p->service);
	add(c, &l, "gil", gil_word(gil));
	if (wait->state)
		add(c, &l, "state", wait_state_words(wait->state, text, sizeof(text)));
	else if (c->config.waits && !wait->waiter)
		add(c, &l, "state", "running");
	if (wait->state & WAIT_STATE_OPEN)
		add(c, &l, "wait", "still waiting");
	if (wait->idle)
		add(c, &l, "idle", "yes");
	add(c, &l, "on", on_text(&c->threads->on, wait->on));
	if (is_named(wait) && !full) {
		const struct thread *waiter = &c->threads->all.v[wait->waiter - 1];

		add(c, &l, "waiter", waiter->name);
		add_number(c, &l, "waiter_tid", waiter->tid);
	}
	for (size_t i = 0; i < c->config.n_labels && l.n < MAX_LABELS; i++)
		l.v[l.n++] = c->config.labels[i];
	return profile_labels(c->profile, l.v, l.n);
}

static size_t bytes_of(const struct map *waits)
{
	return waits->size * sizeof(*waits->slots);
}

void thread_forget_sets(struct collect *c, struct thread *t)
{
	memset(t->sets, 0, sizeof(t->sets));
	c->kept.sets -= bytes_of(&t->waits);
	map_fini(&t->waits);
}

void threads_forget_sets(struct collect *c)
{
	vec_foreach(t, &c->threads->all)
		thread_forget_sets(c, t);
}

void thread_forget_labels(struct collect *c, struct process *p)
{
	map_foreach(slot, &p->threads)
		thread_forget_sets(c, &c->threads->all.v[slot->value - 1]);
}

/*
 * Makes the thread's set of labels. If an earlier thread with the same number has an equal set, or
 * if memory is out and all threads share one set, the set isn't the thread's own. A new name of the
 * thread isn't written into a set that isn't its own.
 */
static void label(struct collect *c, const struct process *p, const struct thread *t,
		  const struct rec_sample *rec, const struct wait_labels *wait,
		  struct label_set *ret)
{
	size_t before = profile_n_labels(c->profile);

	ret->id = make_labels(c, p, t, rec->gil, wait);
	ret->own = profile_n_labels(c->profile) > before && !collect_is_full(c);
}

/*
 * Returns a number made of everything in which the label sets of a thread's waits differ. .on has
 * at most ON_VALUES + 1 different values.
 */
static uint64_t key_of(uint8_t gil, const struct wait_labels *wait)
{
	return wait->state | (uint64_t)wait->on << 32 | (uint64_t)gil << 48 |
	       (uint64_t)wait->idle << 56;
}
_Static_assert(ON_VALUES + 1 < 1 << 16, "");

#define WAKER_KEY (1ull << 63) /* a bit that isn't set in keys of key_of() */

uint64_t thread_waker_key(uint8_t gil, uint32_t name_id)
{
	return name_id | (uint64_t)gil << 48 | WAKER_KEY;
}

uint32_t thread_waker_name(uint64_t key)
{
	return key & WAKER_KEY ? (uint32_t)key : 0;
}

/*
 * Makes the key of a label set, as key_of() does, but for a thread that ended another thread's
 * wait.
 */
static uint64_t waker_key(struct collect *c, const struct thread *t, uint8_t gil,
			  struct wait_labels *wait)
{
	struct thread *waiter = is_named(wait) ? &c->threads->all.v[wait->waiter - 1] : NULL;
	uint64_t key = thread_waker_key(gil, waiter ? waiter->name_id : 0);

	if (!waiter || (t->waits.n >= SETS_MOST && !map_get(&t->waits, key))) {
		wait->waiter = WAITER_UNNAMED;
		return thread_waker_key(gil, 0);
	}
	waiter->waited = true;
	return key;
}

/*
 * Returns the thread's label set for samples with this state of the GIL and this wait; NULL: no
 * memory. If there are too many waiters, .waiter becomes WAITER_UNNAMED.
 */
static struct label_set *set_of(struct collect *c, struct thread *t, uint8_t gil,
				struct wait_labels *wait)
{
	uint64_t key, *found;
	size_t before;

	if (!wait->state && !wait->waiter)
		return &t->sets[gil];
	key = wait->waiter ? waker_key(c, t, gil, wait) : key_of(gil, wait);
	before = bytes_of(&t->waits);
	found = map_get(&t->waits, key);
	if (!found && map_put(&t->waits, key, 0))
		return NULL;
	c->kept.sets += bytes_of(&t->waits) - before;
	return label_set_in(found ?: map_get(&t->waits, key));
}

struct wait_labels thread_wait(struct collect *c, uint32_t stack, uint32_t state, uint32_t on)
{
	const struct place_names more = {c->config.idle_at, c->config.n_idle_at};
	enum place place = PLACE_OTHER;

	if (state)
		place = places_look(&c->threads->places, c->profile, stack, state, &more);
	return (struct wait_labels){
		.state = place == PLACE_LOOP ? WAIT_STATE_LOOP | (state & WAIT_STATE_OPEN) : state,
		.idle = place == PLACE_IDLE,
		.on = on};
}

uint32_t thread_labels(struct collect *c, uint32_t process, const struct rec_sample *rec,
		       const struct wait_labels *wait)
{
	struct process *p = process_at(c, process);
	struct thread *t = thread_of_sample(c, p, rec);
	struct wait_labels shown = *wait;
	struct label_set *set = t ? set_of(c, t, rec->gil, &shown) : NULL;

	if (!set)
		return 0;
	if (rec->source == c->config.cpu_source)
		thread_add_runtime(t, rec->runtime_ns);
	if (!set->id)
		label(c, p, t, rec, &shown, set);
	/* memory has run out, so this set may lack some labels */
	if (profile_failed(c->profile))
		set->id = 0;
	return set->id;
}

/*
 * Puts the new id into a label set. Condensing may have merged several sets into one, so the set
 * isn't a thread's own any more.
 */
static void rebase_set(struct label_set *set, const struct rebase *r)
{
	*set = (struct label_set){.id = r->condense ? condense_labels_whole(r->condense, set->id)
						    : 0};
}

/*
 * Condensing a profile (summing up what is rare) keeps its samples and their label sets, so threads
 * that still run keep their sets. After a window (a part of the recording) was handed over, the
 * profile is empty: a thread's sets are made again when it is sampled again.
 */
void threads_rebase(struct collect *c, struct rebase *r)
{
	places_forget(&c->threads->places);
	vec_foreach(t, &c->threads->all) {
		t->last_stack = 0;
		for (size_t i = 0; t->tid && i < GIL_STATE_MAX; i++)
			rebase_set(&t->sets[i], r);
		map_foreach(slot, &t->waits)
			rebase_set(label_set_in(&slot->value), r);
	}
}
