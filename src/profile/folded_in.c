/* SPDX-License-Identifier: BSD-2-Clause */
/* Folded stacks, line by line, into a profile; see folded_in.h. */
#include "profile/folded_in.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "base/vec.h"
#include "profile/folded_frame.h"
#include "profile/intern.h"
#include "profile/lines.h"

/* As of pprof (pprof_read.c): far above what real files need. */
#define BUDGET_BASE	 (256ull << 20)
#define BUDGET_PER_BYTE	 64
#define SAMPLES_BASE	 (1u << 20)
#define SAMPLES_PER_BYTE 4
#define MAX_DEPTH	 65536

#define NO_MEMORY	 err_set(-ENOMEM, "out of memory for reading the profile")

struct reader {
	struct profile *p;
	size_t budget, bytes; /* bytes: of the file */
	int64_t scale;	      /* of counts */
	VEC(uint32_t) frames; /* root first */
	/* Most frames were there before: a text is taken apart once. */
	struct intern texts;
	VEC(uint32_t) locations; /* by id of the text - 1 */
	VEC(struct profile_label) labels;
};

static int bad(uint64_t off, const char *what)
{
	return err_set(-EINVAL, "folded stacks: byte %llu: %s", (unsigned long long)off, what);
}

/* Splits "stack COUNT"; the last blank separates. 0, or -EINVAL without a message. */
static int split_count(const char *s, size_t n, size_t *stack_n, int64_t *count)
{
	size_t at, end;
	uint64_t v = 0;

	while (n && (s[n - 1] == ' ' || s[n - 1] == '\t' || s[n - 1] == '\r'))
		n--;
	for (at = n; at && s[at - 1] != ' ' && s[at - 1] != '\t'; at--)
		;
	for (end = at; end < n && s[end] >= '0' && s[end] <= '9'; end++) {
		v = v * 10 + (uint64_t)(s[end] - '0');
		if (v > INT64_MAX / 16)
			return -EINVAL;
	}
	/* py-spy writes a blank and the count for a stack without frames. */
	if (at < 1 || end == at)
		return -EINVAL;
	/* inferno's counts may have a fraction */
	if (end < n && s[end] == '.') {
		v += end + 1 < n && s[end + 1] >= '5';
		while (++end < n && s[end] >= '0' && s[end] <= '9')
			;
	}
	if (end != n)
		return -EINVAL;
	*stack_n = at - 1;
	*count = (int64_t)v;
	return 0;
}

static uint32_t string(struct profile *p, struct folded_text t)
{
	return t.n ? profile_string_n(p, t.s, t.n) : 0;
}

/* @f was parsed from a frame whose text is new, or that depends on the one before. */
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

/* True if the frame became labels; only roots do, before any other frame. */
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
			return false; /* a frame like others, then */
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

/* Austin says what its counts are: microseconds, or bytes. */
static void take_comment(struct reader *r, const char *s, size_t n)
{
	static const struct {
		const char *text;
		struct profile_value_type type;
		int64_t scale;
	} modes[] = {{"# mode: wall", {"time", "nanoseconds"}, 1000},
		     {"# mode: cpu", {"cpu", "nanoseconds"}, 1000},
		     {"# mode: memory", {"memory", "bytes"}, 1}};
	struct profile_meta *meta = profile_meta(r->p);

	for (size_t i = 0; i < ARRAY_SIZE(modes) && !profile_n_samples(r->p); i++) {
		if (n != strlen(modes[i].text) || memcmp(s, modes[i].text, n))
			continue;
		meta->values[0] = meta->period_type = modes[i].type;
		r->scale = modes[i].scale;
	}
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
	if (!n || s[0] == '#') { /* Austin and Perfetto have comments */
		take_comment(r, s, n);
		return 0;
	}
	if (split_count(s, n, &stack_n, &sample.values[0]))
		return bad(line->off, "the line doesn't end with a blank and a count");
	if (__builtin_mul_overflow(sample.values[0], r->scale, &sample.values[0]))
		return bad(line->off, "the count doesn't fit in 64 bits");
	r->frames.n = r->labels.n = 0;
	/* What krait writes for a stack without frames. */
	if (stack_n != strlen("[no frames]") || memcmp(s, "[no frames]", stack_n)) {
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
			       "folded stacks: byte %llu: they need far more memory than a file "
			       "of this size should",
			       (unsigned long long)line->off);
	if (profile_n_samples(r->p) >= SAMPLES_BASE + r->bytes * SAMPLES_PER_BYTE)
		return err_set(-E2BIG,
			       "folded stacks: byte %llu: far more samples than a file of this "
			       "size should have",
			       (unsigned long long)line->off);
	return profile_add(r->p, &sample);
}

static int read_all(struct reader *r, const uint8_t *data, size_t n)
{
	struct profile_meta *meta = profile_meta(r->p);

	meta->values[0] = (struct profile_value_type){"samples", "count"};
	meta->period_type = (struct profile_value_type){"samples", "count"};
	meta->period = 1;
	meta->n_values = 1;
	return lines_each(data, n, "folded stacks", take_line, r);
}

int folded_read(const uint8_t *data, size_t n, struct profile **ret)
{
	struct reader r = {.p = profile_new(),
			   .budget = BUDGET_BASE + n * BUDGET_PER_BYTE,
			   .bytes = n,
			   .scale = 1};
	int err;

	intern_init(&r.texts, 0);
	err = r.p ? read_all(&r, data, n) : NO_MEMORY;
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
	int64_t count;
	size_t stack_n;

	for (size_t i = 0; i < n; i++)
		if (head[i] < ' ' && head[i] != '\t' && head[i] != '\n' && head[i] != '\r')
			return false;
	while (s < end) {
		const char *stop = memchr(s, '\n', (size_t)(end - s));
		size_t len = (size_t)((stop ? stop : end) - s);

		if (len && s[0] != '#' && s[0] != '\r')
			/* A line longer than what was read can be told by its frames only. */
			return !split_count(s, len, &stack_n, &count) ||
			       (!stop && memchr(s, ';', len));
		s += len + 1;
	}
	return true;
}
