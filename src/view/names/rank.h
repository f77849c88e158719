/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers (ranks) that sort as texts do. Texts are added, then rank_finish() is called. Equal texts
 * have the same rank, and ranks sort like the bytes of the texts. Pictures and lists use ranks as
 * keys and for their order, so that the same samples give the same output in whatever order they
 * came.
 */
#ifndef VIEW_NAMES_RANK_H
#define VIEW_NAMES_RANK_H

#include "base/text/str.h"
#include "base/util.h"
#include "base/vec.h"

struct rank {
	struct str bytes;   /* the texts that were added, each followed by a NUL */
	VEC(size_t) starts; /* offset in .bytes of the i-th text that was added */
	uint32_t *of;	    /* rank of the i-th text that was added */
	uint32_t *first;    /* by rank: number of a text that has the rank */
	uint32_t n;	    /* how many ranks there are */
};

/* Frees @r; a zero-initialised struct is empty. */
void rank_fini(struct rank *r);

/* Adds a text. Texts are numbered from 0 in the order in which they are added. 0 or -ENOMEM. */
_must_use_ int rank_add(struct rank *r, const char *text);

/*
 * Sorts the texts. From then on .of, .n and rank_text() are valid, and no text may be added. 0 or
 * -ENOMEM.
 */
_must_use_ int rank_finish(struct rank *r);

/* Returns the text that has a rank below .n; valid as long as @r. */
const char *rank_text(const struct rank *r, uint32_t rank);

#endif
