/* SPDX-License-Identifier: BSD-2-Clause */
/* `krait diff`: compares two profiles, or two label sets of one profile, function by function. */
#include "cli/diff/options.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/log.h"
#include "cli/advice.h"
#include "cli/cells.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/options/window.h"
#include "view/names/value_words.h"
#include "cli/write.h"
#include "format/common/embedded.h"
#include "format/read.h"
#include "picture/html/html_diff.h"
#include "view/names/origin.h"
#include "view/wall.h"

/*
 * Reads the source text that is in the compared page, because the source files may have changed
 * since the page was made.
 */
static int take_text(const struct diff_options *o, const char *path, const char *tag,
		     struct str *text)
{
	if (!diff_is_page(o) || o->source_mode == SOURCE_NONE || !str_ends(path, ".html"))
		return 0;
	return read_source_file(path, tag, text);
}

/*
 * Returns the view that selects the samples of a side: the user's filters or, if the sides are
 * chosen by labels (--a, --b), the filters with the side's labels.
 */
static struct view_options view_of(const struct diff_options *o, enum diff_side side)
{
	struct view_options view = o->view;

	if (o->side[side].n)
		view.labels = o->side[side];
	return view;
}

/* Reads the file of one side of the comparison, and keeps the samples that view_of() selects. */
static int read_side(const struct diff_options *o, const struct operands *operands,
		     enum diff_side side, struct diff_facts *f)
{
	struct view_options view = view_of(o, side);
	struct view_totals totals = {};
	const char *path = operands->words[MIN((unsigned)side, operands->n - 1)];
	const char *tag = EMBEDDED_SOURCE, *unknown;
	int r;

	f->name[side] = path;
	if (diff_of_one_file(o, operands)) {
		r = f->diff.p[side] ? 0 : read_two_file(operands->operand, f->diff.p);
		f->name[side] = side == DIFF_A ? HTML_DIFF_BEFORE : HTML_DIFF_AFTER;
		tag = side == DIFF_A ? EMBEDDED_SOURCE_BEFORE : EMBEDDED_SOURCE_AFTER;
	} else {
		r = o->store ? window_read_text(o->store, path, &f->diff.p[side])
			     : read_profile_file(path, &f->diff.p[side]);
	}
	r = r ? r : wall_derive(f->diff.p[side], o->value, NULL);
	r = r ? r : take_text(o, path, tag, &f->text[side]);
	if (r)
		return r;
	f->source[side].since_ns = source_ran(f->diff.p[side], path);
	if (o->side[side].n)
		f->name[side] = o->side[side].v[0];
	unknown = view_mine(&view, f->diff.p[side]);
	if (side == DIFF_B && unknown && !origin_is_there(f->diff.p[DIFF_A], unknown))
		view_say_unknown(unknown);
	if (view_wanted(&view)) {
		r = unmatched_look(&f->unmatched, f->diff.p[side]);
		r = r ? r : view_apply(&f->diff.p[side], &view, &totals);
		if (r)
			return r;
	}
	f->source[side].p = f->diff.p[side];
	if (profile_n_samples(f->diff.p[side]))
		return 0;
	if (o->side[side].n)
		return err_set(-ENOENT, "no sample has the label %s%s", f->name[side],
			       totals.all_samples && o->view.labels.n ? " and passes the filters"
								      : "");
	log_warn("%s has no samples%s", f->name[side],
		 totals.all_samples ? " that the filters let through" : "");
	return 0;
}

/*
 * If both commands ran to their end, a run counts as one unit of work, however long it took. A side
 * of which only some samples are chosen (--a, --b) isn't a whole run.
 */
static bool take_runs(const struct diff_options *o, struct diff_facts *f)
{
	uint64_t runs[DIFF_SIDES];

	for (int side = 0; side < DIFF_SIDES; side++) {
		runs[side] = comments_runs(&profile_meta(f->diff.p[side])->comments);
		if (!runs[side] || o->side[side].n)
			return false;
	}
	for (int side = 0; side < DIFF_SIDES; side++) {
		f->runs[side] = runs[side];
		f->diff.per[side] = (double)runs[side];
		f->diff.runs[side] = (double)runs[side];
	}
	return true;
}

