/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the sentences of the report; see report.h. */
#include <errno.h>
#include <math.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/report/report.h"
#include "view/names/value_words.h"
#include "picture/markup.h"
#include "view/lede/cpu_words.h"
#include "view/shape/roots.h"
#include "view/waits/waits.h"
#include "view/wall.h"

const char *report_value_words(const struct report_facts *f)
{
	return value_words(profile_meta(f->p)->values[f->value].type);
}

double report_percent(const struct report_facts *f, int64_t value)
{
	int64_t whole = costs_whole(&f->costs);

	return whole > 0 ? 100.0 * value / whole : 0;
}

void report_add_percent(const struct report_facts *f, const struct report_style *style,
			int64_t value, struct str *b)
{
	double share = report_percent(f, value);
	enum color color = fabs(share) >= 20  ? COLOR_RED
			   : fabs(share) >= 5 ? COLOR_YELLOW
					      : COLOR_OFF;
	bool colored = style && style->colored && color != COLOR_OFF;

	if (style)
		str_addf(b, "%s%6.1f %%%s", color_code(colored, color), share,
			 color_code(colored, COLOR_OFF));
	else
		str_addf(b, "| %.1f %% ", share);
}

void report_add_totals(const struct report_facts *f, struct str *b)
{
	const struct profile_value_type *v = &profile_meta(f->p)->values[f->value];

	markup_add_value(b, f->costs.all, v->unit);
	/* "1.2 s of CPU time", but "25 context-switches": a count has no "of" */
	str_addf(b, profile_is_count(v->unit) ? " %s" : " of %s", report_value_words(f));
}

bool report_is_note(const char *comment)
{
	return str_starts(comment, COMMENTS_LEFT_OUT ": ") ||
	       str_starts(comment, COMMENTS_MENDED ": ") ||
	       str_starts(comment, COMMENTS_TOO_FEW ": ");
}

/* Appends that there is nothing to show, and why, if filters or the recording's comments tell. */
static void add_nothing(const struct report_facts *f, struct str *b)
{
	static const char nothing[] = "no samples: ";
	const struct profile_meta *m = profile_meta(f->p);

	if (f->n_sums) {
		str_addf(b, "There is nothing to show: the %s of all samples is 0",
			 report_value_words(f));
		return;
	}
	if (f->totals.all_samples) {
		str_add(b, "There is nothing to show: the filters let no sample through");
		return;
	}
	str_add(b, "There are no samples");
	vec_foreach(text, &m->comments.list) {
		const char *words = strstr(*text, nothing);

		if (words == *text + strlen("warning: ") || words == *text + strlen("note: "))
			str_addf(b, ": %s", words + strlen(nothing));
	}
}

/*
 * For a profile that is the difference of two profiles: appends the sum of its positive values and
 * the sum of its negative values.
 */
static void add_signed(const struct report_facts *f, struct str *b)
{
	const char *unit = profile_meta(f->p)->values[f->value].unit;
	const struct cost *most = f->costs.functions.v;
	int64_t more = f->costs.all;

	costs_sum(&more, f->costs.less);
	str_addf(b, "Some of the %s %s negative, as in a difference of two profiles: ",
		 report_value_words(f), profile_is_count(unit) ? "are" : "is");
	markup_add_value(b, more, unit);
	str_add(b, " more, ");
	markup_add_value(b, f->costs.less, unit);
	str_add(b, " less; most in ");
	costs_name(&f->costs, most->location, b);
	str_add(b, ": ");
	markup_add_value(b, most->self, unit);
}

static void add_gc_lede(const struct report_facts *f, struct str *b)
{
	const char *unit = profile_meta(f->p)->values[f->value].unit;
	const struct lede *l = &f->lede;

	str_addf(b, "%.0f %% of the %s %s in the garbage collector",
		 100.0 * l->value / f->costs.all, report_value_words(f),
		 profile_is_count(unit) ? "are" : "is");
	if (!l->caller)
		return;
	str_add(b, ", called from ");
	if (l->by_function)
		costs_name(&f->costs, l->caller, b);
	else
		costs_place(&f->costs, l->caller, profile_get_location(f->p, l->caller)->line, b);
}

static int whole_percent(const struct report_facts *f, int64_t value)
{
	return (int)(100.0 * value / f->costs.all + 0.5);
}

/*
 * Appends how much of @whole @part is, as in "22 of these 37 %". Both numbers are percentages of
 * the value of all samples: @whole is 37 % of it, and @part is 22 % of it.
 */
static void add_part(const struct report_facts *f, int64_t part, int64_t whole, struct str *b)
{
	int percent = whole_percent(f, whole);

	if (part == whole)
		str_add(b, "all of it");
	else if (whole_percent(f, part) == percent)
		str_add(b, "nearly all of it");
	else
		str_addf(b, "%d of these %d %%", whole_percent(f, part), percent);
}

