/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `krait diff`: their table, and checks of which options exclude each other. */
#include "cli/diff/options.h"

#include "base/error.h"
#include "cli/options/values.h"
#include "format/format.h"

#define FIELD(f) offsetof(struct diff_options, f)

const struct option_row diff_rows[] = {
	{.group = "What is compared",
	 .name = "a",
	 .arg = "KEY=PATTERN",
	 .set = view_value_label,
	 .field = FIELD(side[DIFF_A]),
	 .help = "with one file: the label of the samples before"},
	{.name = "b",
	 .arg = "KEY=PATTERN",
	 .set = view_value_label,
	 .field = FIELD(side[DIFF_B]),
	 .help = "with one file: the label of the samples after"},
	{.name = "store",
	 .arg = "DIR",
	 .set = value_string,
	 .field = FIELD(store),
	 .complete = COMPLETE_FILE,
	 .help = "windows of this store of krait agent instead of files: krait diff --store DIR "
		 "10:00..10:10 11:00..11:10"},
	{.name = "per",
	 .arg = "NAME=N,M",
	 .set = value_string,
	 .field = FIELD(per),
	 .initial = "runs, if both commands ran to their end",
	 .help = "how much work was done before and after, as in requests=12000,13500: costs are "
		 "then compared per unit of work. Without this option, and without runs that ended "
		 "with 0, only shares are compared"},
	{.name = "value",
	 .arg = "TYPE",
	 .set = value_string,
	 .field = FIELD(value),
	 .initial = "the profiles' own default",
	 .complete = "samples cpu off_cpu wall gil_wait gil_blame lock_blame",
	 .help = "the value that is compared; TYPE/UNIT if several have the same name"},
	{.name = "idle",
	 .set = value_flag,
	 .field = FIELD(idle),
	 .help = "with --value off_cpu: waits of threads without work too (a pool's worker, a "
		 "server that waits for clients); without --idle only the sum of these waits is "
		 "shown"},
	{.name = "fail-if",
	 .arg = "LIMIT",
	 .set = value_strings,
	 .field = FIELD(fail_texts),
	 .help = "exit with 4 if a function's change is more than noise and beyond this: "
		 "own:module.function>+5%, total:json.*>+2points; may be repeated"},
	VALUE_OUTPUT_ROW(FIELD(output), "standard output", "where to write"),
	{.name = "format",
	 .arg = "FORMAT",
	 .set = value_string,
	 .field = FIELD(format_name),
	 .initial = "text",
	 .complete = "text md json html",
	 .help = "text, md (Markdown, for a job's summary), json, or html: a page with both "
		 "profiles as one flame graph; the file's extension picks the format too"},
	{.name = "json",
	 .set = value_flag,
	 .field = FIELD(json),
	 .help = "the same as --format json"},
	{.name = "limit",
	 .letter = 'n',
	 .arg = "N",
	 .set = view_value_rows,
	 .field = FIELD(limit),
	 .initial = "10",
	 .help = "rows of the table"},
	SOURCE_ROWS(FIELD(source), "html: ", "by default only what the compared pages have"),
	VIEW_SAMPLE_ROWS(FIELD(view)),
	VIEW_TIME_ROWS(FIELD(view)),
	VIEW_GRAIN_ROWS(FIELD(view)),
	VIEW_NATIVE_ROW(FIELD(view)),
	VIEW_BY_OWN_ROW(
		FIELD(view), NULL,
		"a row for each process, thread or cgroup by name, state of the GIL (gil; without "
		"--wall only of running threads) or value of another label; in a page an "
		"outermost frame"),
	VIEW_MINE_ROW(FIELD(view)),
	VALUE_QUIET_ROW(FIELD(quiet), "Conduct"),
	VALUE_COLOR_ROW(FIELD(color)),
	OPTION_HELP,
	{},
};

const struct option_refusal diff_refused[] = {
	{"invert", "a table of functions has no stacks to invert; write a page (-o FILE.html) and "
		   "invert them there"},
	{},
};

static int bad_per(const char *text)
{
	return err_set(-EINVAL,
		       "--per: '%s' is not a count for each side; write as in "
		       "--per requests=12000,13500",
		       text);
}

static int parse_per(struct diff_options *o)
{
	const char *equals = o->per ? strchr(o->per, '=') : NULL;
	char *end;

	if (!o->per)
		return 0;
	if (!equals || equals == o->per)
		return bad_per(o->per);
	o->per_counts[DIFF_A] = strtod(equals + 1, &end);
	if (*end != ',')
		return bad_per(o->per);
	o->per_counts[DIFF_B] = strtod(end + 1, &end);
	if (*end || !(o->per_counts[DIFF_A] > 0) || !(o->per_counts[DIFF_B] > 0) ||
	    o->per_counts[DIFF_A] > 1e18 || o->per_counts[DIFF_B] > 1e18)
		return bad_per(o->per);
	o->per_name = strndup(o->per, (size_t)(equals - o->per));
	return o->per_name ? 0 : err_set(-ENOMEM, "out of memory");
}

