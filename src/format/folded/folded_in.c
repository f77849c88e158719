/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads folded stacks line by line; see folded_in.h. */
#include "format/folded/folded_in.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/text/json_in.h"
#include "base/vec.h"
#include "format/common/folded_frame.h"
#include "format/common/lines.h"
#include "format/common/viewer_in.h"
#include "profile/mark.h"

/* The limits of memory are those for pprof files (pprof_read.c). Real files need far less. */
#define BUDGET_BASE	 (256ull << 20)
#define BUDGET_PER_BYTE	 64
#define SAMPLES_BASE	 (1u << 20)
#define SAMPLES_PER_BYTE 4
#define MAX_DEPTH	 65536

#define NO_MEMORY	 err_set(-ENOMEM, "out of memory for reading the profile")

/*
 * What form a file's counts have. That is known only once the whole file was read. If krait assumed
 * another form while reading, it reads the file again.
 */
struct form {
	bool two;     /* every line has two counts, as difffolded.pl writes them */
	bool micro;   /* some counts in the file have fractions */
	bool rounded; /* some counts are too large to be kept with fractions */
};

struct reader {
	struct profile *p;
	/*
	 * .budget: how many bytes of memory reading may still take; .bytes: the length of the file
	 */
	size_t budget, bytes;
	struct form form;
	/* Austin's counts are multiplied by 10^power; -1: counts are numbers of samples */
	int power;
	bool one; /* a comment of the file says that each line has one count */
	/*
	 * the file has Austin's full form: each line has a time, whether the thread was idle, and
	 * bytes
	 */
	bool full;
	bool has_fraction, has_large;
	uint64_t n_lines, n_two, n_bad, bad_at;
	VEC(uint32_t) frames; /* locations of the present stack, root first */
	/*
	 * The texts of frames that were parsed already. The same text occurs many times, but is
	 * parsed only once.
	 */
	struct intern texts;
	VEC(uint32_t) locations; /* by id of a frame's text - 1: id of the location */
	VEC(struct profile_label) labels;
};

