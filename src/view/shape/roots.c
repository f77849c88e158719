/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes root frames for processes, threads and labels; see roots.h. */
#include "view/shape/roots.h"

#include "base/cleanup.h"
#include "base/error.h"

/* Appends "name (pid 12)", or the part of it that is known. */
static void name_and_id(struct str *b, const char *name, const char *key, const char *id)
{
	if (*name && *id)
		str_addf(b, "%s (%s %s)", name, key, id);
	else if (*name)
		str_add(b, name);
	else if (*id)
		str_addf(b, "%s %s", key, id);
}

void roots_by_text(const struct profile *p, uint32_t labels, const char *by, struct str *b)
{
	if (streq(by, "process"))
		name_and_id(b, profile_label_text(p, labels, "process"), "pid",
			    profile_label_text(p, labels, "pid"));
	else if (streq(by, "thread"))
		name_and_id(b, profile_label_text(p, labels, "thread"), "tid",
			    profile_label_text(p, labels, "tid"));
	else
		str_add(b, profile_label_text(p, labels, by));
}

static void process_text(const struct profile *p, uint32_t labels, struct str *b)
{
	const char *name = profile_label_text(p, labels, "process");

	if (*name)
		str_add(b, name);
	else
		name_and_id(b, "", "pid", profile_label_text(p, labels, "pid"));
}

typedef void (*text_fn)(const struct profile *p, uint32_t labels, const char *by, struct str *b);

static void process_of(const struct profile *p, uint32_t labels, const char *by, struct str *b)
{
	process_text(p, labels, b);
}

/* Ranks the texts of the label sets in use. *missing: how many of these label sets have no text. */
static int distinct(struct rank *r, const struct profile *p, const bool *used, text_fn text,
		    const char *by, size_t *missing)
{
	_cleanup_str_ struct str b = {};

	*missing = 0;
	for (uint32_t id = 0; id <= profile_n_labels(p); id++) {
		if (!used[id])
			continue;
		str_clear(&b);
		text(p, id, by, &b);
		if (!b.n)
			(*missing)++;
		else if (rank_add(r, b.s))
			return -ENOMEM;
	}
	return rank_finish(r);
}

/* Counts processes, and finds the name that all processes share. */
static int count_processes(struct roots *roots, const struct profile *p, const bool *used)
{
	_cleanup_(rank_fini) struct rank names = {}, processes = {};
	size_t missing, unused;
	int r = distinct(&names, p, used, process_of, NULL, &missing);

	if (!r)
		r = distinct(&processes, p, used, roots_by_text, "process", &unused);
	if (r)
		return r;
	roots->n_processes = processes.n;
	if (names.n == 1 && !missing) {
		roots->process = strdup(rank_text(&names, 0));
		if (!roots->process)
			return -ENOMEM;
	}
	return 0;
}

static int check_by(const struct profile *p, const bool *used, const char *by)
{
	_cleanup_(rank_fini) struct rank r = {};
	size_t missing;

	if (distinct(&r, p, used, roots_by_text, by, &missing))
		return -ENOMEM;
	if (!r.n && missing)
		return err_of("grouping", by, -EINVAL, "no sample has the label '%s'", by);
	return 0;
}

static int add_texts(struct roots *roots, const struct profile *p, const char *by, bool process)
{
	_cleanup_str_ struct str b = {};

	for (uint32_t id = 0; id <= profile_n_labels(p); id++) {
		if (process) {
			str_clear(&b);
			process_text(p, id, &b);
			if (!b.n)
				profile_add_no_label(&b, "process");
			if (b.failed || rank_add(&roots->texts, b.s))
				return -ENOMEM;
		}
		if (by) {
			str_clear(&b);
			roots_by_text(p, id, by, &b);
			if (!b.n)
				profile_add_no_label(&b, by);
			if (b.failed || rank_add(&roots->texts, b.s))
				return -ENOMEM;
		}
	}
	return rank_finish(&roots->texts);
}

/*
 * Returns an array with an entry for each label set: whether samples have it. NULL: out of memory.
 * The caller frees it.
 */
static bool *labels_used(const struct profile *p, const struct profile_sum *sums, size_t n)
{
	bool *used = calloc((size_t)profile_n_labels(p) + 1, sizeof(*used));

	for (size_t i = 0; used && i < n; i++)
		used[sums[i].labels] = true;
	return used;
}

int roots_check(const struct profile *p, const struct profile_sum *sums, size_t n, const char *by)
{
	_cleanup_free_ bool *used = labels_used(p, sums, n);
	int r = used ? check_by(p, used, by) : -ENOMEM;

	return r && r != -EINVAL ? err_set(r, "out of memory") : r;
}

int roots_init(struct roots *roots, struct profile *p, const struct profile_sum *sums, size_t n,
	       const char *by)
{
	_cleanup_free_ bool *used = labels_used(p, sums, n);
	bool process;
	int r = -ENOMEM;

	*roots = (struct roots){};
	if (!used)
		goto oom;
	if (by) {
		r = check_by(p, used, by);
		if (r == -EINVAL)
			return r;
		if (r)
			goto oom;
	}
	r = count_processes(roots, p, used);
	if (r)
		goto oom;
	/* with --by process, each process has a root frame anyway */
	process = roots->n_processes > 1 && !(by && streq(by, "process"));
	roots->depth = process + !!by;
	if (roots->depth)
		r = add_texts(roots, p, by, process);
	if (!r)
		return 0;
oom:
	roots_fini(roots);
	return err_set(r, "out of memory");
}

void roots_fini(struct roots *roots)
{
	free(roots->process);
	rank_fini(&roots->texts);
	*roots = (struct roots){};
}

uint32_t roots_rank(const struct roots *roots, uint32_t labels, unsigned d)
{
	return roots->texts.of[(size_t)labels * roots->depth + d];
}

void roots_title(const struct roots *roots, const char *title, struct str *b)
{
	if (!title)
		title = roots->process;
	if (title && *title)
		str_add(b, title);
	else if (!title && roots->n_processes > 1)
		str_addf(b, "%zu processes", roots->n_processes);
	else
		str_add(b, "Profile");
}
