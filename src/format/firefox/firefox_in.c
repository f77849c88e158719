/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a Firefox profile: its threads and their samples; see firefox_in.h. */
#include "format/firefox/firefox_in.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/firefox/firefox_in_tables.h"

#define NEWEST 75
#define MS     6 /* 10^MS is what the file's milliseconds are multiplied by, to get ns */

/* A thread of the file. Its samples are read when all its members are known. */
struct thread {
	struct json_in samples, stack, time, deltas, weight;
	struct str weight_type, name, process, pid, tid;
	/* krait made up the thread's name (.no_name) or the process's name (.no_process) */
	bool no_name, no_process;
	bool is_count;
	unsigned value; /* index of the value type of the thread's weights */
	uint32_t labels;
};

/*
 * Gives the thread's type of weight a value type in the profile. Each type of weight has its own.
 */
static int take_type(struct ff_reader *r, struct thread *t)
{
	static const struct {
		const char *word;
		struct profile_value_type type;
	} types[] = {{"samples", {"samples", "count"}},
		     {"tracing-ms", {"time", "nanoseconds"}},
		     {"bytes", {"bytes", "bytes"}}};
	const char *word = t->weight_type.n ? str_cstr(&t->weight_type) : "samples";
	struct profile_meta *m = profile_meta(r->p);
	struct profile_value_type type;
	size_t i = 0;

	while (i < ARRAY_SIZE(types) && !streq(word, types[i].word))
		i++;
	if (i == ARRAY_SIZE(types))
		return ff_bad(&t->samples, "weightType",
			      "the type must be samples, tracing-ms or bytes");
	type = types[i].type;
	t->is_count = i == 0;
	if (t->is_count && r->counts.micro)
		type.unit = PROFILE_MICROCOUNT;
	for (t->value = 0; t->value < m->n_values; t->value++)
		if (profile_same_type(&m->values[t->value], &type))
			return 0;
	m->values[m->n_values++] = type;
	return 0;
}

/*
 * Reads the next item of a list that has one item for each item of the list "stack". If the file
 * has no such list, or the item isn't a number, *ret is @otherwise.
 */
static int read_beside(struct ff_reader *r, struct json_in *in, const char *field, int times,
		       int64_t otherwise, int64_t *ret)
{
	bool known, none;
	int more, err;

	*ret = otherwise;
	if (!in->at)
		return 0;
	more = json_in_item(in);
	if (more <= 0)
		return more ? ff_in_field(more, field)
			    : ff_bad(in, field, "there are more stacks than items in this list");
	ff_skip_blanks(in);
	none = *in->at == 'n'; /* the item is null */
	err = viewer_in_scaled(FF_FORMAT, in, field, times, ret, &known);
	r->n_no_number += !known && !none;
	*ret = known ? *ret : otherwise;
	return err;
}

/*
 * Reads the weight of a sample, in the unit of the weight's value type. A missing weight counts as
 * 1.
 */
static int read_weight(struct ff_reader *r, struct thread *t, int64_t *ret)
{
	struct json_in *in = &t->weight;
	int64_t one = r->counts.micro ? 1000000 : 1;
	bool known = false;
	int more, err;

	if (!t->is_count)
		return read_beside(r, in, "weight",
				   streq(str_cstr(&t->weight_type), "bytes") ? 0 : MS, 1, ret);
	*ret = one;
	more = in->at ? json_in_item(in) : 1;
	if (!in->at || more <= 0)
		return more ? ff_in_field(MIN(more, 0), "weight")
			    : ff_bad(in, "weight", "there are more stacks than weights");
	err = viewer_in_count(FF_FORMAT, in, "weight", &r->counts, ret, &known);
	*ret = known ? *ret : one;
	return err;
}

static int add_sample(struct ff_reader *r, const struct thread *t, int32_t stack, int64_t time_ns,
		      int64_t weight)
{
	struct profile_sample s = {.labels = t->labels, .time_ns = MAX(time_ns, (int64_t)-1)};
	int err;

	/*
	 * A sample without weight adds nothing to the profile. In krait's files such samples mark
	 * where a run of samples ends or a pause begins.
	 */
	if (!weight)
		return 0;
	s.values[t->value] = weight;
	err = ff_stack(r, stack, &s.stack);
	return err || !s.stack ? err : profile_add(r->p, &s);
}