/* Returns the value of the line or function that the sentence names first. */
static int64_t named_value(const struct lede *l)
{
	return l->at_line ? l->line_value : l->value;
}

/*
 * Appends which line has most of the function's value. If there is no such line, appends which
 * function it calls most.
 */
static void add_parts(const struct report_facts *f, struct str *b)
{
	const struct lede *l = &f->lede;
	bool line = l->line && !l->at_line;

	if (!line && !l->callee)
		return;
	str_add(b, l->others ? "; " : ", ");
	add_part(f, line ? l->line_value : l->callee_value, named_value(l), b);
	str_add(b, line ? " at " : " in ");
	if (line)
		costs_place(&f->costs, l->line, profile_get_location(f->p, l->line)->line, b);
	else if (costs_kind(&f->costs, l->callee) == KIND_GC)
		str_add(b, "the garbage collector");
	else
		costs_name(&f->costs, l->callee, b);
}

/* Appends what takes more time than the user's function, but isn't called by the user's code. */
static void add_around(const struct report_facts *f, struct str *b)
{
	const struct lede *l = &f->lede;
	int64_t most = MAX(l->without, l->around_value);

	if (l->collects) {
		str_addf(b, "; %d %% is in the garbage collector, called from ",
			 whole_percent(f, l->collects_value));
		costs_place(&f->costs, l->collects, profile_get_location(f->p, l->collects)->line,
			    b);
		return;
	}
	if (most <= l->value)
		return;
	str_addf(b, "; %d %% is in ", whole_percent(f, most));
	if (l->without >= l->around_value) {
		str_add(b, "code that none of your functions called");
		if (!l->apart)
			return;
		str_add(b, ", ");
		add_part(f, l->apart_value, most, b);
		str_add(b, " in ");
		costs_name(&f->costs, l->apart, b);
		return;
	}
	costs_name(&f->costs, l->around, b);
	str_add(b, " around your code");
}

/*
 * Tells whether a library function that the user's code calls has nearly all (nine tenths) of the
 * value that the sentence names first.
 */
static bool is_callees(const struct report_facts *f)
{
	const struct lede *l = &f->lede;

	return l->callee && costs_kind(&f->costs, l->callee) != KIND_GC &&
	       l->callee_value >= named_value(l) - named_value(l) / 10;
}

/*
 * Appends where in the user's code most of the value is, for example "at aio.py:5 (count), 22 of
 * these 37 % in re.findall". This means: line 5 of aio.py, in function count, has 37 % of the
 * value; 22 % of the value are in re.findall, which is called there.
 */
static void add_own(const struct report_facts *f, struct str *b)
{
	const struct lede *l = &f->lede;

	str_add(b, l->at_line ? " at " : " in ");
	if (l->at_line) {
		costs_place(&f->costs, l->line, profile_get_location(f->p, l->line)->line, b);
		str_add(b, " (");
		render_names_function(f->costs.names, l->location, b);
		str_add_c(b, ')');
	} else {
		costs_name(&f->costs, l->location, b);
	}
	if (l->flat) {
		str_add(b, " and your functions that it calls, each with less than a tenth");
		add_around(f, b);
		return;
	}
	if (l->others && l->at_line && is_callees(f)) {
		str_add(b, ", nearly all in ");
		costs_name(&f->costs, l->callee, b);
		str_add(b, ", which it calls");
	} else {
		if (l->others)
			str_add(b, ", without your functions that it calls");
		add_parts(f, b);
	}
	add_around(f, b);
}

static void add_function(const struct report_facts *f, struct str *b)
{
	bool many = profile_is_count(profile_meta(f->p)->values[f->value].unit);
	const struct lede *l = &f->lede;

	str_addf(b, "%d %%", whole_percent(f, named_value(l)));
	if (!l->small)
		str_addf(b, " of the %s", report_value_words(f));
	str_add(b, many ? " are" : " is");
	if (l->own) {
		add_own(f, b);
		return;
	}
	str_add(b, " in ");
	costs_name(&f->costs, l->location, b);
	if (!l->caller)
		return;
	str_add(b, ", called from ");
	costs_place(&f->costs, l->caller, profile_get_location(f->p, l->caller)->line, b);
}

/*
 * If samples only estimate the number of events, this many samples tell where most events are, with
 * an error of some ten percent.
 */
#define LEAST_SAMPLES 100

/*
 * Tells whether @comment is about the shown value. The comment says that samples are too few to
 * count events, and names a value: "too few: 17 samples at 99 Hz only estimate context-switches; -c
 * 1 counts them". If the profile has no value of that name, the comment counts for all values,
 * because the name may be that of an event.
 */
