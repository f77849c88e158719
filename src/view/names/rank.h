/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers that sort as texts do. Texts are added, then rank_finish() is called; after that equal
 * texts have one rank, and ranks compare as the bytes of the texts. Pictures and lists use ranks as
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
	VEC(size_t) starts; /* offset in .bytes of the i-th input */
	uint32_t *of;	    /* rank of the i-th input */
	uint32_t *first;    /* number of an input that has rank r */
	uint32_t n;	    /* how many ranks there are */
};

/* Frees @r; a zero-initialised struct is empty. */
void rank_fini(struct rank *r);

/* Adds a text as the next input, numbered from 0. 0 or -ENOMEM. */
_must_use_ int rank_add(struct rank *r, const char *text);

/*
 * Sorts the texts. After it .of, .n and rank_text() are valid, and nothing may be added. 0 or
 * -ENOMEM.
 */
_must_use_ int rank_finish(struct rank *r);

/* Returns the text that has a rank below .n; valid as long as @r. */
const char *rank_text(const struct rank *r, uint32_t rank);

#endif
