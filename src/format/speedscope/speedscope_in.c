/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a speedscope file; see speedscope_in.h. Profiles may come before the table of frames to
 * which they refer, and weights before their unit. So the reader first finds out where these are. A
 * sample, event or profile that has something wrong in it is left out or mended, and counted.
 */
#include "format/speedscope/speedscope_in.h"

#include <errno.h>
#include "base/cleanup.h"
#include "base/error.h"
#include "format/common/folded_frame.h"
#include "format/speedscope/speedscope_reader.h"

static void part_fini(struct ss_part *part)
{
	str_fini(&part->type);
	str_fini(&part->name);
	str_fini(&part->unit);
	str_fini(&part->value_type);
	str_fini(&part->value_unit);
}

static int read_line(struct json_in *in, const char *field, int32_t *ret)
{
	return viewer_in_line(SS_FORMAT, in, field, ret);
}

static int read_frame(struct ss_reader *r, struct json_in *in)
{
	int32_t line = 0, column = 0;
	struct profile_location l;
	struct folded_frame f;
	int more, err = ss_in_field(json_in_enter(in, '{'), "frames");

	str_clear(&r->name);
	str_clear(&r->file);
	while (!err && (more = json_in_key(in, &r->key))) {
		if (more < 0)
			err = ss_in_field(more, "frames");
		else if (streq(str_cstr(&r->key), "name"))
			err = ss_read_text(in, "name", &r->name);
		else if (streq(str_cstr(&r->key), "file"))
			err = ss_read_text(in, "file", &r->file);
		else if (streq(str_cstr(&r->key), "line"))
			err = read_line(in, "line", &line);
		else if (streq(str_cstr(&r->key), "col"))
			err = read_line(in, "col", &column);
		else
			err = ss_in_field(json_in_skip(in), "frames");
	}
	if (err)
		return err;
	folded_frame_make((struct folded_text){str_cstr(&r->name), r->name.n},
			  (struct folded_text){str_cstr(&r->file), r->file.n}, line, &f);
	l = folded_frame_location(r->p, &f);
	l.column = line ? column : 0;
	return vec_push(&r->locations, profile_location(r->p, &l)) ? VIEWER_NO_MEMORY : 0;
}

static int read_frames(struct ss_reader *r)
{
	struct json_in in = r->frames;
	int more, err = in.at ? json_in_enter(&in, '[') : 0;

	while (!err && in.at && (more = json_in_item(&in))) {
		err = more < 0 ? ss_in_field(more, "frames") : read_frame(r, &in);
		err = err ? err : ss_check_memory(r, &in);
	}
	return err;
}

/* Returns where the text of the member @key is stored; NULL: this member isn't stored as text. */
static struct str *text_of(struct ss_part *part, const char *key)
{
	const struct {
		const char *key;
		struct str *text;
	} all[] = {{"type", &part->type},
		   {"name", &part->name},
		   {"unit", &part->unit},
		   {"valueType", &part->value_type},
		   {"valueUnit", &part->value_unit}};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (streq(key, all[i].key))
			return all[i].text;
	return NULL;
}

static int find_parts(struct ss_reader *r, struct ss_part *part, struct json_in *in)
{
	struct str *text;
	int more, err = ss_in_field(json_in_enter(in, '{'), "profiles");

	while (!err && (more = json_in_key(in, &r->key))) {
		const char *key = str_cstr(&r->key);

		if (more < 0)
			return ss_in_field(more, "profiles");
		text = text_of(part, key);
		if (text) {
			err = ss_read_text(in, key, text);
			continue;
		}
		if (streq(key, "samples"))
			part->samples = *in;
		else if (streq(key, "weights"))
			part->weights = *in;
		else if (streq(key, "events"))
			part->events = *in;
		err = ss_in_field(json_in_skip(in), "profiles");
	}
	return err;
}

static int read_part(struct ss_reader *r, struct json_in *in, bool alone)
{
	_cleanup_(part_fini) struct ss_part part = {};
	int err = find_parts(r, &part, in);
	bool sampled;

	if (err)
		return err;
	sampled = streq(str_cstr(&part.type), "sampled");
	if (!sampled && !streq(str_cstr(&part.type), "evented"))
		return ss_odd(r, NO_PROFILE);
	ss_take_unit(r, &part);
	if (part.value == PROFILE_MAX_VALUES)
		return ss_odd(r, NO_VALUE);
	err = ss_take_name(r, &part, alone);
	if (err)
		return err;
	return sampled ? ss_read_sampled(r, &part) : ss_read_evented(r, &part);
}

/*
 * Returns the index of the default value: of CPU time, else of any time, else of the first value.
 */
static unsigned choose_default(const struct profile_meta *m)
{
	unsigned time = 0;

	for (unsigned i = m->n_values; i--;)
		if (streq(m->values[i].unit, "nanoseconds"))
			time = i;
	for (unsigned i = 0; i < m->n_values; i++)
		if (streq(m->values[i].type, "cpu"))
			return i;
	return time;
}

