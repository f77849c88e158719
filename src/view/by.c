/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a profile whose stacks only say to which process, thread or label value a sample belongs;
 * see view_by().
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/str.h"
#include "marks.h"
#include "profile/remake/copy.h"
#include "view/view.h"

struct owners {
	const char *by;
	struct profile *from, *to;
	uint32_t mapping;
	uint32_t *stacks; /* id of a label set of .from -> the stack in .to; 0: not made yet */
	bool found;	  /* true: a sample has the label by which samples are grouped */
};

static const char *name_of(struct owners *o, uint32_t labels, struct str *none)
{
	const char *name = profile_label_text(o->from, labels, o->by);

	o->found |= *name != '\0';
	profile_add_no_label(none, o->by);
	return *name ? name : str_cstr(none);
}

static uint32_t stack_of(struct owners *o, uint32_t labels)
{
	_cleanup_str_ struct str none = {};
	uint32_t id;

	if (o->stacks[labels])
		return o->stacks[labels];
	id = profile_string(o->to, name_of(o, labels, &none));
	id = profile_function(o->to, &(struct profile_function){.name = id});
	id = profile_location(o->to,
			      &(struct profile_location){.mapping = o->mapping, .function = id});
	return o->stacks[labels] = profile_stack(o->to, &id, 1);
}

static int take_sample(void *arg, const struct profile_sample *s)
{
	struct owners *o = arg;
	struct profile_sample to = *s;

	to.stack = stack_of(o, s->labels);
	to.labels = 0;
	if (profile_failed(o->to))
		return err_set(-ENOMEM, "out of memory");
	return profile_add(o->to, &to);
}

static int make(struct owners *o)
{
	struct profile_mapping mark = {.name = profile_string(o->to, MARK_MAPPING),
				       .kind = KIND_MARK};
	int r;

	o->mapping = profile_mapping(o->to, &mark);
	r = profile_copy_meta(o->from, o->to);
	r = r ? r : profile_each(o->from, take_sample, o);
	if (!r && !o->found && profile_n_samples(o->from))
		r = err_of("grouping", o->by, -EINVAL, "no sample has the label '%s'", o->by);
	return r;
}

int view_by(struct profile **p, const char *by)
{
	struct owners o = {.by = by, .from = *p, .to = profile_new()};
	int r;

	o.stacks = calloc(profile_n_labels(*p) + 1, sizeof(*o.stacks));
	r = o.to && o.stacks ? make(&o) : err_set(-ENOMEM, "out of memory");
	free(o.stacks);
	profile_free(r ? o.to : *p);
	if (!r)
		*p = o.to;
	return r;
}