static int parse_rules(struct diff_options *o)
{
	vec_foreach(text, &o->fail_texts) {
		struct fail_rule rule = {};
		int r = fail_rule_parse(*text, &rule);

		if (!r && vec_push(&o->rules, rule))
			r = err_set(-ENOMEM, "out of memory");
		if (r) {
			fail_rule_fini(&rule);
			return r == -EINVAL ? err_wrap(r, "--fail-if") : r;
		}
	}
	return 0;
}

static int choose_format(struct diff_options *o)
{
	const char *name = o->json ? "json" : o->format_name ? o->format_name : "text";

	if (o->json && o->format_name)
		return err_set(-EINVAL, "--json and --format exclude each other; keep one");
	if (!o->format_name && o->output && str_ends(o->output, ".md"))
		name = "md";
	if (!o->format_name && o->output && str_ends(o->output, ".json"))
		name = "json";
	if (!o->format_name && o->output && str_ends(o->output, ".html"))
		name = "html";
	if (streq(name, "text"))
		o->print = diff_print_text;
	else if (streq(name, "md"))
		o->print = diff_print_md;
	else if (streq(name, "json"))
		o->print = diff_print_json;
	else if (streq(name, "html"))
		o->print = diff_print_page;
	return o->print ? 0
			: err_set(-EINVAL,
				  "--format %s: no such format; there are text, md, json and html",
				  name);
}

/*
 * Refuses an output whose name ends like a format that can't hold a comparison: the user has
 * probably mistyped the name, or forgotten --format.
 */
static int check_name(const struct diff_options *o)
{
	const struct render_format *named =
		o->json || o->format_name || !o->output ? NULL : render_by_file(o->output);

	if (!named || streq(named->name, "html") || str_ends(o->output, ".txt"))
		return 0;
	return err_set(-EINVAL,
		       "%s is a name for %s, a format that can't hold a comparison; use .txt, "
		       ".md, .json or .html, or --format",
		       o->output, named->name);
}

bool diff_is_page(const struct diff_options *o)
{
	return o->print == diff_print_page;
}

bool diff_of_one_file(const struct diff_options *o, const struct operands *operands)
{
	return operands->n == 1 && !o->store && !o->side[DIFF_A].n && !o->side[DIFF_B].n;
}

int diff_options_check(struct diff_options *o, const struct operands *operands)
{
	bool labels = o->side[DIFF_A].n && o->side[DIFF_B].n;
	int r;

	if (operands->n == 0)
		return err_set(-EINVAL, "name two profiles: krait diff BEFORE AFTER");
	if (operands->n == 1 && !labels && !diff_of_one_file(o, operands))
		return err_set(-EINVAL,
			       "one profile is compared by labels: krait diff %s --a "
			       "version=1 --b version=2",
			       operands->operand);
	if (operands->n == 2 && (o->side[DIFF_A].n || o->side[DIFF_B].n))
		return err_set(-EINVAL,
			       "--a and --b are for one profile; name one, or use --label");
	if (o->view.labels.n && (o->side[DIFF_A].n || o->side[DIFF_B].n))
		return err_set(-EINVAL,
			       "--label doesn't go with --a and --b; add the label to --a and --b");
	if (operands->n == 1 && streq(operands->operand, "-"))
		return err_set(-EINVAL, "standard input can be read once; name a file");
	if (operands->n == 2 && streq(operands->words[0], "-") && streq(operands->words[1], "-"))
		return err_set(-EINVAL, "standard input can be read once; name a file");
	r = parse_per(o);
	r = r ? r : parse_rules(o);
	r = r ? r : choose_format(o);
	r = r ? r : check_name(o);
	r = r ? r : source_options_mode(&o->source, &o->source_mode);
	if (!r && o->source_mode != SOURCE_OWN && !diff_is_page(o))
		return err_set(-EINVAL, "only a page shows source text; %s does nothing here",
			       o->source.all ? "--source" : "--no-source");
	if (!r && o->view.by && !diff_is_page(o) && o->view.grain != VIEW_AS_IS)
		return err_set(-EINVAL, "--by excludes --lines, --functions and --modules; "
					"keep one of them");
	return r ? r : view_options_check(&o->view);
}

void diff_options_fini(struct diff_options *o)
{
	vec_foreach(rule, &o->rules)
		fail_rule_fini(rule);
	vec_fini(&o->rules);
	vec_fini(&o->fail_texts);
	vec_fini(&o->side[DIFF_A]);
	vec_fini(&o->side[DIFF_B]);
	view_options_fini(&o->view);
	free(o->per_name);
}
