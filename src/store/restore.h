/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a profile of batches, so that all views and formats can show what the store holds. */
#ifndef STORE_RESTORE_H
#define STORE_RESTORE_H

#include "profile/sums.h"
#include "store/batch.h"

/* the latest time in ms whose ns fit into an int64_t */
#define MOST_MS (INT64_MAX / (int64_t)NSEC_PER_MSEC)

/* The label by whose value samples are divided into blocks. */
#define STORE_SERVICE_KEY "service"

/*
 * How much the answer to a query tells of each sample: everything, or in an outline only functions
 * without lines and a few labels.
 */
enum store_outline {
	OUTLINE_NONE,
	OUTLINE_CGROUPS,  /* labels: service, version and control group */
	OUTLINE_SERVICES, /* labels: service and version */
};

/*
 * Says which samples are wanted. A wait that is partly in the window of time counts only with that
 * part.
 */
struct store_query {
	int64_t since_ms, until_ms; /* the window of time: since <= time < until, wall clock */
	/*
	 * labels that a sample must have, such as pid=4711; of several labels with the same key,
	 * one is enough
	 */
	const struct profile_label_text *labels;
	size_t n_labels;
	enum store_outline outline;
	/* .origin_ms, .sums and .into are set by src/store itself */
	int64_t origin_ms; /* the wall clock time at which times in the profile begin */
	/*
	 * each sample is a sum over the time of a block (ten minutes, an hour, six hours or a day;
	 * or of a part), so samples aren't cut at the window's ends
	 */
	bool sums;
	/*
	 * where the samples of an outline (struct sums) are added up by stack and labels; NULL:
	 * each sample is added to the profile
	 */
	struct sums *into;
};

/*
 * Tells whether an outline, an answer that has few labels, keeps the label whose key is the @n
 * bytes at @key.
 */
bool restore_tells(enum store_outline outline, const char *key, size_t n);

/*
 * Adds those samples of @b that @q asks for to @p, with times relative to @q->origin_ms. Kinds of
 * values that @p lacks are added to it. Returns 0; -EBADMSG + message if @b contradicts itself, or
 * -E2BIG + message if there are too many kinds of values: in both cases nothing was added; -ENOMEM
 * + message.
 */
_must_use_ int restore(const struct batch *b, const struct store_query *q, struct profile *p);

/*
 * restore_begin(), restore_block() and restore_end() do together what restore() does, for several
 * blocks that share names. restore_begin() is called once @b has the names, which must stay;
 * restore_block() each time @b has another block's nodes, label sets and samples. The caller frees
 * *ret with restore_end(). The errors are those of restore().
 */
struct restoring;
_must_use_ int restore_begin(const struct batch *b, const struct store_query *q, struct profile *p,
			     struct restoring **ret);
_must_use_ int restore_block(struct restoring *x);
void restore_end(struct restoring *x);

#endif
