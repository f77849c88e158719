/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a window of time from the agent's store; see stored.h. */
#include "cli/report/stored.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/log.h"
#include "cli/options/view_options.h"

void stored_fini(struct stored *s)
{
	vec_fini(&s->pids);
	vec_fini(&s->labels);
}

int stored_value_service(void *field, const char *text)
{
	VEC(struct profile_label_text) *labels = field;

	return vec_push(labels, (struct profile_label_text){"service", strlen("service"), text});
}

int stored_value_cgroup(void *field, const char *text)
{
	VEC(struct profile_label_text) *labels = field;

	return vec_push(labels, (struct profile_label_text){"cgroup", strlen("cgroup"), text});
}

int stored_last(struct stored *s, struct operands *operands)
{
	s->dir = s->dir ? s->dir : STORE_DIRECTORY;
	if (!operands->operand && (s->pin || s->mark))
		return 0;
	if (!operands->operand)
		return err_set(-EINVAL, "say which window to show: krait last 10m");
	if (s->since)
		return err_set(-EINVAL,
			       "krait last takes the window's start without --since, as in "
			       "`krait last 10m`; leave --since out");
	s->since = TAKE_PTR(operands->operand);
	return 0;
}

/*
 * A window that is longer than this isn't made from full samples, but from the store's summaries of
 * services (the outline), which have few labels and no lines.
 */
#define EXACT_MS (3 * STORE_HOUR_MS)

/*
 * Tells whether the view needs labels or lines, which the store's summaries of services (the
 * outline) don't have.
 */
static bool needs_samples(const struct stored *s, const struct view_options *view)
{
	bool other = false;

	vec_foreach(l, &s->labels)
		other |= !streq(l->key, STORE_SERVICE_KEY);
	return other || s->pids.n || view->processes.n || view->threads.n || view->labels.n ||
	       view->states.n || view->no_idle || view->grain == VIEW_LINES ||
	       (view->by && !streq(view->by, "service") && !streq(view->by, "version"));
}

/* Reads --since and --until as times since the beginning of the recording that the file has. */
static int take_times(const struct stored *s, struct view_options *view)
{
	int r = s->since ? value_time(&view->since_ns, s->since) : 0;

	if (r)
		return err_wrap(r, "--since");
	r = s->until ? view_value_until(&view->until_ns, s->until) : 0;
	return r ? err_wrap(r, "--until") : 0;
}

static int take_window(struct stored *s)
{
	if (s->pin || s->mark)
		return s->since || s->until || (s->pin && s->mark)
			       ? err_set(-EINVAL, "--pin, --mark and a window of time exclude each "
						  "other; keep one")
			       : 0;
	if (!s->since)
		return err_set(-EINVAL,
			       "say when the window begins: --since 10m, or --since 03:00");
	return window_options(s->since, s->until, &s->window);
}

int stored_check(struct stored *s, struct view_options *view, const struct operands *operands)
{
	if (!s->dir && !operands->operand)
		return err_set(-EINVAL, "name the profile to read: krait report FILE");
	if (!s->dir && s->pids.n)
		return err_set(-EINVAL, "--pid is for --store; with a file use --process");
	if (!s->dir && (s->pin || s->mark))
		return err_set(-EINVAL, "--pin and --mark are for --store");
	if (!s->dir && s->labels.n)
		return err_set(-EINVAL,
			       "--service and --cgroup are for --store; with a file use "
			       "--label %.*s=...",
			       (int)s->labels.v[0].key_len, s->labels.v[0].key);
	if (!s->dir)
		return take_times(s, view);
	if (operands->operand)
		return err_set(-EINVAL, "--store %s and the file %s exclude each other; keep one",
			       s->dir, operands->operand);
	s->exact |= needs_samples(s, view);
	return take_window(s);
}

struct wanted {
	VEC(struct profile_label_text) labels;
	VEC(char *) texts;
};

static void wanted_fini(struct wanted *w)
{
	vec_foreach(text, &w->texts)
		free(*text);
	vec_fini(&w->texts);
	vec_fini(&w->labels);
}

static int want(struct wanted *w, pid_t pid)
{
	char *text;

	if (asprintf(&text, "%ld", (long)pid) < 0)
		return -ENOMEM;
	if (vec_push(&w->texts, text)) {
		free(text);
		return -ENOMEM;
	}
	return vec_push(&w->labels, (struct profile_label_text){"pid", strlen("pid"), text});
}

/*
 * Finds the window of time that --pin or --mark names. Such a window is pinned (kept), so all its
 * samples are still in the store.
 */
static int find_pin(struct stored *s)
{
	_cleanup_(pins_fini) struct pins pins = {};
	const struct pin *p = NULL;
	int r = window_read_pins(s->dir, s->socket, &pins);

	if (!r)
		p = pins_find(&pins, (int64_t)s->pin, s->mark);
	if (!p)
		return r ? r : -ENOENT;
	log_note("pin %lld, %s: %s", (long long)p->id, p->cause, p->words);
	s->window = (struct window){p->since_ms, p->until_ms, true};
	s->exact = true;
	return 0;
}

int stored_read(struct stored *s, struct profile **ret)
{
	__attribute__((cleanup(wanted_fini))) struct wanted wanted = {};
	struct store_query q = {};
	int r = s->pin || s->mark ? find_pin(s) : 0;

	if (r)
		return r;
	q.since_ms = s->window.since_ms;
	q.until_ms = s->window.until_ms;
	vec_foreach(pid, &s->pids)
		if (want(&wanted, *pid))
			return err_nomem();
	vec_foreach(label, &s->labels)
		if (vec_push(&wanted.labels, *label))
			return err_nomem();
	window_say(&s->window);
	q.labels = wanted.labels.v;
	q.n_labels = wanted.labels.n;
	if (q.until_ms - q.since_ms > EXACT_MS && !s->exact)
		q.outline = OUTLINE_SERVICES;
	r = window_read(s->dir, s->socket, &q, ret);
	if (r != -ENODATA || s->exact)
		return r;
	/* the store has no full samples of that time any more, only summaries of services */
	q.outline = OUTLINE_SERVICES;
	return window_read(s->dir, s->socket, &q, ret);
}

/* Of several values of one key one is enough; every key must have its value. */
static void add_choice(struct str *b, bool first, const char *what, const char *value)
{
	str_addf(b, "%s%s %s", !first ? " or " : b->n ? ", and of " : "", what, value);
}

/* Returns whether a value of the label @key was chosen. */
static bool add_labels(struct str *b, const struct stored *s, const char *key, const char *what)
{
	bool first = true;

	vec_foreach(l, &s->labels) {
		if (!streq(l->key, key))
			continue;
		add_choice(b, first, what, l->value);
		first = false;
	}
	return !first;
}

void stored_say_empty(const struct stored *s)
{
	_cleanup_str_ struct str chosen = {};
	bool services;

	vec_foreach(pid, &s->pids) {
		char text[24];

		snprintf(text, sizeof(text), "%ld", (long)*pid);
		add_choice(&chosen, pid == s->pids.v, "process", text);
	}
	services = add_labels(&chosen, s, STORE_SERVICE_KEY, "service");
	(void)add_labels(&chosen, s, "cgroup", "control group");
	if (!chosen.n || chosen.failed)
		log_warn("%s", WINDOW_EMPTY);
	else
		log_warn("no sample of that window is of %s%s", chosen.s,
			 services ? "; samples have services only if krait agent run has "
				    "--service-from"
				  : "");
}