/* Chooses which value is compared, and by what the values of each side are divided. */
static int choose_measure(const struct diff_options *o, struct diff_facts *f)
{
	const struct profile_meta *a = profile_meta(f->diff.p[DIFF_A]);
	const struct profile_meta *b = profile_meta(f->diff.p[DIFF_B]);
	int r = diff_choose_values(f, o->value);

	if (r)
		return r;
	f->per = o->per_name;
	if (o->per_name) {
		f->diff.work_known = true;
		memcpy(f->diff.per, o->per_counts, sizeof(f->diff.per));
	} else if (take_runs(o, f)) {
		f->diff.work_known = true;
		f->per = "run";
	} else if (streq(f->unit, "nanoseconds") && a->duration_ns > 0 && b->duration_ns > 0) {
		f->diff.per_time = true;
		f->diff.per[DIFF_A] = (double)a->duration_ns;
		f->diff.per[DIFF_B] = (double)b->duration_ns;
	} else {
		f->diff.by_share = true;
		f->diff.per[DIFF_A] = f->diff.per[DIFF_B] = 1;
	}
	return 0;
}

/* Adds up how long threads without work waited on a side. */
struct idle_sum {
	struct profile *p;
	unsigned value;
	int64_t ns;
};

struct print_arg {
	const struct diff_options *o;
	const struct diff_facts *f;
};

static int print(void *arg, FILE *out)
{
	const struct print_arg *a = arg;
	struct diff_style style = {.limit = a->o->limit,
				   .colored = color_wanted(a->o->color, out),
				   .width = cells_terminal_width(out)};

	return a->o->print(a->f, &style, out);
}

/*
 * If it isn't known how much work was done, warns that limits in percent are compared with changes
 * of rates or shares: more CPU time per second may only mean more work per second.
 */
static void warn_of_rules(const struct diff_options *o, const struct diff_facts *f)
{
	bool percent = false;
	char rate[80];

	snprintf(rate, sizeof(rate), "%s per second", value_words(f->type));

	vec_foreach(rule, &o->rules)
		percent |= !rule->points;
	if (percent && !f->diff.work_known)
		log_warn("--fail-if in percent judges %s here, because the amount of work isn't "
			 "known: give it with --per NAME=N,M, or record commands that run to their "
			 "end",
			 f->diff.by_share ? "shares" : rate);
}

static int find_unjudged(const struct diff_options *o, struct diff_facts *f)
{
	int r = 0;

	vec_foreach(rule, &o->rules) {
		r = r ? r : fail_rule_unjudged(rule, f, &f->unjudged);
		r = r ? r : fail_rule_unmarked(rule, f, &f->unmarked);
	}
	return r;
}

/*
 * Checks whether changes exceed the limits of --fail-if. If several limits are exceeded, prints a
 * change only for the first of them. Returns the exit code.
 */
static int apply_rules(const struct diff_options *o, const struct diff_facts *f)
{
	warn_of_rules(o, f);
	if (f->unjudged.n)
		log_warn("%s", str_cstr(&f->unjudged));
	vec_foreach(rule, &o->rules) {
		_cleanup_str_ struct str why = {};
		int hit = fail_rule_hit(rule, f, &why);

		if (hit)
			log_error("%s", hit < 0 ? error_words() : str_cstr(&why));
		if (hit)
			return hit < 0 ? EXIT_FAILED : EXIT_HIT;
	}
	return EXIT_DONE;
}

static int add_idle(void *arg, const struct profile_sample *s)
{
	struct idle_sum *sum = arg;

	if (s->values[sum->value] > 0 &&
	    streq(profile_label_text(sum->p, s->labels, "idle"), "yes"))
		costs_sum(&sum->ns, s->values[sum->value]);
	return 0;
}

/*
 * Removes from one side the waits of threads without work, unless the user's filters ask for these
 * waits.
 */
static int leave_idle_out_of(const struct diff_options *o, enum diff_side side,
			     struct diff_facts *f)
{
	const struct view_options own = view_of(o, side), without = {.no_idle = true};
	struct idle_sum sum = {f->diff.p[side], f->diff.value[side], 0};
	int r;

