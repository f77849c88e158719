/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads what a profile in a speedscope file says about its samples: its name tells the process and
 * the thread, its unit tells which value it has. See speedscope_reader.h.
 */
#include <errno.h>
#include "base/error.h"
#include "format/common/folded_frame.h"
#include "format/speedscope/speedscope_reader.h"
#include "view/shape/timeline.h"

typedef VEC(struct profile_label) label_list;

static int add_label(struct ss_reader *r, label_list *labels, const char *key,
		     struct folded_text value)
{
	struct profile_label l = {profile_string(r->p, key),
				  profile_string_n(r->p, value.s, value.n)};

	return value.n && vec_push(labels, l) ? VIEWER_NO_MEMORY : 0;
}

/*
 * Parses a name as krait writes it: "app.py (pid 12) · Main (tid 34)". The name of a process or
 * thread may itself contain " · ", so a part ends only after an id.
 */
static int take_name_of_krait(struct ss_reader *r, const char *name, label_list *labels)
{
	static const char between[] = " \xc2\xb7 ";
	int err = 0;

	for (const char *at = name, *next = name; next && !err;) {
		struct folded_label found[2];

		next = strstr(next, between);
		folded_root_parse(at, next ? (size_t)(next - at) : strlen(at), found);
		for (size_t i = 0; i < ARRAY_SIZE(found) && found[i].key && !err; i++)
			err = add_label(r, labels, found[i].key, found[i].value);
		next = next ? next + strlen(between) : NULL;
		if (found[0].key)
			at = next;
	}
	return err;
}

/*
 * Parses a name as py-spy writes it: `Process 12 Thread 34 "Main"`. The first or the last part may
 * be missing.
 */
static int take_name_of_pyspy(struct ss_reader *r, const char *name, label_list *labels)
{
	static const char process[] = "Process ", thread[] = "Thread ";
	const char *at = name, *quote;
	size_t n;
	int err = 0;

	if (!strncmp(at, process, strlen(process))) {
		at += strlen(process);
		n = strcspn(at, " ");
		err = add_label(r, labels, "pid", (struct folded_text){at, n});
		at += n + !!at[n];
	}
	if (err || strncmp(at, thread, strlen(thread)))
		return err;
	at += strlen(thread);
	err = add_label(r, labels, "tid", (struct folded_text){at, strcspn(at, " ")});
	quote = strchr(at, '"');
	if (!err && quote && quote[1])
		err = add_label(r, labels, "thread",
				(struct folded_text){quote + 1, strlen(quote + 1) - 1});
	return err;
}

/*
 * Parses a name as austin-python writes it: "CPU time profile for 12:0:34". The numbers are the
 * process, the interpreter if there are several, and the thread.
 */
static int take_name_of_austin(struct ss_reader *r, const char *name, label_list *labels)
{
	const char *pid = strstr(name, " for ") + strlen(" for "), *tid = strrchr(pid, ':');
	int err = add_label(r, labels, "pid", (struct folded_text){pid, strcspn(pid, ":")});

	return err || !tid ? err
			   : add_label(r, labels, "tid",
				       (struct folded_text){tid + 1, strlen(tid + 1)});
}

/*
 * Returns the part of the profile's name that names process and thread. In a file with several
 * values, krait writes the name of the value before that part.
 */
static const char *name_of_threads(const struct ss_part *part)
{
	const char *name = str_cstr(&part->name), *type = str_cstr(&part->value_type);

	return *type && str_starts(name, type) && str_starts(name + strlen(type), ": ")
		       ? name + strlen(type) + strlen(": ")
		       : name;
}

int ss_take_name(struct ss_reader *r, struct ss_part *part, bool alone)
{
	const char *name = name_of_threads(part);
	label_list labels = {};
	int err = part->is_austin ? take_name_of_austin(r, name, &labels)
				  : take_name_of_krait(r, name, &labels);

	if (!err && !labels.n)
		err = take_name_of_pyspy(r, name, &labels);
	if (!err && !labels.n && !alone && !(part->value_type.n && streq(name, TIMELINE_ALL)))
		err = add_label(r, &labels, "thread", (struct folded_text){name, strlen(name)});
	part->labels = profile_labels(r->p, labels.v, labels.n);
	vec_fini(&labels);
	return err;
}

/*
 * Recognizes profiles of austin2speedscope -f by the beginning of their names. That tool writes
 * several profiles with the same stacks, for times and for memory.
 */
static bool take_austin(const struct ss_part *part, struct profile_value_type *type)
{
	static const struct {
		const char *name;
		struct profile_value_type type;
	} all[] = {{"CPU time profile for ", {"cpu", "nanoseconds"}},
		   {"Wall time profile for ", {"wall", "nanoseconds"}},
		   {"Memory allocation profile for ", {"allocated", "bytes"}},
		   {"Memory deallocation profile for ", {"freed", "bytes"}}};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!str_starts(str_cstr(&part->name), all[i].name) ||
		    !streq(type->unit, all[i].type.unit))
			continue;
		*type = all[i].type;
		return true;
	}
	return false;
}

/*
 * Returns the index of a value type, which is added if it is new. PROFILE_MAX_VALUES: there is no
 * room for another type.
 */
static unsigned find_value(struct ss_reader *r, const struct profile_value_type *type)
{
	struct profile_meta *m = profile_meta(r->p);
	unsigned i = 0;

	while (i < m->n_values && !profile_same_type(&m->values[i], type))
		i++;
	if (i == m->n_values && i < PROFILE_MAX_VALUES)
		m->values[m->n_values++] = *type;
	return i;
}

/*
 * Uses the members that only krait writes, which say what the value is. The weights of times and
 * bytes are converted to the unit that @type has already.
 */
static void take_value_type(struct ss_reader *r, struct ss_part *part,
			    struct profile_value_type *type)
{
	const char *unit = str_cstr(&part->value_unit);

	if (!part->value_type.n)
		return;
	r->has_types = true;
	type->type = profile_get_string(r->p, profile_string(r->p, str_cstr(&part->value_type)));
	if (!part->is_count || !*unit || profile_is_count(unit))
		return;
	part->is_count = false;
	type->unit = profile_get_string(r->p, profile_string(r->p, unit));
}

void ss_take_unit(struct ss_reader *r, struct ss_part *part)
{
	static const struct {
		const char *word;
		int power;
		struct profile_value_type type;
	} units[] = {{"none", 0, {"samples", "count"}},
		     {"bytes", 0, {"bytes", "bytes"}},
		     {"nanoseconds", 0, {"time", "nanoseconds"}},
		     {"microseconds", 3, {"time", "nanoseconds"}},
		     {"milliseconds", 6, {"time", "nanoseconds"}},
		     {"seconds", 9, {"time", "nanoseconds"}}};
	struct profile_value_type type;
	size_t i = 0;

	while (i < ARRAY_SIZE(units) && !streq(str_cstr(&part->unit), units[i].word))
		i++;
	r->odd[NO_UNIT] += i == ARRAY_SIZE(units);
	i = i < ARRAY_SIZE(units) ? i : 0;
	type = units[i].type;
	part->is_count = i == 0;
	take_value_type(r, part, &type);
	if (part->is_count && r->counts.micro)
		type.unit = PROFILE_MICROCOUNT;
	part->is_austin = !part->value_type.n && take_austin(part, &type);
	part->power = units[i].power;
	part->value = find_value(r, &type);
}