static int bad(uint64_t off, const char *what)
{
	return err_set(-EINVAL, "folded stacks: byte %llu: %s", (unsigned long long)off, what);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool take_number(struct folded_text t, int power, int64_t *ret)
{
	struct json_in in;

	json_in_init(&in, t.s, t.n);
	return !json_in_scaled(&in, power, ret) && in.at == in.end;
}

static const char *skip_digits(const char *s, const char *end)
{
	while (s < end && *s >= '0' && *s <= '9')
		s++;
	return s;
}

/* Tells whether the text is a number as in JSON. It may also end with a decimal point. */
static bool is_number(struct folded_text t)
{
	const char *end = t.s + t.n, *s = t.s + (t.n && *t.s == '-'), *digits = s;

	s = skip_digits(s, end);
	if (s == digits)
		return false;
	if (s < end && *s == '.')
		s = skip_digits(s + 1, end);
	if (s == end || (*s | 0x20) != 'e')
		return s == end;
	s += 1 + (s + 1 < end && (s[1] == '-' || s[1] == '+'));
	return s < end && skip_digits(s, end) == end;
}

/*
 * Finds the last word of a line. *stack_n: the length of the text before the blank that precedes
 * the word; 0 if no blank precedes it.
 */
static void split_last(const char *s, size_t n, size_t *stack_n, struct folded_text *last)
{
	size_t at;

	while (n && (is_blank(s[n - 1]) || s[n - 1] == '\r'))
		n--;
	for (at = n; at && !is_blank(s[at - 1]); at--)
		;
	*last = (struct folded_text){s + at, n - at};
	*stack_n = at ? at - 1 : 0;
}

/*
 * Splits "stack COUNT" at its last blank. For a stack without frames, py-spy writes only a blank
 * and the count. Returns false for any other line.
 */
static bool split_count(const char *s, size_t n, size_t *stack_n, struct folded_text *count)
{
	split_last(s, n, stack_n, count);
	return count->s > s && is_number(*count);
}

/* Converts a count of the file to the unit of the profile. */
static bool take_count(struct reader *r, struct folded_text text, int64_t *ret)
{
	int64_t micro;

	if (r->power >= 0)
		return take_number(text, r->power, ret);
	if (!take_number(text, PROFILE_MICROCOUNT_DIGITS, &micro)) {
		r->has_large = true;
		return take_number(text, 0, ret);
	}
	r->has_fraction |= micro % 1000000 != 0;
	*ret = micro;
	return r->form.micro || take_number(text, 0, ret);
}

static uint32_t string(struct profile *p, struct folded_text t)
{
	return t.n ? profile_string_n(p, t.s, t.n) : 0;
}

/* Adds a location for frame @f. The location of an inlined frame depends on the frame before it. */
static uint32_t make_location(struct reader *r, const struct folded_frame *f)
{
	struct profile_location l = folded_frame_location(r->p, f);

	if (f->inlined && r->frames.n) {
		const struct profile_location *outer =
			profile_get_location(r->p, r->frames.v[r->frames.n - 1]);

		if (outer->mapping == l.mapping && outer->address == l.address)
			l.outer = r->frames.v[r->frames.n - 1];
	}
	return profile_location(r->p, &l);
}

static int add_frame(struct reader *r, const char *s, size_t n, uint64_t off)
{
	uint32_t text = intern_put(&r->texts, s, n), location;
	struct folded_frame f;

	if (!text)
		return NO_MEMORY;
	if (text <= r->locations.n && r->locations.v[text - 1])
		return vec_push(&r->frames, r->locations.v[text - 1]) ? NO_MEMORY : 0;
	folded_frame_parse(s, n, &f);
	location = make_location(r, &f);
	if (f.inlined && profile_n_inlined(r->p, location) > PROFILE_MAX_INLINED)
		return bad(off, "more than 256 inlined calls");
	if (text > r->locations.n && vec_push(&r->locations, f.inlined ? 0 : location))
		return NO_MEMORY;
	return vec_push(&r->frames, location) ? NO_MEMORY : 0;
}

/*
 * If the frame is a root frame, such as "web (pid 12)", makes labels of it and returns true.
 * Returns false for any other frame, and for all frames that follow an ordinary frame.
 */
static bool take_root(struct reader *r, const char *s, size_t n)
{
	struct folded_label labels[2];

	if (r->frames.n || r->labels.n >= 4)
		return false;
	folded_root_parse(s, n, labels);
	for (size_t i = 0; i < ARRAY_SIZE(labels) && labels[i].key; i++) {
		struct profile_label l = {profile_string(r->p, labels[i].key),
					  string(r->p, labels[i].value)};

		if (vec_push(&r->labels, l))
			/* if memory ran out, the root frame is treated as an ordinary frame */
			return false;
	}
	return labels[0].key;
}

static int take_frames(struct reader *r, const char *s, size_t n, uint64_t off)
{
	const char *end = s + n, *at = s;
	int err = 0;

	while (!err && at < end) {
		const char *next = memchr(at, ';', (size_t)(end - at));
		size_t len = (size_t)((next ? next : end) - at);

		if (r->frames.n >= MAX_DEPTH)
			return bad(off, "more than 65536 frames in a stack");
		if (len && !take_root(r, at, len))
			err = add_frame(r, at, len, off);
		at += len + 1;
	}
	return err;
}

static void reverse(uint32_t *v, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t t = v[i];

		v[i] = v[n - 1 - i];
		v[n - 1 - i] = t;
	}
}

#define FULL_MODE "# mode: full"

/* Adds the value types of Austin's full form, with the names that austin2speedscope gives them. */
static void set_full(struct reader *r)
{
	static const struct profile_value_type types[] = {{"cpu", "nanoseconds"},
							  {"wall", "nanoseconds"},
							  {"allocated", "bytes"},
							  {"freed", "bytes"}};
	struct profile_meta *meta = profile_meta(r->p);

	memcpy(meta->values, types, sizeof(types));
	meta->n_values = ARRAY_SIZE(types);
	meta->default_value = 0;
	meta->period_type = types[0];
	r->power = 3;
	r->full = true;
}

