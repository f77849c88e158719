/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks whether changes of functions exceed the user's limits (option --fail-if), for CI jobs; see
 * diff.h.
 */
#include <ctype.h>
#include <math.h>
#include "base/error.h"
#include "base/system/log.h"
#include "base/text/nearest.h"
#include "cli/diff/diff.h"

static int bad(const char *text)
{
	return err_set(-EINVAL,
		       "'%s' is not a limit; write as in 'own:module.function>+5%%' or "
		       "'total:module.function>+2points'",
		       text);
}

/*
 * Finds the last '<' or '>' that stands before a number. Names contain these characters too, for
 * example "<locals>".
 */
static const char *find_limit(const char *s)
{
	for (size_t i = strlen(s); i--;) {
		const char *at = s + i + 1;

		if (s[i] != '<' && s[i] != '>')
			continue;
		at += *at == '+' || *at == '-';
		return isdigit((unsigned char)*at) ? s + i : NULL;
	}
	return NULL;
}

int fail_rule_parse(const char *text, struct fail_rule *ret)
{
	const char *name = strchr(text, ':'), *limit = find_limit(text);
	char *end;

	*ret = (struct fail_rule){.text = text};
	/* older versions of krait said "self:", and users' scripts may still say it */
	if (str_starts(text, "own:") || str_starts(text, "self:"))
		ret->what = DIFF_SELF;
	else if (str_starts(text, "total:"))
		ret->what = DIFF_TOTAL;
	else
		return bad(text);
	if (!limit || limit <= name + 1)
		return bad(text);
	ret->less = *limit == '<';
	ret->limit = strtod(limit + 1, &end);
	if (streq(end, "points") || streq(end, "pt"))
		ret->points = true;
	else if (!streq(end, "%"))
		return bad(text);
	ret->name = strndup(name + 1, (size_t)(limit - name - 1));
	if (!ret->name)
		return err_set(-ENOMEM, "out of memory");
	return pattern_check(ret->name);
}

void fail_rule_fini(struct fail_rule *r)
{
	free(r->name);
}

static double relative(const struct diff_cost *c, double speed)
{
	double before = c->value[DIFF_A] * speed, change = c->value[DIFF_B] - before;

	return before > 0 ? 100 * change / before : change > 0 ? INFINITY : 0;
}

static bool is_beyond(const struct fail_rule *r, const struct diff_cost *c, double speed)
{
	double change = r->points ? 100 * diff_share_change(c) : relative(c, speed);

	return r->less ? change < r->limit : change > r->limit;
}

/*
 * Tells whether the change is judged relative to the change of most functions. So it is for a
 * function's own cost, if it is known how much work was done. For a total it isn't, because a
 * function's total may be that of the whole program.
 */
static bool is_beside(const struct fail_rule *r, const struct diff_facts *f)
{
	return f->diff.work_known && r->what == DIFF_SELF && !r->points;
}

/* Tells whether the change is more than noise. */
static bool is_sure(const struct fail_rule *r, const struct diff_facts *f,
		    const struct diff_cost *c)
{
	if (r->points)
		return c->share_changed;
	if (is_beside(r, f))
		return c->apart;
	return c->value_changed || (f->diff.work_known && c->changed);
}

static void explain(const struct fail_rule *r, const struct diff_facts *f,
		    const struct diff_row *row, bool beside, struct str *why)
{
	const struct diff_cost *c = &row->of[r->what];

	str_addf(why, "%s of %s went from ", r->what == DIFF_SELF ? "own cost" : "total",
		 row->name);
	if (r->points) {
		str_addf(why, "%.1f to %.1f %% of all (%+.1f points)", 100 * c->share[DIFF_A],
			 100 * c->share[DIFF_B], 100 * diff_share_change(c));
	} else {
		diff_add_value(f, c->value[DIFF_A], why);
		str_add(why, " to ");
		diff_add_value(f, c->value[DIFF_B], why);
		str_add(why, " (");
		diff_add_relative(c, why);
		if (beside && fabs(f->diff.speed - 1) >= 0.0005 && c->value[DIFF_A] > 0)
			str_addf(why,
				 "; relative to the many functions that changed by %+.1f %%, it is "
				 "%+.1f %%",
				 100 * (f->diff.speed - 1), relative(c, f->diff.speed));
		str_add(why, ")");
	}
	str_addf(why, ", beyond --fail-if '%s'", r->text);
}

/*
 * What was found among the rows whose names a limit matches. A pointer is NULL if there is no such
 * row.
 */
