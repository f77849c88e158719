/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes sentences that say what differs between two profiles; see diff.h. */
#include <ctype.h>
#include <math.h>
#include "cli/diff/diff.h"
#include "view/names/value_words.h"
#include "picture/markup.h"
#include "view/wall.h"

/*
 * a text on how a command ended is quoted if it has at most this many bytes; krait's own texts are
 * shorter
 */
#define LONG_END 80
/*
 * If the sum of all costs changed by less than this part, another speed of the machine may be the
 * only reason.
 */
#define WHOLE 0.14

void diff_add_value(const struct diff_facts *f, double value, struct str *b)
{
	if (f->diff.by_share)
		str_addf(b, "%.1f %%", 100 * value);
	else if (f->per && streq(f->unit, "nanoseconds") && value < 1000)
		str_addf(b, "%.0f ns", value);
	else if (f->per)
		markup_add_value(b, (int64_t)value, f->unit);
	else
		str_addf(b, value > 0 && value < 0.01 ? "%.2f ms/s" : "%.0f ms/s", 1000 * value);
}

void diff_add_relative(const struct diff_cost *c, struct str *b)
{
	double before = c->value[DIFF_A], change = diff_change(c);

	if (before <= 0)
		str_add(b, change > 0 ? "new" : "");
	else if (c->value[DIFF_B] <= 0)
		str_add(b, "gone");
	else
		str_addf(b, "%+.1f %%", 100 * change / before);
}

bool diff_row_counts(const struct diff_row *row)
{
	return row->of[DIFF_SELF].changed ||
	       (row->of[DIFF_TOTAL].changed && !row->passes_on && !row->below);
}

size_t diff_count_changed(const struct diff_facts *f)
{
	size_t n = 0;

	vec_foreach(row, &f->diff.rows)
		n += diff_row_counts(row);
	return n;
}

static const char *type_words(const struct diff_facts *f)
{
	return value_words(f->type);
}