static int enter_list(struct json_in *in, const char *field)
{
	return in->at ? ff_in_field(json_in_enter(in, '['), field) : 0;
}

/*
 * Reads the samples from lists of equal length. A time delta is counted from the preceding sample.
 */
static int read_samples(struct ff_reader *r, struct thread *t)
{
	bool timed = t->time.at || t->deltas.at;
	int64_t now = 0;
	int more, err = enter_list(&t->stack, "stack");

	err = err ? err : enter_list(&t->time, "time");
	err = err ? err : enter_list(&t->deltas, "timeDeltas");
	err = err ? err : enter_list(&t->weight, "weight");
	while (!err && (more = json_in_item(&t->stack))) {
		struct json_in before;
		int64_t delta, weight;
		int32_t stack;

		if (more < 0)
			return ff_in_field(more, "stack");
		ff_skip_blanks(&t->stack);
		before = t->stack;
		r->at = &before;
		err = ff_read_number(&t->stack, "stack", &stack);
		err = err ? err : read_beside(r, &t->time, "time", MS, now, &now);
		err = err ? err : read_beside(r, &t->deltas, "timeDeltas", MS, 0, &delta);
		if (!err && t->deltas.at && __builtin_add_overflow(now, delta, &now))
			err = ff_bad(&t->deltas, "timeDeltas",
				     "the sum of the times doesn't fit in 64 bits");
		err = err ? err : read_weight(r, t, &weight);
		err = err ? err : add_sample(r, t, stack, timed && now >= 0 ? now : -1, weight);
	}
	return err;
}

/* Finds the lists that "samples" has, and the type of the weights. */
static int find_samples(struct ff_reader *r, struct thread *t)
{
	struct json_in in = t->samples;
	int more, err = in.at ? ff_in_field(json_in_enter(&in, '{'), "samples") : 0;

	while (!err && in.at && (more = json_in_key(&in, &r->key))) {
		const char *key = str_cstr(&r->key);
		struct json_in before = in;

		if (more < 0)
			return ff_in_field(more, "samples");
		if (streq(key, "weightType")) {
			err = viewer_in_text(FF_FORMAT, &in, "weightType", &t->weight_type);
			continue;
		}
		err = ff_in_field(json_in_skip(&in), "samples");
		/* the member is null: the file has no such list */
		if (in.at[-1] != ']')
			continue;
		if (streq(key, "stack"))
			t->stack = before;
		else if (streq(key, "time"))
			t->time = before;
		else if (streq(key, "timeDeltas"))
			t->deltas = before;
		else if (streq(key, "weight"))
			t->weight = before;
	}
	if (!err && t->time.at)
		t->deltas.at = NULL;
	return err;
}

/* Tells whether @id is one that krait writes where the recording has none. */
static bool is_made_up(const struct ff_reader *r, const struct str *id)
{
	return r->of_krait && strtoull(str_cstr(id), NULL, 10) >= PROFILE_MADE_UP_ID;
}

/*
 * Reads the member of the file that only krait writes: it lists the names that krait has made up.
 */
static int read_made_up(struct ff_reader *r, struct json_in *in, struct thread *t)
{
	int more, err = ff_in_field(json_in_enter(in, '['), "made_up");

	while (!err && (more = json_in_item(in))) {
		err = more < 0 ? ff_in_field(more, "made_up")
			       : viewer_in_text(FF_FORMAT, in, "made_up", &r->text);
		t->no_name |= streq(str_cstr(&r->text), "name");
		t->no_process |= streq(str_cstr(&r->text), "processName");
	}
	return err;
}

static int take_labels(struct ff_reader *r, struct thread *t)
{
	const struct {
		const char *key;
		const struct str *text;
		bool made_up;
	} all[] = {{"pid", &t->pid, is_made_up(r, &t->pid)},
		   {"process", &t->process, t->no_process},
		   {"tid", &t->tid, is_made_up(r, &t->tid)},
		   {"thread", &t->name, t->no_name}};
	struct profile_label labels[ARRAY_SIZE(all)];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].text->n && !all[i].made_up)
			labels[n++] = (struct profile_label){
				profile_string(r->p, all[i].key),
				profile_string_n(r->p, all[i].text->s, all[i].text->n)};
	t->labels = profile_labels(r->p, labels, n);
	return profile_failed(r->p) ? VIEWER_NO_MEMORY : 0;
}

