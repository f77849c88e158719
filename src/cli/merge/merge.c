/* SPDX-License-Identifier: BSD-2-Clause */
/* `krait merge`: merges several profiles into one. */
#include "profile/remake/merge.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/system/log.h"
#include "base/vec.h"
#include "cli/advice.h"
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/options/window.h"
#include "cli/write.h"
#include "format/read.h"
#include "view/shape/tree.h"

#define MAX_FILES 1000

struct merge_options {
	const char *output, *format_name;
	const struct render_format *format;
	const char *store;
	VEC(struct profile_label_text) labels;
	struct render_options render;
	bool quiet;
};

typedef VEC(struct profile *) profiles;

#define FIELD(f) offsetof(struct merge_options, f)

static const struct option_row rows[] = {
	VALUE_OUTPUT_ROW(FIELD(output), NULL,
			 "where to write; the extension picks the format, - is standard output"),
	{.name = "format",
	 .arg = "FORMAT",
	 .set = value_string,
	 .field = FIELD(format_name),
	 .complete = COMPLETE_FORMAT,
	 .help = "the format, whatever the file's extension is; krait help formats lists all"},
	{.name = "add-label",
	 .arg = "KEY=VALUE",
	 .set = value_label,
	 .field = FIELD(labels),
	 .help = "write this label to every sample; may be repeated"},
	{.name = "value",
	 .arg = "TYPE",
	 .set = value_string,
	 .field = FIELD(render.value),
	 .initial = "the first profile's default",
	 .complete = "samples cpu off_cpu gil_wait gil_blame lock_blame",
	 .help = "the value that text and pictures show; in the merged profile it is the default"},
	{.name = "no-times",
	 .set = value_times_none,
	 .field = FIELD(render.times),
	 .help = "write no times, for a smaller file"},
	WINDOW_STORE_ROW(FIELD(store),
			 "windows of this store of krait agent instead of files: krait merge "
			 "--store DIR 1h 03:00..03:10 -o ALL.pb.gz"),
	VALUE_QUIET_ROW(FIELD(quiet), "Conduct"),
	OPTION_HELP,
	{},
};

static int check(struct merge_options *o, const struct operands *operands)
{
	if (!operands->n)
		return err_set(-EINVAL, "name the profiles: krait merge A B -o ALL.pb.gz");
	if (!o->output && !o->format_name)
		return err_set(-EINVAL, "name the file to write: krait merge A B -o ALL.pb.gz");
	o->format = write_format(o->format_name, o->output);
	return o->format ? 0 : -EINVAL;
}

static void free_all(profiles *all)
{
	vec_foreach(p, all)
		profile_free(*p);
	vec_fini(all);
}

static int read_files(const struct merge_options *o, const struct operands *operands, profiles *all)
{
	for (unsigned i = 0; i < operands->n; i++) {
		struct profile *p = NULL;
		int r = o->store ? window_read_text(o->store, operands->words[i], &p)
				 : read_profile_file(operands->words[i], &p);

		if (!r)
			r = vec_push(all, p);
		if (r) {
			log_error("%s", r == -ENOMEM ? "out of memory" : error_words());
			return EXIT_FAILED;
		}
		if (!profile_n_samples(p))
			log_warn("%s has no samples", operands->words[i]);
	}
	return EXIT_DONE;
}

static bool has_values(const struct profile_meta *m, const struct profile_value_type *type)
{
	for (unsigned i = 0; i < m->n_values; i++)
		if (profile_same_type(&m->values[i], type))
			return true;
	return false;
}

/* Warns of each merged file that lacks the value that the merged profile shows. */
static void warn_of_values(struct profile *p, const profiles *all, const struct operands *operands)
{
	const struct profile_meta *m = profile_meta(p);
	const struct profile_value_type *shown = &m->values[m->default_value];

	for (unsigned i = 0; i < all->n; i++) {
		const struct profile_meta *one = profile_meta(all->v[i]);

		if (!has_values(one, shown))
			log_warn("%s has no %s in %s: the merged profile doesn't show it unless "
				 "--value %s is given",
				 operands->words[i], shown->type, shown->unit,
				 one->values[one->default_value].type);
	}
}

/*
 * Makes the value called @name the default value, which is shown first. If @name is NULL, changes
 * nothing.
 */
static int choose_value(struct profile *p, const char *name)
{
	int at = name ? tree_value(p, name) : 0;

	if (name && at >= 0)
		profile_meta(p)->default_value = (unsigned)at;
	return MIN(at, 0);
}

static int merge(const struct merge_options *o, const profiles *all,
		 const struct operands *operands)
{
	struct profile *p = NULL;
	int r = profile_merge(all->v, all->n, o->labels.v, o->labels.n, &p);

	r = r ? r : choose_value(p, o->render.value);
	if (r) {
		profile_free(p);
		log_error("%s", error_words());
		return EXIT_FAILED;
	}
	warn_of_values(p, all, operands);
	r = write_file(p, o->output, o->format, &o->render);
	profile_free(p);
	return r;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct merge_options o = {.render.times = PROFILE_TIMES_EXACT};
	_cleanup_(free_all) profiles all = {};
	struct operands operands;
	int r = options_read(self, argc, argv, &o, &operands);

	if (r < 0 && check(&o, &operands)) {
		log_error("%s", error_words());
		r = EXIT_USAGE;
	}
	log_set_level(o.quiet ? LOG_WARN : LOG_NOTE);
	if (r < 0) {
		r = read_files(&o, &operands, &all);
		r = r ? r : merge(&o, &all, &operands);
	}
	vec_fini(&o.labels);
	return r;
}

const struct command command_merge = {
	.name = "merge",
	.reads_files = true,
	.summary = "Merge profiles, any tool's, into one; times are kept.",
	.synopsis = (const char *const[]){"merge [OPTIONS] FILE... -o FILE", NULL},
	.examples = (const char *const[]){"krait merge a.pb.gz b.pb.gz -o all.pb.gz\tboth as one",
					  NULL},
	.rows = rows,
	.operand = "FILE",
	.max_operands = MAX_FILES,
	.operand_is_file = true,
	.run = run,
};
