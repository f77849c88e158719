/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a file that holds two profiles: a page that compares two recordings, or a file of
 * difffolded.pl, in which each line has two counts. See read.h.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "format/common/embedded.h"
#include "format/folded/folded_in.h"
#include "format/pprof/pprof.h"
#include "format/read.h"
#include "picture/html/html_diff.h"
#include "profile/remake/merge.h"

static const char *const tags[] = {EMBEDDED_BEFORE, EMBEDDED_AFTER};
static const char *const words[] = {HTML_DIFF_BEFORE, HTML_DIFF_AFTER};

bool read_two_probe(const uint8_t *data, size_t n)
{
	return embedded_find((const char *)data, n, tags[0]);
}

static int read_side(const uint8_t *data, size_t n, int side, struct profile **ret)
{
	const char *start = embedded_find((const char *)data, n, tags[side]);
	_cleanup_free_ uint8_t *pprof = NULL;
	size_t pprof_n;
	int r;

	if (!start)
		return err_set(-EINVAL,
			       "this isn't a page that compares two recordings: '%s' is missing",
			       words[side]);
	r = embedded_decode((const char *)data, n, start, &pprof, &pprof_n);
	if (r)
		return r;
	r = pprof_read(pprof, pprof_n, ret);
	return r ? err_wrap(r, "can't read the recording '%s' in the page", words[side]) : 0;
}

/* Returns the index of the value called @name; -1: the profile has no such value. */
static int find_value(struct profile *p, const char *name)
{
	const struct profile_meta *m = profile_meta(p);

	for (unsigned i = 0; i < m->n_values; i++)
		if (streq(m->values[i].type, name))
			return (int)i;
	return -1;
}

/*
 * Makes two profiles of @p, which has the values "before" and "after". Each profile gets one of the
 * two values, under the name "samples".
 */
static int split_values(struct profile *p, struct profile *ret[2])
{
	const int at[2] = {find_value(p, FOLDED_BEFORE), find_value(p, FOLDED_AFTER)};
	const struct profile_meta *m = profile_meta(p);
	int r;

	if (at[0] < 0 || at[1] < 0 || !streq(m->values[at[0]].unit, m->values[at[1]].unit))
		return err_of("sides", NULL, -EINVAL,
			      "this is one recording, not a comparison: name another one to "
			      "compare it with, or compare labels");
	for (int side = 0; side < 2; side++) {
		r = profile_merge(&p, 1, NULL, 0, &ret[side]);
		if (r)
			return r;
		profile_meta(ret[side])->values[at[side]].type = "samples";
		profile_meta(ret[side])->default_value = (unsigned)at[side];
	}
	return 0;
}

static int read_values(const uint8_t *data, size_t n, struct profile *ret[2])
{
	struct profile *p;
	int r = read_profile(data, n, &p);

	if (r)
		return r;
	r = split_values(p, ret);
	if (r) {
		profile_free(ret[0]);
		ret[0] = NULL;
	}
	profile_free(p);
	return r;
}

int read_two(const uint8_t *data, size_t n, struct profile *ret[2])
{
	int r;

	if (!read_two_probe(data, n))
		return read_values(data, n, ret);
	r = read_side(data, n, 0, &ret[0]);
	if (r)
		return r;
	r = read_side(data, n, 1, &ret[1]);
	if (r) {
		profile_free(ret[0]);
		ret[0] = NULL;
	}
	return r;
}

/*
 * Replaces *p by a copy that has the label "diff" with the value @word, which tells the two
 * profiles apart.
 */
static int add_label(struct profile **p, const char *word)
{
	struct profile_label_text label = {HTML_DIFF_LABEL, strlen(HTML_DIFF_LABEL), word};
	struct profile *labelled;
	int r = profile_merge(p, 1, &label, 1, &labelled);

	if (r)
		return r;
	profile_free(*p);
	*p = labelled;
	return 0;
}

int read_two_as_one(const uint8_t *data, size_t n, struct profile **ret)
{
	struct profile *both[2] = {};
	int r = read_two(data, n, both);

	for (int side = 0; !r && side < 2; side++)
		r = add_label(&both[side], words[side]);
	if (!r)
		r = profile_merge(both, 2, NULL, 0, ret);
	profile_free(both[0]);
	profile_free(both[1]);
	return r;
}
