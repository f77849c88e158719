/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of the report that say what a recording knows about the GIL. Samples of CPU time are taken
 * of running threads. A thread that waits for the GIL sleeps, so its wait isn't in shares of CPU
 * time. A thread that holds the GIL may sleep too.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "base/vec.h"
#include "cli/cells.h"
#include "cli/report/report.h"
#include "view/shape/roots.h"
#include "view/wall.h"

#define INDENT "     " /* blanks at the beginning of a continuation line */

struct lines {
	struct str *out;
	int width, used; /* how many columns a line may have, and how many of them are used */
};

/* Appends a text. If the line has no room for it, begins a new line before it. */
static void add_words(struct lines *l, const char *text)
{
	int n = cells_width(text, strlen(text));

	if (l->used + n > l->width) {
		while (l->out->n && l->out->s[l->out->n - 1] == ' ')
			l->out->s[--l->out->n] = '\0';
		str_add(l->out, "\n" INDENT);
		l->used = (int)strlen(INDENT);
	}
	str_add(l->out, text);
	l->used += n;
}

static bool counts_waits(const struct report_facts *f)
{
	const char *type = profile_meta(f->p)->values[f->value].type;

	return streq(type, "off_cpu") || is_wall(type);
}

static const char *state_words(const struct report_facts *f, const char *state)
{
	static const char *const words[][2] = {
		{"waiting", "entering or leaving a wait for it"},
		{"none", "none to hold"},
		{"unknown", "not known"},
	};

	if (counts_waits(f) && streq(state, "waiting"))
		return "waiting for it";
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (streq(state, words[i][0]))
			return words[i][1];
	return state;
}

#define LEAST_PERCENT 0.95 /* a share that is smaller than this percentage isn't mentioned */

static void add_shares(const struct report_facts *f, const report_shares *shares, struct lines *l)
{
	const char *apart = "";

	vec_foreach(s, shares) {
		_cleanup_str_ struct str text = {};
		double percent = report_percent(f, s->value);

		if (percent > -LEAST_PERCENT && percent < LEAST_PERCENT)
			continue;
		str_add(l->out, apart);
		l->used += (int)strlen(apart);
		str_addf(&text, "%s %.1f %%", state_words(f, s->name), percent);
		add_words(l, str_cstr(&text));
		apart = ", ";
	}
}

/* A process whose threads had the GIL in samples, and for how long they had it. */
struct holder {
	/* .labels: one of the process's label sets; .tid: the thread that was found first */
	uint32_t labels, tid;
	int64_t held;
	bool threads; /* more than one thread of the process had the GIL in samples */
};

struct holders {
	VEC(struct holder) all;
	struct map by_process;
};

static struct holder *holder_of(struct holders *h, const struct profile *p, uint32_t labels)
{
	uint64_t key = (uint64_t)profile_label_value(p, labels, "process") << 32 |
		       profile_label_value(p, labels, "pid");
	const uint64_t *at = map_get(&h->by_process, key);
	struct holder one = {.labels = labels, .tid = profile_label_value(p, labels, "tid")};

	if (at)
		return &h->all.v[*at];
	if (vec_push(&h->all, one) || map_put(&h->by_process, key, h->all.n - 1))
		return NULL;
	return &h->all.v[h->all.n - 1];
}

static int take_holders(const struct report_facts *f, struct holders *h)
{
	for (size_t i = 0; i < f->n_sums; i++) {
		uint32_t labels = f->sums[i].labels;
		const char *state = labels ? profile_label_text(f->p, labels, "gil") : NULL;
		struct holder *one;

		if (!state || streq(state, "none"))
			continue;
		one = holder_of(h, f->p, labels);
		if (!one)
			return err_set(-ENOMEM, "out of memory");
		one->threads |= profile_label_value(f->p, labels, "tid") != one->tid;
		if (streq(state, "held") &&
		    __builtin_add_overflow(one->held, f->sums[i].values[f->value], &one->held))
			one->held = INT64_MAX;
	}
	return 0;
}

/*
 * Appends for how long the GIL was held at least. Only one thread holds it at a time, so that is
 * the sum of the times in which threads ran with the GIL.
 */
static void add_held(const struct report_facts *f, const struct holders *h, struct str *out)
{
	const struct holder *most = NULL;
	const char *name;
	int percent;

	vec_foreach(one, &h->all)
		if (one->threads && (!most || one->held > most->held))
			most = one;
	if (!most)
		return;
	percent = (int)(100.0 * (double)most->held / (double)profile_meta(f->p)->duration_ns);
	/* above 100 %: a process has several interpreters, each with its own GIL */
	if (percent <= 0 || percent > 100)
		return;
	str_addf(out, "GIL held at least %d %% of the wall time (not counting holders that sleep)",
		 percent);
	name = profile_label_text(f->p, most->labels, "process");
	if (h->all.n > 1 && name)
		str_addf(out, ", in %s (pid %s)", name,
			 profile_label_text(f->p, most->labels, "pid") ?: "?");
	str_add_c(out, '\n');
}

static bool is_cpu_time(const struct report_facts *f)
{
	const struct profile_value_type *v = &profile_meta(f->p)->values[f->value];

	return streq(v->type, "cpu") && streq(v->unit, "nanoseconds");
}

static int add_wall_time(const struct report_facts *f, struct str *out)
{
	struct holders h = {};
	int r;

	if (!is_cpu_time(f) || profile_meta(f->p)->duration_ns <= 0 || f->costs.less)
		return 0;
	r = take_holders(f, &h);
	if (!r)
		add_held(f, &h, out);
	vec_fini(&h.all);
	map_fini(&h.by_process);
	return r;
}

int report_add_gil(const struct report_facts *f, int width, struct str *out)
{
	struct lines l = {.out = out, .width = width};
	_cleanup_str_ struct str text = {};
	report_shares shares = {};
	int r;

	/*
	 * all samples of the values about the GIL have the same label `gil`, so shares by that
	 * label would say nothing
	 */
	if (str_starts(profile_meta(f->p)->values[f->value].type, "gil_"))
		return 0;
	r = report_shares_of(f, "gil", &shares);
	if (!r && shares.n) {
		str_addf(&text, "GIL, of the %s%s: ", report_value_words(f),
			 counts_waits(f) ? "" : " (waiting threads have none)");
		add_words(&l, str_cstr(&text));
		add_shares(f, &shares, &l);
		str_add_c(out, '\n');
		r = add_wall_time(f, out);
	}
	report_shares_fini(&shares);
	return r == -EINVAL ? 0 : r; /* -EINVAL: no sample has the label `gil`; that is no error */
}