static int find_thread(struct ff_reader *r, struct json_in *in, struct thread *t)
{
	int more, err = ff_in_field(json_in_enter(in, '{'), "threads");

	while (!err && (more = json_in_key(in, &r->key))) {
		const char *key = str_cstr(&r->key);
		int taken;

		if (more < 0)
			return ff_in_field(more, "threads");
		if (streq(key, "name") || streq(key, "processName")) {
			err = viewer_in_text(FF_FORMAT, in, key,
					     *key == 'n' ? &t->name : &t->process);
			continue;
		}
		if (streq(key, "pid") || streq(key, "tid")) {
			err = viewer_in_id(FF_FORMAT, in, key, *key == 'p' ? &t->pid : &t->tid);
			continue;
		}
		if (r->of_krait && streq(key, "made_up")) {
			err = read_made_up(r, in, t);
			continue;
		}
		taken = ff_take_table(r, in, &r->own);
		if (taken) {
			err = MIN(taken, 0);
			continue;
		}
		if (streq(key, "samples"))
			t->samples = *in;
		err = ff_in_field(json_in_skip(in), "threads");
	}
	return err;
}

static void thread_fini(struct thread *t)
{
	str_fini(&t->weight_type);
	str_fini(&t->name);
	str_fini(&t->process);
	str_fini(&t->pid);
	str_fini(&t->tid);
}

static int read_thread(struct ff_reader *r, struct json_in *in)
{
	_cleanup_(thread_fini) struct thread t = {};
	bool own_before = r->own.any;
	int err;

	ff_tables_fini(&r->own);
	err = find_thread(r, in, &t);
	err = err ? err : find_samples(r, &t);
	err = err ? err : take_labels(r, &t);
	/*
	 * locations and stacks that came from a thread's own tables are valid for that thread only
	 */
	if (own_before || r->own.any)
		r->locations.n = r->nodes.n = 0;
	r->thread++;
	err = err ? err : ff_check_tables(r);
	if (err || !t.stack.at)
		return err;
	err = take_type(r, &t);
	return err ? err : read_samples(r, &t);
}

static int read_threads(struct ff_reader *r)
{
	struct json_in in = r->threads;
	struct profile_meta *m = profile_meta(r->p);
	int more, err = ff_in_field(json_in_enter(&in, '['), "threads");

	while (!err && (more = json_in_item(&in)))
		err = more < 0 ? ff_in_field(more, "threads") : read_thread(r, &in);
	if (!m->n_values)
		m->values[m->n_values++] = (struct profile_value_type){"samples", "count"};
	m->period_type = m->values[0];
	m->period = 1;
	if (r->counts.rounded && r->counts.has_fraction)
		profile_add_comment(r->p, COMMENTS_MENDED,
				    "counts are rounded: some are too large for fractions");
	err = err ? err
		  : viewer_in_note(r->p, COMMENTS_LEFT_OUT, r->n_no_stack, "sample",
				   "whose stack isn't in the file");
	return err ? err
		   : viewer_in_note(r->p, COMMENTS_MENDED, r->n_no_number, "time",
				    "or weight, of a sample, that isn't a number or doesn't fit");
}

/*
 * Collects the texts of member @member of all objects in a list; "" if an object lacks the member.
 */
static int read_members(struct ff_reader *r, struct json_in *in, const char *field,
			const char *member, struct ff_texts *to)
{
	_cleanup_str_ struct str text = {};
	int more, err = ff_in_field(json_in_enter(in, '['), field);

	while (!err && (more = json_in_item(in))) {
		str_clear(&text);
		err = ff_in_field(more < 0 ? more : json_in_enter(in, '{'), field);
		while (!err && (more = json_in_key(in, &r->key))) {
			if (more < 0)
				err = ff_in_field(more, field);
			else if (streq(str_cstr(&r->key), member))
				err = viewer_in_text(FF_FORMAT, in, member, &text);
			else
				err = ff_in_field(json_in_skip(in), field);
		}
		err = err ? err : ff_add_text(to, &text);
	}
	return err;
}

static int take_version(struct json_in *in)
{
	int64_t version;
	int err = ff_in_field(json_in_integer(in, &version), "preprocessedProfileVersion");

	if (!err && version > NEWEST)
		return err_set(-EINVAL,
			       FF_FORMAT
			       ": preprocessedProfileVersion: byte %zu: it is %lld; krait "
			       "knows the format up to %d",
			       (size_t)(in->at - in->start), (long long)version, NEWEST);
	return err;
}

