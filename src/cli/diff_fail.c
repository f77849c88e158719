/* SPDX-License-Identifier: BSD-2-Clause */
/* --fail-if: a limit for the change of a function, for CI; see diff.h. */
#include <ctype.h>
#include <math.h>
#include "base/error.h"
#include "base/log.h"
#include "base/nearest.h"
#include "cli/diff.h"

static int bad(const char *text)
{
	return err_set(-EINVAL,
		       "'%s' is not a limit; write as in 'own:module.function>+5%%' or "
		       "'total:module.function>+2points'",
		       text);
}

/* The last '<' or '>' with a number behind it: names have them too, as in "<locals>". */
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
	if (str_starts(text, "own:") || str_starts(text, "self:")) /* a stored rule's word */
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

static double relative(const struct diff_cost *c)
{
	double before = c->value[DIFF_A], change = diff_change(c);

	return before > 0 ? 100 * change / before : change > 0 ? INFINITY : 0;
}

static bool is_beyond(const struct fail_rule *r, const struct diff_cost *c)
{
	double change = r->points ? 100 * diff_share_change(c) : relative(c);

	return r->less ? change < r->limit : change > r->limit;
}

/*
 * Is its change more than noise? Where the work is known, a total may be of the whole program, so it also
 * changes with the machine's speed. An own cost is one function's, and what all functions did alike isn't.
 */
static bool is_sure(const struct fail_rule *r, const struct diff_facts *f,
		    const struct diff_cost *c)
{
	if (r->points)
		return c->share_changed;
	if (!f->diff.work_known)
		return c->value_changed;
	return c->changed || (r->what == DIFF_TOTAL && c->value_changed);
}

static bool hits(const struct fail_rule *r, const struct diff_facts *f, const struct diff_cost *c)
{
	return is_sure(r, f, c) && is_beyond(r, c);
}

static void explain(const struct fail_rule *r, const struct diff_facts *f,
		    const struct diff_row *row, struct str *why)
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
		str_add(why, ")");
	}
	str_addf(why, ", beyond --fail-if '%s'", r->text);
}

int fail_rule_hit(const struct fail_rule *r, const struct diff_facts *f, struct str *why)
{
	_cleanup_str_ struct str others = {};
	struct patterns p;
	const char *name = r->name, *doubtful = NULL;
	bool found = false;
	struct nearest near;
	int hit = patterns_init(&p, &(pattern_texts){.v = &name, .n = 1, .cap = 1});

	nearest_init(&near, name);
	vec_foreach(row, &f->diff.rows) {
		nearest_add(&near, row->name, row->name);
		if (hit || !patterns_match(&p, row->name))
			continue;
		found = true;
		if (row->of[r->what].doubtful && is_beyond(r, &row->of[r->what]))
			doubtful = row->name;
		if (hits(r, f, &row->of[r->what])) {
			explain(r, f, row, why);
			hit = 1;
		}
	}
	if (!hit && doubtful)
		log_warn("--fail-if '%s': %s went beyond that in too few stretches of time to tell "
			 "it from chance; repeat the work",
			 r->text, doubtful);
	nearest_words(&near, false, &others);
	if (!hit && !found)
		log_warn("--fail-if '%s': no function of that name is in the profiles%s", r->text,
			 str_cstr(&others));
	nearest_fini(&near);
	patterns_fini(&p);
	return hit;
}