	if (view_asks_for_idle(&own))
		return 0;
	r = profile_each(f->diff.p[side], add_idle, &sum);
	f->idle[side] = sum.ns;
	return r || !sum.ns ? r : view_apply(&f->diff.p[side], &without, NULL);
}

/*
 * Removes the waits of threads without work, as the report of waits does, because they would change
 * all shares. A page keeps them.
 */
static int leave_idle_out(const struct diff_options *o, struct diff_facts *f)
{
	int r = 0;

	if (!streq(f->type, "off_cpu") || diff_is_page(o) || o->idle)
		return 0;
	for (int side = 0; side < DIFF_SIDES && !r; side++)
		r = leave_idle_out_of(o, side, f);
	return r;
}

/* If the user asked for groups (--by), replaces the rows of functions by rows of groups. */
static int group(struct diff_facts *f)
{
	int r = 0;

	for (int side = 0; side < DIFF_SIDES && !r; side++) {
		r = f->groups ? view_by(&f->diff.p[side], f->by) : 0;
		if (r)
			r = err_wrap(r, "%s", f->name[side]);
		f->source[side].p = f->diff.p[side];
	}
	if (!r)
		diff_name_value(f);
	return r;
}

static int compare(const struct diff_options *o, const struct operands *operands,
		   struct diff_facts *f)
{
	int r;

	f->by = o->view.by;
	f->groups = f->by && !diff_is_page(o);
	r = unmatched_init(&f->unmatched, &o->view);
	r = r ? r : read_side(o, operands, DIFF_A, f);
	r = r ? r : read_side(o, operands, DIFF_B, f);
	if (!r)
		view_options_warn_of(&f->unmatched);
	r = r ? r : choose_measure(o, f);
	r = r ? r : leave_idle_out(o, f);
	r = r ? r : group(f);
	r = r ? r : diff_make(&f->diff);
	r = r ? r : find_unjudged(o, f);
	if (r) {
		log_error("%s", error_words());
		return EXIT_FAILED;
	}
	cells_init();
	r = write_output(o->output, print, &(struct print_arg){o, f});
	for (int side = 0; side < DIFF_SIDES; side++)
		source_say_shown(&f->source[side], o->output);
	return r ? r : apply_rules(o, f);
}

static int run(const struct command *self, int argc, char **argv)
{
	_cleanup_(diff_options_fini) struct diff_options o = {.limit = 10};
	struct caller caller = {};
	struct diff_facts f = {};
	struct operands operands;
	int r = options_read(self, argc, argv, &o, &operands);

	if (r >= 0)
		return r;
	if (diff_options_check(&o, &operands)) {
		log_error("%s", error_words());
		return EXIT_USAGE;
	}
	log_set_level(o.quiet ? LOG_WARN : LOG_NOTE);
	if (caller_find(&caller)) {
		log_error("%s", error_words());
		return EXIT_FAILED;
	}
	for (int side = 0; side < DIFF_SIDES; side++)
		f.source[side].rules =
			(struct source_rules){.caller = &caller, .mode = o.source_mode};
	r = compare(&o, &operands, &f);
	diff_fini(&f.diff);
	unmatched_fini(&f.unmatched);
	str_fini(&f.unjudged);
	str_fini(&f.unmarked);
	for (int side = 0; side < DIFF_SIDES; side++) {
		profile_free(f.diff.p[side]);
		str_fini(&f.text[side]);
	}
	caller_fini(&caller);
	return r;
}

const struct command command_diff = {
	.name = "diff",
	.reads_files = true,
	.summary = "Compare two profiles function by function, and say what is more than noise.",
	.synopsis = (const char *const[]){"diff [OPTIONS] BEFORE AFTER",
					  "diff [OPTIONS] FILE --a KEY=VALUE --b KEY=VALUE",
					  "diff [OPTIONS] DIFF.html", "diff [OPTIONS] DIFF.folded",
					  NULL},
	.examples = (const char *const[]){"krait diff old.pb.gz new.pb.gz\twhat changed",
					  "krait diff old.pb.gz new.pb.gz -o diff.html\tas a page",
					  NULL},
	.rows = diff_rows,
	.refused = diff_refused,
	.operand = "FILE",
	.max_operands = 2,
	.operand_is_file = true,
	.run = run,
};