static int read_meta(struct ff_reader *r)
{
	struct json_in in = r->meta;
	int more, err = ff_in_field(json_in_enter(&in, '{'), "meta");
	bool processed = false;

	while (!err && (more = json_in_key(&in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			return ff_in_field(more, "meta");
		if (streq(key, "preprocessedProfileVersion")) {
			processed = true;
			err = take_version(&in);
		} else if (streq(key, "importedFrom")) {
			err = viewer_in_text(FF_FORMAT, &in, "importedFrom", &r->text);
			r->of_krait = streq(str_cstr(&r->text), "krait");
		} else if (streq(key, "startTime")) {
			err = ff_in_field(json_in_scaled(&in, MS, &profile_meta(r->p)->time_ns),
					  "startTime");
		} else if (streq(key, "categories") && !r->categories.starts.n) {
			err = read_members(r, &in, "categories", "name", &r->categories);
		} else {
			err = ff_in_field(json_in_skip(&in), "meta");
		}
	}
	if (!err && !processed)
		err = ff_bad(
			&r->meta, "meta",
			"this is Firefox's raw profile; open it in profiler.firefox.com and save "
			"it there, as krait reads processed ones");
	return err;
}

static int read_file(struct ff_reader *r, struct json_in in)
{
	int more, err = ff_in_field(json_in_enter(&in, '{'), "the file");

	while (!err && (more = json_in_key(&in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			return ff_in_field(more, "the file");
		if (streq(key, "meta"))
			r->meta = in;
		else if (streq(key, "libs"))
			r->libs = in;
		else if (streq(key, "shared"))
			r->shared_at = in;
		else if (streq(key, "threads"))
			r->threads = in;
		err = ff_in_field(json_in_skip(&in), "the file");
	}
	err = err ? err : ff_in_field(json_in_end(&in), "the file");
	if (!err && (!r->meta.at || !r->threads.at))
		err = ff_bad(&in, r->meta.at ? "threads" : "meta", "the file lacks this member");
	err = err ? err : read_meta(r);
	if (!err && r->libs.at)
		err = read_members(r, &r->libs, "libs", "path", &r->lib_paths);
	err = err ? err : ff_read_shared(r);
	return err ? err : read_threads(r);
}

/*
 * Reads the file once. *counts: on entry, how counts are to be kept; on return, also which kinds of
 * counts the file has.
 */
static int read_once(struct json_in in, size_t n, struct viewer_counts *counts,
		     struct profile **ret)
{
	struct ff_reader r = {.p = profile_new(),
			      .budget = VIEWER_BUDGET(n),
			      .steps = VIEWER_STEPS(n, in.end - in.start),
			      .counts = *counts};
	int err = r.p ? read_file(&r, in) : VIEWER_NO_MEMORY;

	*counts = r.counts;
	ff_tables_fini(&r.shared);
	ff_tables_fini(&r.own);
	ff_texts_fini(&r.lib_paths);
	ff_texts_fini(&r.categories);
	vec_fini(&r.locations);
	vec_fini(&r.nodes);
	vec_fini(&r.path);
	str_fini(&r.key);
	str_fini(&r.text);
	if (err)
		profile_free(r.p);
	else
		*ret = r.p;
	return err;
}

int firefox_read(const uint8_t *data, size_t n, struct profile **ret)
{
	_cleanup_str_ struct str unpacked = {};
	struct viewer_counts counts = {};
	struct json_in in;
	int err = viewer_in_open(FF_FORMAT, data, n, VIEWER_BUDGET(n), &unpacked, &in);

	err = err ? err : read_once(in, n, &counts, ret);
	if (err || !viewer_in_counts_again(&counts))
		return err;
	profile_free(*ret);
	return read_once(in, n, &counts, ret);
}

/*
 * Recognizes a profile by members of "meta", which every writer puts first. A raw profile is
 * recognized too, so that firefox_read() can refuse it with its own message.
 */
bool firefox_probe(const uint8_t *head, size_t n)
{
	return viewer_in_begins(head, n, '{') &&
	       (viewer_in_has(head, n, "reprocessedProfileVersion") ||
		viewer_in_has(head, n, "\"stackwalk\""));
}