static bool is_of_value(const struct report_facts *f, const char *comment)
{
	static const char before[] = " only estimate";
	const struct profile_meta *m = profile_meta(f->p);
	const char *at = strstr(comment, before);
	size_t n;

	at = at ? strchr(at + strlen(before), ' ') : NULL;
	if (!at)
		return true;
	n = strcspn(++at, ";");
	for (unsigned i = 0; i < m->n_values; i++)
		if (strlen(m->values[i].type) == n && !memcmp(m->values[i].type, at, n))
			return i == f->value;
	return true;
}

struct count {
	const struct report_facts *f;
	/* true: value 0 is the number of samples; false: each entry counts as one sample */
	bool counted;
	int64_t n;
};

static int count_sample(void *arg, const struct profile_sample *s)
{
	struct count *c = arg;
	int64_t n = c->counted ? MAX(s->values[0], (int64_t)0) : 1;

	if (s->values[c->f->value])
		costs_sum(&c->n, n);
	return 0;
}

int report_find_too_few(struct report_facts *f)
{
	const struct profile_meta *m = profile_meta(f->p);
	bool counted = streq(m->values[0].type, "samples") && profile_samples_are_of(m, f->value);
	struct count c = {f, counted, 0};
	bool told = false;
	int r = 0;

	vec_foreach(text, &m->comments.list)
		told |= str_starts(*text, COMMENTS_TOO_FEW ": ") && is_of_value(f, *text);
	if (told && f->value)
		r = profile_each(f->p, count_sample, &c);
	/*
	 * The samples may stand for different numbers of events, so a single sample may stand for
	 * most of the events.
	 */
	f->too_few = told && f->value && c.n < LEAST_SAMPLES;
	return r;
}

/*
 * Tells whether the report says how long the program waited. With filters it doesn't, because then
 * the user asks what used CPU time.
 */
static bool waits(const struct report_facts *f)
{
	return !f->filtered && streq(profile_meta(f->p)->values[f->value].type, "cpu") &&
	       cpu_words_waits(f->p);
}

static void add_waits(const struct report_facts *f, struct str *b)
{
	str_add(b, "Most of the time was waiting; all functions together took ");
	report_add_totals(f, b);
	if (profile_time_value(f->p, "off_cpu") >= 0)
		str_add(b, "; --value off_cpu shows the waits");
	else
		str_add(b, "; a recording with --wall shows the waits");
}

void report_add_lede(const struct report_facts *f, struct str *b)
{
	const struct lede *l = &f->lede;

	if (f->waits.n) {
		str_add(b, str_cstr(&f->waits));
		return;
	}
	if (!costs_whole(&f->costs)) {
		add_nothing(f, b);
		return;
	}
	if (f->costs.less) {
		add_signed(f, b);
		return;
	}
	if (f->too_few) {
		str_addf(b, "Too few samples to say where most of the %s %s", report_value_words(f),
			 profile_is_count(profile_meta(f->p)->values[f->value].unit) ? "are"
										     : "is");
		return;
	}
	if (waits(f)) {
		add_waits(f, b);
		return;
	}
	if (l->gc) {
		add_gc_lede(f, b);
		return;
	}
	if (l->small)
		str_addf(b, "None of your functions takes a tenth of the %s%s",
			 report_value_words(f), l->location ? "; " : "");
	else if (!l->location)
		str_add(b, f->costs.no_frames == f->costs.all
				   ? f->frames_left_out
					     ? "No function stands out: the filters leave no frames"
					     : "No function stands out: the samples have no frames"
				   : "No function stands out but importlib's");
	if (l->location)
		add_function(f, b);
}

void report_shares_fini(report_shares *s)
{
	vec_foreach(one, s)
		free(one->name);
	vec_fini(s);
}

static int compare_shares(const void *va, const void *vb)
{
	const struct report_share *a = va, *b = vb;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return strcmp(a->name, b->name);
}

int report_shares_of(const struct report_facts *f, const char *by, report_shares *ret)
{
	struct roots roots;
	_cleanup_free_ int64_t *of = NULL;
	int r = roots_init(&roots, f->p, f->sums, f->n_sums, by);

	if (r)
		return r;
	of = calloc(roots.texts.n + 1, sizeof(*of));
	for (size_t i = 0; of && i < f->n_sums; i++)
		costs_sum(&of[roots_rank(&roots, f->sums[i].labels, roots.depth - 1)],
			  f->sums[i].values[f->value]);
	r = of ? 0 : -ENOMEM;
	for (uint32_t i = 0; !r && i < roots.texts.n; i++) {
		struct report_share share = {strdup(rank_text(&roots.texts, i)), of[i]};

		if (of[i])
			r = share.name ? vec_push(ret, share) : -ENOMEM;
		if (r || !of[i])
			free(share.name);
	}
	roots_fini(&roots);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_shares);
	return r ? err_set(r, "out of memory") : 0;
}
