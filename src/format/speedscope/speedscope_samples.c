/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the samples or the events of a profile in a speedscope file; see speedscope_reader.h. */
#include <errno.h>
#include "base/error.h"
#include "format/speedscope/speedscope_reader.h"

/* Reads the index of a frame. *ret is 1 + the index, or 0 if there is no such frame. */
static int read_index(struct ss_reader *r, struct json_in *in, const char *field, uint32_t *ret)
{
	struct json_in before = *in;
	int64_t index;

	*ret = 0;
	if (json_in_integer(in, &index)) {
		*in = before;
		return ss_in_field(json_in_skip(in), field);
	}
	if (index >= 0 && (uint64_t)index < r->locations.n)
		*ret = (uint32_t)index + 1;
	return 0;
}

/* Reads an amount (a time or a weight) and converts it to the unit of the profile's value. */
static int read_amount(struct ss_reader *r, const struct ss_part *part, struct json_in *in,
		       const char *field, int64_t *ret, bool *known)
{
	if (part->is_count)
		return viewer_in_count(SS_FORMAT, in, field, &r->counts, ret, known);
	return viewer_in_scaled(SS_FORMAT, in, field, part->power, ret, known);
}

/*
 * Returns the node of the innermost open frame. Makes the nodes that are missing, for frames that
 * were opened after the last sample. 0: out of memory.
 */
static uint32_t innermost_node(struct ss_reader *r)
{
	size_t made = r->stack.n;
	uint32_t node;

	while (made && !r->stack.v[made - 1].node)
		made--;
	node = made ? r->stack.v[made - 1].node : 0;
	for (; made < r->stack.n; made++) {
		node = profile_node(r->p, node, r->stack.v[made].location);
		if (!node)
			return 0;
		r->stack.v[made].node = node;
	}
	return node;
}

static int add_sample(struct ss_reader *r, const struct ss_part *part, const struct json_in *in,
		      int64_t weight)
{
	struct profile_sample s = {.labels = part->labels, .time_ns = -1};
	uint32_t node;

	s.values[part->value] = weight;

	if (r->stack.n > r->steps)
		return ss_bad(
			in, "events",
			"the stacks are far deeper than those of a file of this size should be");
	r->steps -= r->stack.n;
	node = innermost_node(r);
	if (r->stack.n && !node)
		return VIEWER_NO_MEMORY;
	s.stack = profile_stack_at(r->p, node, r->stack.n);
	return s.stack ? profile_add(r->p, &s) : VIEWER_NO_MEMORY;
}

/* Reads a stack. Sets *@known to false if the file's table lacks some of the frames. */
static int read_stack(struct ss_reader *r, struct json_in *in, bool *known)
{
	int more, err = ss_in_field(json_in_enter(in, '['), "samples");

	r->stack.n = 0;
	while (!err && (more = json_in_item(in))) {
		struct ss_open_frame open = {};
		uint32_t index = 0;

		err = more < 0 ? ss_in_field(more, "samples")
			       : read_index(r, in, "samples", &index);
		*known &= index > 0;
		if (err || !*known)
			continue;
		open.location = r->locations.v[index - 1];
		if (r->stack.n >= VIEWER_MAX_DEPTH)
			err = ss_bad(in, "samples", "more than 65536 frames in a stack");
		else if (vec_push(&r->stack, open))
			err = VIEWER_NO_MEMORY;
	}
	return err;
}

/* Reads the next sample and the next weight, each from its own list. */
static int read_sample(struct ss_reader *r, const struct ss_part *part, struct json_in *samples,
		       struct json_in *weights)
{
	bool frames_known = true, known = false;
	int64_t weight = 0;
	int err = read_stack(r, samples, &frames_known);

	err = err ? err : read_amount(r, part, weights, "weights", &weight, &known);
	if (err)
		return err;
	if (!known || !frames_known)
		return ss_odd(r, known ? NO_FRAME : NO_WEIGHT);
	err = add_sample(r, part, samples, weight);
	return err ? err : ss_check_memory(r, samples);
}

/* If this list has more items than the other list, skips and counts the surplus items. */
static int skip_rest(struct ss_reader *r, struct json_in *in, const char *field)
{
	int more, err = 0;

	do {
		ss_odd(r, NO_WEIGHT);
		err = ss_in_field(json_in_skip(in), field);
	} while (!err && (more = json_in_item(in)) > 0);
	return err ? err : ss_in_field(MIN(more, 0), field);
}