struct found {
	bool any;
	/* the first row that exceeds the limit by more than noise */
	const struct diff_row *hit;
	const struct diff_row *doubtful; /* a row that exceeds the limit, but perhaps by chance */
	/*
	 * of the rows that exceed the limit but changed only as much as most functions: the one
	 * that changed most
	 */
	const struct diff_row *shared;
	/* the largest of the new functions that match the limit's pattern */
	const struct diff_row *added;
};

static const struct diff_row *more(const struct fail_rule *r, const struct diff_row *a,
				   const struct diff_row *b)
{
	return !a || fabs(diff_change(&b->of[r->what])) > fabs(diff_change(&a->of[r->what])) ? b
											     : a;
}

/*
 * Adds one row to @ret. A function that is new or renamed hasn't become slower: it exceeds a limit
 * only if the limit has its exact name, not a pattern.
 */
static void look_at(const struct fail_rule *r, const struct diff_facts *f,
		    const struct diff_row *row, bool pattern, struct found *ret)
{
	const struct diff_cost *c = &row->of[r->what];
	bool beyond = is_beyond(r, c, is_beside(r, f) ? f->diff.speed : 1);

	ret->any = true;
	if (beyond && c->doubtful)
		ret->doubtful = row;
	if (beyond && is_sure(r, f, c) && pattern && c->value[DIFF_A] <= 0)
		ret->added = more(r, ret->added, row);
	else if (beyond && is_sure(r, f, c))
		ret->hit = ret->hit ? ret->hit : row;
	else if (!r->points && c->value_changed && is_beyond(r, c, 1))
		ret->shared = more(r, ret->shared, row);
}

static int find(const struct fail_rule *r, const struct diff_facts *f, struct found *ret,
		struct nearest *near)
{
	const char *name = r->name;
	struct patterns p;
	int e = patterns_init(&p, &(pattern_texts){.v = &name, .n = 1, .cap = 1});

	*ret = (struct found){};
	vec_foreach(row, &f->diff.rows) {
		if (near)
			nearest_add(near, row->name, row->name);
		if (!e && patterns_match(&p, row->name))
			look_at(r, f, row, p.list.v[0].is_glob || p.list.v[0].is_regex, ret);
	}
	patterns_fini(&p);
	return e;
}

int fail_rule_hit(const struct fail_rule *r, const struct diff_facts *f, struct str *why)
{
	_cleanup_str_ struct str others = {};
	struct nearest near;
	struct found found;
	int e;

	nearest_init(&near, r->name);
	e = find(r, f, &found, &near);
	nearest_words(&near, false, &others);
	nearest_fini(&near);
	if (e)
		return e;
	if (found.hit)
		explain(r, f, found.hit, is_beside(r, f), why);
	else if (found.doubtful)
		log_warn("--fail-if '%s': %s is beyond the limit, but in too few parts of the "
			 "recorded time to rule out chance; repeat the work",
			 r->text, found.doubtful->name);
	else if (!found.any)
		log_warn("--fail-if '%s': no function of that name is in the profiles%s", r->text,
			 str_cstr(&others));
	return found.hit != NULL;
}

static void add_change(const struct fail_rule *r, const struct diff_facts *f,
		       const struct diff_row *row, bool beside, struct str *b)
{
	str_add(b, b->n ? " The " : "The ");
	explain(r, f, row, beside, b);
}

int fail_rule_unmarked(const struct fail_rule *r, const struct diff_facts *f, struct str *b)
{
	struct found found;
	int e = find(r, f, &found, NULL);

	if (e || !found.hit || found.hit->of[r->what].changed)
		return e;
	add_change(r, f, found.hit, is_beside(r, f), b);
	str_add(b, ".");
	return 0;
}

int fail_rule_unjudged(const struct fail_rule *r, const struct diff_facts *f, struct str *b)
{
	struct found found;
	int e = find(r, f, &found, NULL);

	if (e)
		return e;
	if (found.shared && !found.hit) {
		add_change(r, f, found.shared, false, b);
		str_addf(b,
			 ", but most functions changed as much. The machine is %s, or all of the "
			 "work %s. This limit ignores such a change; a 'total:' limit finds it.",
			 r->less ? "faster" : "slower", r->less ? "shrank" : "grew");
	}
	if (found.added) {
		add_change(r, f, found.added, false, b);
		str_add(b, ", but the function is new, or has a new name. A limit with a pattern "
			   "ignores new functions; a limit with the function's name doesn't.");
	}
	return 0;
}