/* Reads a comment that Austin writes, which says whether counts are microseconds or bytes. */
static void take_comment(struct reader *r, const char *s, size_t n)
{
	static const struct {
		const char *text;
		struct profile_value_type type;
		int power;
	} modes[] = {{"# mode: wall", {"time", "nanoseconds"}, 3},
		     {"# mode: cpu", {"cpu", "nanoseconds"}, 3},
		     {"# mode: memory", {"memory", "bytes"}, 0}};
	struct profile_meta *meta = profile_meta(r->p);

	r->one |= n == strlen(FOLDED_ONE_COUNT) && !memcmp(s, FOLDED_ONE_COUNT, n);
	if (!r->full && !profile_n_samples(r->p) && n == strlen(FULL_MODE) &&
	    !memcmp(s, FULL_MODE, n))
		set_full(r);

	for (size_t i = 0; i < ARRAY_SIZE(modes) && !profile_n_samples(r->p); i++) {
		if (n != strlen(modes[i].text) || memcmp(s, modes[i].text, n))
			continue;
		meta->values[0] = meta->period_type = modes[i].type;
		r->power = modes[i].power;
	}
}

/*
 * Parses the counts "TIME,IDLE,BYTES" of Austin. An idle thread has no CPU time. Bytes below 0 are
 * bytes that were freed.
 */
static bool take_full(struct folded_text t, int64_t values[static PROFILE_MAX_VALUES])
{
	const char *end = t.s + t.n, *idle = memchr(t.s, ',', t.n);
	const char *bytes = idle ? memchr(idle + 1, ',', (size_t)(end - idle - 1)) : NULL;
	int64_t was_idle, change;

	if (!bytes ||
	    !take_number((struct folded_text){t.s, (size_t)(idle - t.s)}, 3, &values[1]) ||
	    !take_number((struct folded_text){idle + 1, (size_t)(bytes - idle - 1)}, 0,
			 &was_idle) ||
	    !take_number((struct folded_text){bytes + 1, (size_t)(end - bytes - 1)}, 0, &change) ||
	    change == INT64_MIN)
		return false;
	values[0] = was_idle ? 0 : values[1];
	values[2] = MAX(change, 0);
	values[3] = MAX(-change, 0);
	return true;
}

/*
 * Parses the counts at the end of a line. The text before the counts is the stack. Returns false if
 * the line has no counts, or if a count is too large.
 */
static bool take_counts(struct reader *r, const char *s, size_t n, size_t *stack_n,
			int64_t values[static PROFILE_MAX_VALUES])
{
	struct folded_text last, first;
	size_t before;

	if (r->full) {
		r->n_lines++;
		split_last(s, n, stack_n, &last);
		return take_full(last, values);
	}

	if (!split_count(s, n, stack_n, &last))
		return false;
	r->n_lines++;
	r->n_two += split_count(s, *stack_n, &before, &first);
	if (!r->form.two)
		return take_count(r, last, &values[0]);
	*stack_n = before;
	return take_count(r, first, &values[0]) && take_count(r, last, &values[1]);
}

/*
 * Tells whether the text is the one that krait, or an earlier version of it, writes for a stack
 * without frames.
 */
static bool is_no_stack(const char *s, size_t n)
{
	const char *const words[] = {mark_text(MARK_NO_STACK), "[no frames]"};

	for (size_t k = 0; k < ARRAY_SIZE(words); k++)
		if (n == strlen(words[k]) && !memcmp(s, words[k], n))
			return true;
	return false;
}

static int take_line(void *arg, const struct line *line)
{
	struct profile_sample sample = {.time_ns = -1};
	struct reader *r = arg;
	const char *s = line->s;
	size_t n = line->n, stack_n;
	int err;

	while (n && s[n - 1] == '\r')
		n--;
	if (!n || s[0] == '#') { /* the line is a comment, as Austin and Perfetto write them */
		take_comment(r, s, n);
		return 0;
	}
	if (!take_counts(r, s, n, &stack_n, sample.values)) {
		r->bad_at = r->n_bad++ ? r->bad_at : line->off;
		return 0;
	}
	r->frames.n = r->labels.n = 0;
	if (!is_no_stack(s, stack_n)) {
		err = take_frames(r, s, stack_n, line->off);
		if (err)
			return err;
	}
	reverse(r->frames.v, r->frames.n);
	sample.stack = profile_stack(r->p, r->frames.v, r->frames.n);
	sample.labels = profile_labels(r->p, r->labels.v, r->labels.n);
	if (profile_failed(r->p))
		return NO_MEMORY;
	if (profile_bytes(r->p) + r->texts.bytes > r->budget)
		return err_set(-E2BIG,
			       "folded stacks: byte %llu: the stacks need far more memory than a "
			       "file of this size should",
			       (unsigned long long)line->off);
	if (profile_n_samples(r->p) >= SAMPLES_BASE + r->bytes * SAMPLES_PER_BYTE)
		return err_set(-E2BIG,
			       "folded stacks: byte %llu: there are far more samples than a file "
			       "of this size should have",
			       (unsigned long long)line->off);
	return profile_add(r->p, &sample);
}

