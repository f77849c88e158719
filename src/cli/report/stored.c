/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a window of the agent's store; see stored.h. */
#include "cli/report/stored.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/nomem.h"
#include "base/system/clock.h"
#include "format/pprof/pprof.h"
#include "query/ask.h"

void stored_fini(struct stored *s)
{
	vec_fini(&s->pids);
}

int stored_last(struct stored *s, struct view_options *view, struct operands *operands)
{
	if (!operands->operand)
		return err_set(-EINVAL, "say how long: krait last 10m");
	if (view->since_ns)
		return err_set(-EINVAL, "krait last says itself when it begins; leave --since out");
	s->dir = s->dir ? s->dir : STORE_DIRECTORY;
	return value_time(&view->since_ns, TAKE_PTR(operands->operand));
}

/* A longer window is answered from the store's outline, which has few labels and no lines. */
#define EXACT_NS (3 * 3600 * NSEC_PER_SEC)

/* Does the view need what the outline doesn't have? */
static bool needs_samples(const struct stored *s, const struct view_options *view)
{
	return s->pids.n || view->processes.n || view->threads.n || view->labels.n ||
	       view->states.n || view->no_idle || view->grain == VIEW_LINES ||
	       (view->by && !streq(view->by, "service") && !streq(view->by, "version"));
}

static int check_window(const struct stored *s)
{
	if (!s->since_ns)
		return err_set(-EINVAL, "say how long ago the window begins: --since 10m");
	if (s->until_ns >= s->since_ns)
		return err_set(-EINVAL, "--until must be less long ago than the window's begin");
	return 0;
}

int stored_check(struct stored *s, struct view_options *view, const struct operands *operands)
{
	if (!s->dir && !operands->operand)
		return err_set(-EINVAL, "name the profile to read: krait report FILE");
	if (!s->dir)
		return s->pids.n ? err_set(-EINVAL, "--pid is for --store; --process chooses in a "
						    "file")
				 : 0;
	if (operands->operand)
		return err_set(-EINVAL, "--store %s and the file %s exclude each other; keep one",
			       s->dir, operands->operand);
	s->since_ns = view->since_ns;
	s->until_ns = view->until_ns;
	view->since_ns = view->until_ns = 0;
	s->exact |= needs_samples(s, view);
	return check_window(s);
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

/* The same window, from whoever may read the store. */
static int ask_server(const struct stored *s, const struct store_query *wanted,
		      struct profile **ret)
{
	_cleanup_(query_fini) struct query q = {.kind = QUERY_PROFILE,
						.since_ms = wanted->since_ms,
						.until_ms = wanted->until_ms,
						.outline = wanted->outline != OUTLINE_NONE};
	_cleanup_str_ struct str body = {};
	int r;

	for (size_t i = 0; i < wanted->n_labels; i++)
		if (vec_push(&q.labels, wanted->labels[i]))
			return err_nomem();
	r = ask(s->socket ? s->socket : QUERY_SOCKET, &q, &body);
	return r ? r : pprof_read((const uint8_t *)str_cstr(&body), body.n, ret);
}

/* Without --socket, only the agent's own store is one that a server answers for. */
static bool has_server(const struct stored *s)
{
	return s->socket || streq(s->dir, STORE_DIRECTORY);
}

int stored_read(const struct stored *s, struct profile **ret)
{
	int64_t now = (int64_t)clock_ns(CLOCK_REALTIME);
	__attribute__((cleanup(wanted_fini))) struct wanted wanted = {};
	struct store_query q = {
		.since_ms = MAX(now - (int64_t)s->since_ns, 0) / (int64_t)NSEC_PER_MSEC,
		.until_ms = (now - (int64_t)s->until_ns) / (int64_t)NSEC_PER_MSEC,
	};
	struct store *store = NULL;
	int r;

	vec_foreach(pid, &s->pids)
		if (want(&wanted, *pid))
			return err_nomem();
	q.labels = wanted.labels.v;
	q.n_labels = wanted.labels.n;
	if (s->since_ns - s->until_ns > EXACT_NS && !s->exact)
		q.outline = OUTLINE_SERVICES;
	r = store_open(s->dir, 0, &store);
	r = r ? r : store_read(store, &q, ret);
	store_close(store);
	return r == -EACCES && has_server(s) ? ask_server(s, &q, ret) : r;
}