int ss_read_sampled(struct ss_reader *r, struct ss_part *part)
{
	struct json_in *samples = &part->samples, *weights = &part->weights;
	int more, left, err;

	if (!samples->at || !weights->at)
		return ss_odd(r, NO_PROFILE);
	err = ss_in_field(json_in_enter(samples, '['), "samples");
	err = err ? err : ss_in_field(json_in_enter(weights, '['), "weights");
	while (!err && (more = json_in_item(samples))) {
		left = more < 0 ? more : json_in_item(weights);
		if (!left)
			return skip_rest(r, samples, "samples");
		err = ss_in_field(MIN(more, left), "samples");
		err = err < 0 ? err : read_sample(r, part, samples, weights);
	}
	left = err ? 0 : json_in_item(weights);
	return left > 0 ? skip_rest(r, weights, "weights") : err;
}

struct event {
	struct str type;
	int64_t at;
	bool has_at;
	/* 1 + index of the event's frame in the file's table; 0: the table has no such frame */
	uint32_t index;
};

static int read_event(struct ss_reader *r, const struct ss_part *part, struct json_in *in,
		      struct event *e)
{
	int more, err = ss_in_field(json_in_enter(in, '{'), "events");

	str_clear(&e->type);
	e->has_at = false;
	e->index = 0;
	while (!err && (more = json_in_key(in, &r->key))) {
		if (more < 0)
			err = ss_in_field(more, "events");
		else if (streq(str_cstr(&r->key), "type"))
			err = ss_read_text(in, "type", &e->type);
		else if (streq(str_cstr(&r->key), "at"))
			err = read_amount(r, part, in, "at", &e->at, &e->has_at);
		else if (streq(str_cstr(&r->key), "frame"))
			err = read_index(r, in, "frame", &e->index);
		else
			err = ss_in_field(json_in_skip(in), "events");
	}
	return err;
}

static int open_frame(struct ss_reader *r, const struct json_in *in, uint32_t index)
{
	struct ss_open_frame open = {.location = r->locations.v[index - 1], .index = index};

	if (r->stack.n >= VIEWER_MAX_DEPTH)
		return ss_bad(in, "events", "more than 65536 frames in a stack");
	r->n_open.v[index - 1]++;
	return vec_push(&r->stack, open) ? VIEWER_NO_MEMORY : 0;
}

/* Closes a frame, and all frames that were opened after it. */
static int close_frame(struct ss_reader *r, uint32_t index)
{
	uint32_t closed = 0;

	if (!r->n_open.v[index - 1])
		return ss_odd(r, NO_END);
	while (closed != index) {
		closed = r->stack.v[--r->stack.n].index;
		r->n_open.v[closed - 1]--;
		r->odd[INSIDE] += closed != index;
	}
	return 0;
}

/* Tells whether the event is complete: it opens or closes a frame of the table, at a known time. */
static bool is_event(const struct event *e)
{
	return e->index && e->has_at &&
	       (streq(str_cstr(&e->type), "O") || streq(str_cstr(&e->type), "C"));
}

/*
 * Adds a sample of the frames that were open since the last event. Then opens or closes a frame, as
 * the event says.
 */
static int take_event(struct ss_reader *r, const struct ss_part *part, const struct json_in *in,
		      struct event *e, int64_t *last)
{
	int64_t weight;
	int err = 0;

	if (r->stack.n && e->at < *last) {
		ss_odd(r, BACK);
		e->at = *last;
	}
	if (r->stack.n && __builtin_sub_overflow(e->at, *last, &weight))
		return ss_odd(r, NO_EVENT);
	if (r->stack.n && weight)
		err = add_sample(r, part, in, weight);
	*last = e->at;
	if (err)
		return err;
	return streq(str_cstr(&e->type), "O") ? open_frame(r, in, e->index)
					      : close_frame(r, e->index);
}

int ss_read_evented(struct ss_reader *r, struct ss_part *part)
{
	struct json_in *in = &part->events;
	struct event e = {};
	int64_t last = 0;
	int more, err;

	if (!in->at)
		return ss_odd(r, NO_PROFILE);
	err = ss_in_field(json_in_enter(in, '['), "events");
	r->stack.n = 0;
	memset(r->n_open.v, 0, r->n_open.n * sizeof(*r->n_open.v));
	while (!err && (more = json_in_item(in))) {
		err = more < 0 ? ss_in_field(more, "events") : read_event(r, part, in, &e);
		if (!err && !is_event(&e))
			ss_odd(r, NO_EVENT);
		else if (!err)
			err = take_event(r, part, in, &e, &last);
		err = err ? err : ss_check_memory(r, in);
	}
	r->odd[NO_END] += r->stack.n;
	str_fini(&e.type);
	return err;
}
