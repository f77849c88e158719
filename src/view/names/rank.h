/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Texts to numbers that sort as the texts do: add texts, finish, then equal texts have one rank and
 * ranks compare as the bytes of the texts. What a picture or a list is keyed and ordered by, so
 * that the same samples give the same bytes whatever order they came in.
 */
#ifndef VIEW_NAMES_RANK_H
#define VIEW_NAMES_RANK_H

#include "base/str.h"
#include "base/util.h"
#include "base/vec.h"

struct rank {
	struct str bytes;   /* the texts, each with its NUL */
	VEC(size_t) starts; /* of input i in bytes */
	uint32_t *of;	    /* rank of input i */
	uint32_t *first;    /* an input of rank r */
	uint32_t n;	    /* ranks */
};

/* Zero-initialised is empty. */
void rank_fini(struct rank *r);

/* Adds a text as the next input (numbered from 0): 0 or -ENOMEM. */
_must_use_ int rank_add(struct rank *r, const char *text);

/* Sorts; after it .of, .n and rank_text() are valid, and nothing may be added. 0 or -ENOMEM. */
_must_use_ int rank_finish(struct rank *r);

/* Text of a rank below .n; valid as long as @r. */
const char *rank_text(const struct rank *r, uint32_t rank);

#endif