static int read_profiles(struct ss_reader *r)
{
	struct json_in in = r->profiles;
	struct profile_meta *m = profile_meta(r->p);
	int more, err = ss_in_field(json_in_enter(&in, '['), "profiles");
	bool first = true;

	while (!err && (more = json_in_item(&in))) {
		struct json_in behind = in;
		bool alone = first && !json_in_skip(&behind) && !json_in_item(&behind);

		err = more < 0 ? ss_in_field(more, "profiles") : read_part(r, &in, alone);
		first = false;
	}
	if (!m->n_values)
		m->values[m->n_values++] = (struct profile_value_type){"samples", "count"};
	m->default_value = r->has_types ? 0 : choose_default(m);
	m->period_type = m->values[m->default_value];
	m->period = 1;
	return err;
}

/* Finds the list "frames" in the member "shared". */
static int find_frames(struct ss_reader *r, struct json_in *in)
{
	int more, err = ss_in_field(json_in_enter(in, '{'), "shared");

	while (!err && (more = json_in_key(in, &r->key))) {
		if (more < 0)
			return ss_in_field(more, "shared");
		if (streq(str_cstr(&r->key), "frames"))
			r->frames = *in;
		err = ss_in_field(json_in_skip(in), "shared");
	}
	return err;
}

static int read_text_of(struct ss_reader *r, struct json_in in)
{
	int more, err = ss_in_field(json_in_enter(&in, '{'), "the file");

	while (!err && (more = json_in_key(&in, &r->key))) {
		if (more < 0)
			return ss_in_field(more, "the file");
		if (streq(str_cstr(&r->key), "shared")) {
			err = find_frames(r, &in);
			continue;
		}
		if (streq(str_cstr(&r->key), "profiles"))
			r->profiles = in;
		err = ss_in_field(json_in_skip(&in), "the file");
	}
	err = err ? err : ss_in_field(json_in_end(&in), "the file");
	if (!err && !r->profiles.at)
		err = ss_bad(&in, "profiles", "the file lacks this member");
	return err;
}

static int add_notes(struct ss_reader *r)
{
	static const struct {
		const char *how, *thing, *what;
	} words[SS_REASONS] = {
		[NO_FRAME] = {COMMENTS_LEFT_OUT, "sample", "with frames that aren't in the file"},
		[NO_WEIGHT] = {COMMENTS_LEFT_OUT, "sample",
			       "without a weight, or a weight without a sample"},
		[NO_END] = {COMMENTS_LEFT_OUT, "event",
			    "that opens or closes a frame without its counterpart"},
		[NO_EVENT] = {COMMENTS_LEFT_OUT, "event",
			      "without a frame, a time or a type that exists"},
		[NO_PROFILE] = {COMMENTS_LEFT_OUT, "profile",
				"that is neither sampled nor evented"},
		[NO_VALUE] = {COMMENTS_LEFT_OUT, "profile",
			      "of a further kind of value, which krait has no room for"},
		[INSIDE] = {COMMENTS_MENDED, "frame", "closed with its caller"},
		[BACK] = {COMMENTS_MENDED, "event",
			  "earlier than the event before it, moved to that event's time"},
		[NO_UNIT] = {COMMENTS_MENDED, "profile", "of an unknown unit: read as counts"},
	};
	int err = 0;

	if (r->counts.rounded && r->counts.has_fraction)
		profile_add_comment(r->p, COMMENTS_MENDED,
				    "counts are rounded: some are too large for fractions");
	for (int i = 0; !err && i < SS_REASONS; i++)
		err = viewer_in_note(r->p, words[i].how, r->odd[i], words[i].thing, words[i].what);
	return err;
}

/*
 * Reads the file's table of frames, and makes room to count for each frame how often it is open (on
 * the stack).
 */
static int prepare_frames(struct ss_reader *r)
{
	int err = read_frames(r);

	if (!err && vec_reserve(&r->n_open, r->locations.n + 1))
		err = VIEWER_NO_MEMORY;
	r->n_open.n = err ? 0 : r->locations.n;
	return err;
}

/*
 * Reads the file with all counts in one unit; reads it again if the counts show that another unit
 * is needed (struct viewer_counts).
 */
static int read_again(struct ss_reader *r, uint64_t steps)
{
	int err;

	do {
		profile_free(r->p);
		r->p = profile_new();
		r->steps = steps;
		r->locations.n = 0;
		memset(r->odd, 0, sizeof(r->odd));
		err = r->p ? prepare_frames(r) : VIEWER_NO_MEMORY;
		err = err ? err : read_profiles(r);
	} while (!err && viewer_in_counts_again(&r->counts));
	return err ? err : add_notes(r);
}

int speedscope_read(const uint8_t *data, size_t n, struct profile **ret)
{
	struct ss_reader r = {.budget = VIEWER_BUDGET(n)};
	_cleanup_str_ struct str unpacked = {};
	struct json_in in;
	int err = viewer_in_open(SS_FORMAT, data, n, r.budget, &unpacked, &in);

	err = err ? err : read_text_of(&r, in);
	err = err ? err : read_again(&r, VIEWER_STEPS(n, in.end - in.start));
	vec_fini(&r.locations);
	vec_fini(&r.stack);
	vec_fini(&r.n_open);
	str_fini(&r.key);
	str_fini(&r.name);
	str_fini(&r.file);
	if (err)
		profile_free(r.p);
	else
		*ret = r.p;
	return err;
}

bool speedscope_probe(const uint8_t *head, size_t n)
{
	return viewer_in_begins(head, n, '{') && viewer_in_has(head, n, "speedscope.app");
}