static void set_values(struct reader *r)
{
	struct profile_meta *meta = profile_meta(r->p);
	const char *unit = r->form.micro ? PROFILE_MICROCOUNT : "count";

	meta->values[0] =
		(struct profile_value_type){r->form.two ? FOLDED_BEFORE : "samples", unit};
	meta->values[1] = (struct profile_value_type){FOLDED_AFTER, unit};
	meta->n_values = r->form.two ? 2 : 1;
	meta->default_value = meta->n_values - 1;
	meta->period_type = (struct profile_value_type){"samples", "count"};
	meta->period = 1;
}

/*
 * Tells whether the counts of the file turned out to have another form than krait assumed while
 * reading.
 */
static bool is_other_form(struct reader *r)
{
	struct form was = r->form;

	r->form.two = !r->one && !r->full && r->n_lines && r->n_two == r->n_lines;
	r->form.rounded |= r->has_large;
	r->form.micro = r->power < 0 && r->has_fraction && !r->form.rounded;
	return memcmp(&was, &r->form, sizeof(was));
}

static int add_notes(struct reader *r)
{
	if (r->form.rounded && r->has_fraction)
		profile_add_comment(r->p, COMMENTS_MENDED,
				    "counts are rounded: some are too large for fractions");
	return viewer_in_note(r->p, COMMENTS_LEFT_OUT, r->n_bad, "line",
			      "without a blank and a count at the end");
}

static int read_all(struct reader *r, const uint8_t *data, size_t n)
{
	int err;

	do {
		profile_free(r->p);
		r->p = profile_new();
		if (!r->p)
			return NO_MEMORY;
		intern_fini(&r->texts);
		intern_init(&r->texts, 0);
		r->locations.n = 0;
		r->power = -1;
		r->full = false;
		r->n_lines = r->n_two = r->n_bad = 0;
		set_values(r);
		err = lines_each(data, n, "folded stacks", take_line, r);
	} while (!err && is_other_form(r));
	/*
	 * A file with at least as many bad lines as lines with counts is refused, because a file of
	 * another kind may have single lines that look like folded stacks.
	 */
	if (!err && r->n_bad && r->n_bad >= r->n_lines)
		err = bad(r->bad_at, "the line doesn't end with a blank and a count");
	return err ? err : add_notes(r);
}

int folded_read(const uint8_t *data, size_t n, struct profile **ret)
{
	struct reader r = {.budget = BUDGET_BASE + n * BUDGET_PER_BYTE, .bytes = n};
	int err;

	intern_init(&r.texts, 0);
	err = read_all(&r, data, n);
	intern_fini(&r.texts);
	vec_fini(&r.locations);
	vec_fini(&r.frames);
	vec_fini(&r.labels);
	if (err)
		profile_free(r.p);
	else
		*ret = r.p;
	return err;
}

bool folded_probe(const uint8_t *head, size_t n)
{
	const char *s = (const char *)head, *end = s + n;
	size_t good = 0, bad_ones = 0;
	bool first_is_good = false;

	for (size_t i = 0; i < n; i++)
		if (head[i] < ' ' && head[i] != '\t' && head[i] != '\n' && head[i] != '\r')
			return false;
	if (memmem(head, n, FULL_MODE "\n", strlen(FULL_MODE "\n")))
		return true;
	while (s < end) {
		const char *stop = memchr(s, '\n', (size_t)(end - s));
		size_t len = (size_t)((stop ? stop : end) - s);

		struct folded_text count;
		size_t stack_n;

		/* A line that goes on after the end of @head counts as a stack if it has a `;`. */
		if (len && s[0] != '#' && s[0] != '\r') {
			bool is_good = split_count(s, len, &stack_n, &count) ||
				       (!stop && memchr(s, ';', len));

			first_is_good |= is_good && !bad_ones;
			good += is_good;
			bad_ones += !is_good && (stop || !good);
		}
		s += len + 1;
	}
	return first_is_good || good > bad_ones || !bad_ones;
}
