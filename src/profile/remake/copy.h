/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies parts of one profile into another profile. Each part that a sample needs is copied once,
 * when it is first asked for. The source must not change while it is copied.
 */
#ifndef PROFILE_REMAKE_COPY_H
#define PROFILE_REMAKE_COPY_H

#include "profile/profile.h"

struct profile_copy {
	const struct profile *from;
	struct profile *to;
	/* by id in .from: the id in .to; 0: not copied yet */
	uint32_t *strings, *mappings, *functions, *locations, *labels, *stacks;
};

/* Prepares copying from @from to @to. 0 or -ENOMEM + message. */
_must_use_ int profile_copy_init(struct profile_copy *c, const struct profile *from,
				 struct profile *to);
void profile_copy_fini(struct profile_copy *c);

/*
 * The functions below return the id in .to for @id in .from, and copy the object if that wasn't
 * done yet; 0 for 0. If memory runs out, they return 0, and profile_failed(to) is true.
 */
uint32_t profile_copy_string(struct profile_copy *c, uint32_t id);
uint32_t profile_copy_mapping(struct profile_copy *c, uint32_t id);
uint32_t profile_copy_function(struct profile_copy *c, uint32_t id);
uint32_t profile_copy_location(struct profile_copy *c, uint32_t id);
uint32_t profile_copy_stack(struct profile_copy *c, uint32_t id);

/*
 * Returns the id in .to for label set @id. The labels @extra, whose ids are those of .to, are added
 * to the copy, and replace labels with the same key. Each set is copied only once, so every call
 * must give the same @extra.
 */
uint32_t profile_copy_labels(struct profile_copy *c, uint32_t id, const struct profile_label *extra,
			     size_t n_extra);

/* Returns a copy of @type whose texts live as long as @to. */
struct profile_value_type profile_copy_value_type(struct profile *to,
						  const struct profile_value_type *type);

/* Copies value types, period, times and comments. 0 or -ENOMEM + message. */
_must_use_ int profile_copy_meta(struct profile *from, struct profile *to);

/* Copies comments from @from, as many as @to has room for. 0 or -ENOMEM + message. */
_must_use_ int profile_copy_comments(struct profile *from, struct profile *to);

#endif
