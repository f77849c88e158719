/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a profile of batches, so that every view and format works on what the store holds. */
#ifndef STORE_RESTORE_H
#define STORE_RESTORE_H

#include "store/batch.h"

/* the latest time: it is also a number of ns */
#define MOST_MS (INT64_MAX / (int64_t)NSEC_PER_MSEC)

/* The label whose values have blocks of their own. */
#define STORE_SERVICE_KEY "service"

/* How much of a sample is told: all; or functions without lines, and few labels. */
enum store_outline {
	OUTLINE_NONE,
	OUTLINE_CGROUPS,  /* service, version and control group */
	OUTLINE_SERVICES, /* service and version */
};

/* Which samples are wanted; of a wait that touches the window, the part in it. */
struct store_query {
	int64_t since_ms, until_ms; /* since <= time < until, wall clock */
	/* labels that a sample must have, such as pid=4711; those of one key are alternatives */
	const struct profile_label_text *labels;
	size_t n_labels;
	enum store_outline outline;
	/* set in the room: */
	int64_t origin_ms; /* what times in the profile count from */
	bool sums;	   /* a sample is a sum of a coarser tier's window, and isn't cut */
};

/* Does an outline tell label @key, of @n bytes? */
bool restore_tells(enum store_outline outline, const char *key, size_t n);

/*
 * Adds the samples of @b that @q wants to @p, with times since @q->origin_ms. The values of @b that
 * @p hasn't got are added to it. Returns 0; -EBADMSG + message if @b contradicts itself, or -E2BIG
 * + message if there are too many kinds of values: then nothing was added; -ENOMEM + message.
 */
_must_use_ int restore(const struct batch *b, const struct store_query *q, struct profile *p);

/*
 * The same for several blocks that share names. restore_begin(): @b has the names, which stay.
 * restore_block(): @b has another block's nodes, sets and samples. The caller frees *ret with
 * restore_end(). They return what restore() does.
 */
struct restoring;
_must_use_ int restore_begin(const struct batch *b, const struct store_query *q, struct profile *p,
			     struct restoring **ret);
_must_use_ int restore_block(struct restoring *x);
void restore_end(struct restoring *x);

#endif