/* Appends "takes 12.0 % more CPU time" or, for waits, "waits 12.0 % longer". */
static void add_more(const struct diff_facts *f, double percent, bool more, struct str *b)
{
	static const char *const of_waits[][3] = {
		{"off_cpu", "waits", ""},
		{"gil_wait", "waits", " for the GIL"},
		{"gil_blame", "keeps others", " from the GIL"},
		{"lock_blame", "keeps others", " from a lock"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(of_waits); i++) {
		if (!streq(of_waits[i][0], f->type))
			continue;
		str_addf(b, "%s %.1f %% %s%s", of_waits[i][1], percent, more ? "longer" : "less",
			 of_waits[i][2]);
		return;
	}
	str_addf(b, "takes %.1f %% %s %s", percent, more ? "more" : "less", type_words(f));
}

/* Tells whether the compared value consists of waiting time only. */
static bool only_waits(const struct diff_facts *f)
{
	return f->diff.waits && !is_wall(f->type);
}

/* Appends the singular of the unit of work: "request" for "requests". */
static void add_one(const struct diff_facts *f, struct str *b)
{
	size_t n = strlen(f->per);

	if (str_ends(f->per, "ies"))
		str_addf(b, "%.*sy", (int)(n - 3), f->per);
	else if (n > 2 && str_ends(f->per, "s") && !strchr("sui", f->per[n - 2]))
		str_addf(b, "%.*s", (int)(n - 1), f->per);
	else
		str_add(b, f->per);
}

/* Appends the costs of both sides: ": 1.23 s before, 1.80 s after". */
static void add_both(const struct diff_facts *f, const struct diff_cost *c, struct str *b)
{
	diff_add_value(f, c->value[DIFF_A], b);
	str_add(b, " before, ");
	diff_add_value(f, c->value[DIFF_B], b);
	str_add(b, " after");
}

static void add_rates(const struct diff_facts *f, struct str *b)
{
	const double *all = f->diff.all;

	const char *words = type_words(f);

	str_addf(b, "%c%s: %.0f ms per second before, %.0f ms per second after",
		 toupper((unsigned char)*words), words + 1, 1000 * all[DIFF_A], 1000 * all[DIFF_B]);
}

/* Appends what all functions together cost on both sides. */
void diff_add_sum(const struct diff_facts *f, struct str *b)
{
	struct diff_cost all = {.value = {f->diff.all[DIFF_A], f->diff.all[DIFF_B]}};

	if (f->diff.by_share) {
		str_addf(b, "Only shares of all %s are compared", type_words(f));
		return;
	}
	if (f->per) {
		str_addf(b, "All together, %s per ", type_words(f));
		add_one(f, b);
		str_add(b, ": ");
		add_both(f, &all, b);
	} else {
		add_rates(f, b);
	}
	if (all.value[DIFF_A] <= 0 && all.value[DIFF_B] <= 0)
		return;
	str_add(b, " (");
	diff_add_relative(&all, b);
	str_add_c(b, ')');
}

void diff_add_idle(const struct diff_facts *f, struct str *b)
{
	if (f->idle[DIFF_A] <= 0 && f->idle[DIFF_B] <= 0)
		return;
	str_add(b, "Left out: waits of threads that had no work, ");
	markup_add_value(b, f->idle[DIFF_A], f->unit);
	str_add(b, " before, ");
	markup_add_value(b, f->idle[DIFF_B], f->unit);
	str_add(b, " after; --idle shows them");
}

#define GC_LEAST 0.01

void diff_add_gc(const struct diff_facts *f, struct str *b)
{
	const double *gc = f->diff.gc;

	if (MAX(gc[DIFF_A], gc[DIFF_B]) >= GC_LEAST)
		str_addf(b, "The garbage collector took %.1f %% of all before, %.1f %% after",
			 100 * gc[DIFF_A], 100 * gc[DIFF_B]);
}

/*
 * Appends to which unit of work costs refer: "Per run (both commands ran to their end)" or "Per
 * request".
 */
static void add_measure(const struct diff_facts *f, struct str *b)
{
	const uint64_t *n = f->runs;

	str_add(b, "Per ");
	add_one(f, b);
	if (n[DIFF_A] == 1 && n[DIFF_B] == 1)
		str_add(b, " (both commands ran to their end)");
	else if (n[DIFF_A])
		str_addf(b, " (%llu before, %llu after; each ran to its end)",
			 (unsigned long long)n[DIFF_A], (unsigned long long)n[DIFF_B]);
}

static void add_dearer(const struct diff_facts *f, const struct diff_row *row, struct str *b)
{
	bool own = row->of[DIFF_SELF].changed;
	const struct diff_cost *c = &row->of[own ? DIFF_SELF : DIFF_TOTAL];
	const char *with = own ? "" : " with all that it calls";
	double before = c->value[DIFF_A], after = c->value[DIFF_B];

	str_add(b, row->name);
	if (before <= 0 || after <= 0) {
		str_add(b, before <= 0 ? " is new: " : " is gone: it took ");
		diff_add_value(f, MAX(before, after), b);
		str_addf(b, " of %s%s", type_words(f), with);
		return;
	}
	str_add_c(b, ' ');
	add_more(f, fabs(100 * (after - before) / before), after > before, b);
	str_addf(b, "%s: ", with);
	add_both(f, c, b);
}

static bool below_changed(const struct diff_facts *f)
{
	vec_foreach(row, &f->diff.rows)
		if (row->below && row->of[DIFF_TOTAL].changed && !row->passes_on)
			return true;
	return false;
}

static void add_quiet(const struct diff_facts *f, const char *what, struct str *b)
{
	if (f->diff.waits && !f->diff.timed) {
		str_addf(b,
			 "%s differs may be noise, because the samples have no times, so that "
			 "krait can't count the waits",
			 what);
		return;
	}
	str_addf(b, "%s differs is no more than noise (%zu %s%s compared%s)", what, f->diff.checked,
		 f->groups ? "group" : "function", f->diff.checked == 1 ? "" : "s",
		 below_changed(f) ? "; some native code below them changed" : "");
}

/* Appends "12 % more", or "more" if side A cost nothing, because then there is no percentage. */
static void add_whole(const struct diff_cost *all, struct str *b)
{
	double change = diff_change(all);

	if (all->value[DIFF_A] > 0)
		str_addf(b, "%.0f %% ", fabs(100 * change / all->value[DIFF_A]));
	str_add(b, change > 0 ? "more" : "less");
}

/*
 * Appends that nothing changed by more than noise. Also appends by how much the cost of all
 * functions together changed, if that is much: another speed of the machine may be the reason.
 */
static void add_noise(const struct diff_facts *f, struct str *b)
{
	struct diff_cost all = {.value = {f->diff.all[DIFF_A], f->diff.all[DIFF_B]}};
	double mean = (all.value[DIFF_A] + all.value[DIFF_B]) / 2, change = diff_change(&all);

	add_quiet(f, "what", b);
	if (fabs(change) > WHOLE * mean && f->diff.waits) {
		str_add(b, ", but the total is ");
		add_whole(&all, b);
		if (only_waits(f))
			str_addf(b, ": waits got %s, or there were %s of them",
				 change > 0 ? "longer" : "shorter", change > 0 ? "more" : "fewer");
	} else if (fabs(change) > WHOLE * mean) {
		str_add(b, ", but all functions together take ");
		add_whole(&all, b);
		str_addf(b, " %s: the machine was %s, or something changed them all", type_words(f),
			 change > 0 ? "slower" : "faster");
	}
	str_add_c(b, '.');
}

static void add_known(const struct diff_facts *f, size_t n, struct str *b)
{
	add_measure(f, b);
	str_add(b, ", ");
	if (!n) {
		add_noise(f, b);
		return;
	}
	add_dearer(f, f->diff.rows.v, b);
	if (n == 1)
		str_add(b, ". Nothing else changed by more than noise.");
	else
		str_addf(b, ". %zu more changed by more than noise.", n - 1);
}

/*
 * Of the rows whose share changed by more than noise, returns the one whose share rose (@way 1) or
 * fell (-1) most.
 */
static const struct diff_row *furthest(const struct diff_facts *f, enum diff_what what, int way)
{
	const struct diff_row *most = NULL;
	double best = 0;

	vec_foreach(row, &f->diff.rows) {
		double change = way * diff_share_change(&row->of[what]);

		if (!row->of[what].changed || (what == DIFF_TOTAL && !diff_row_counts(row)) ||
		    change <= best)
			continue;
		best = change;
		most = row;
	}
	return most;
}

const struct diff_row *diff_share_moved(const struct diff_facts *f, int way, enum diff_what *what)
{
	const struct diff_row *row = furthest(f, DIFF_SELF, way);

	*what = row ? DIFF_SELF : DIFF_TOTAL;
	return row ? row : furthest(f, DIFF_TOTAL, way);
}

static bool add_move(const struct diff_facts *f, int way, const char *before, struct str *b)
{
	enum diff_what what;
	const struct diff_row *row = diff_share_moved(f, way, &what);

	if (!row)
		return false;
	str_addf(b, "%s%s%s %s most, from %.1f to %.1f %%", before, row->name,
		 what == DIFF_SELF ? "" : " with all that it calls", way > 0 ? "grew" : "fell",
		 100 * row->of[what].share[DIFF_A], 100 * row->of[what].share[DIFF_B]);
	return true;
}

/* Appends why a side isn't a whole run of its command: " (after: ended with exit code 3)". */
static void add_end(const struct diff_facts *f, struct str *b)
{
	static const char *const names[DIFF_SIDES] = {"before", "after"};
	const char *apart = " (";

	for (int side = 0; side < DIFF_SIDES; side++) {
		const struct comments *c = &profile_meta(f->diff.p[side])->comments;
		const char *how = comments_runs(c) ? NULL : comments_end(c);

		if (!how || strlen(how) > LONG_END)
			continue;
		str_addf(b, "%s%s: %s%s", apart, names[side],
			 isdigit((unsigned char)*how) ? "ended with exit code "
			 : str_starts(how, "by ")     ? "ended "
						      : "",
			 how);
		apart = ", ";
	}
	if (*apart == ',')
		str_add_c(b, ')');
}

/*
 * Appends what is known if it isn't known how much work the two recordings did. A function's share
 * may have grown although it costs the same, because other functions cost less.
 */
static void add_unknown(const struct diff_facts *f, size_t n, struct str *b)
{
	bool grew;

	if (!n) {
		add_quiet(f, "What", b);
		str_add(b, ". ");
	}
	diff_add_sum(f, b);
	str_add(b, ". ");
	if (n) {
		grew = add_move(f, 1, "Of that, the share of ", b);
		(void)add_move(f, -1, grew ? "; the share of " : "Of that, the share of ", b);
		str_add(b, ". ");
	}
	str_add(b, "How much work was done isn't known");
	add_end(f, b);
	str_addf(b,
		 ", so this can't say %s got slower or faster. To learn that, give the amount of "
		 "work, as in --per requests=12000,13500 (done before, done after).",
		 n ? "what" : "whether everything");
}

void diff_add_verdict(const struct diff_facts *f, struct str *b)
{
	size_t n = diff_count_changed(f);

	if (f->diff.all[DIFF_A] <= 0 && f->diff.all[DIFF_B] <= 0)
		str_add(b, "There is nothing to compare: no samples on either side.");
	else if (f->diff.work_known)
		add_known(f, n, b);
	else
		add_unknown(f, n, b);
}

static const struct diff_row *most_doubtful(const struct diff_facts *f, enum diff_what what)
{
	const struct diff_row *most = NULL;

	vec_foreach(row, &f->diff.rows)
		if (row->of[what].doubtful &&
		    (!most || fabs(diff_share_change(&row->of[what])) >
				      fabs(diff_share_change(&most->of[what]))))
			most = row;
	return most;
}

/*
 * Appends a sentence if a change may be chance: the two recordings may have caught different
 * stretches of the program's time.
 */
void diff_add_doubt(const struct diff_facts *f, struct str *b)
{
	const struct diff_row *own = most_doubtful(f, DIFF_SELF);
	const struct diff_row *row = own ? own : most_doubtful(f, DIFF_TOTAL);
	enum diff_what what = own ? DIFF_SELF : DIFF_TOTAL;

	if (!row)
		return;
	str_addf(b, "%s%s ", what == DIFF_TOTAL ? "The total of " : "", row->name);
	if (f->diff.work_known) {
		str_add(b, "changed, ");
		add_both(f, &row->of[what], b);
	} else {
		str_addf(b, "went from %.1f to %.1f %% of all", 100 * row->of[what].share[DIFF_A],
			 100 * row->of[what].share[DIFF_B]);
	}
	str_add(b, ", but in too few stretches of time to tell that from chance; repeat the work.");
}
