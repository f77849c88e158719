/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A batch is what a frame or a sealed block of the store holds. It has definitions (strings,
 * functions, locations, nodes of the tree of stacks, label sets) and samples, which refer to
 * definitions by number. A frame of the store has about a second's samples, and only those
 * definitions that earlier frames of its segment lack. As bytes, each member of a definition or
 * sample is a column of its own (batch_encode()).
 */
#ifndef STORE_BATCH_H
#define STORE_BATCH_H

#include "base/text/str.h"
#include "base/vec.h"
#include "profile/profile.h"

/* The tables of definitions. Each table numbers its definitions from 1; the number 0 means none. */
enum batch_table {
	BATCH_STRINGS,
	BATCH_MAPPINGS,
	BATCH_FUNCTIONS,
	BATCH_LOCATIONS,
	BATCH_SETS,
	BATCH_NODES,
	BATCH_TABLES
};

/*
 * Counters of the agent since it began. Each frame of the store has them as they were when it was
 * written.
 */
enum batch_figure {
	BATCH_BEGAN_MS,	   /* when the agent began: ms of wall clock since 1970 */
	BATCH_SAMPLER_CPU, /* CPU time of the sampler in ns */
	BATCH_WRITER_CPU,  /* CPU time of the writer in ns */
	BATCH_SAMPLES,	   /* samples that were handed to the store */
	BATCH_LOST,	   /* samples that were lost in krait's BPF programs */
	/* samples that were dropped because the writer or the disk was too slow */
	BATCH_DROPPED,
	BATCH_HZ,	/* how often a second CPU time is sampled now */
	BATCH_ASKED_HZ, /* how often a second the user asked for CPU time to be sampled */
	/* how often the rate was halved because the agent cost too much CPU time */
	BATCH_LOWERED,
	/* samples that were lost because the writer died before it had written them */
	BATCH_WRITER_LOST,
	BATCH_RESTARTS, /* how often the writer was started anew */
	/*
	 * what both processes of the agent (sampler and writer) gave up: bits of enum confined in
	 * agent/confine/
	 */
	BATCH_CONFINED,
	BATCH_LIMIT, /* the most bytes that the store may take; 0: not known */
	/* the rest: sums over all earlier agents that wrote into this store */
	BATCH_EARLIER_SAMPLER_CPU,
	BATCH_EARLIER_WRITER_CPU,
	BATCH_EARLIER_SAMPLES,
	BATCH_EARLIER_LOST,
	BATCH_EARLIER_DROPPED,
	BATCH_EARLIER_LOWERED,
	BATCH_FIGURES
};

#define BATCH_MAX_COMMENTS 256
#define BATCH_MAX_DEPTH	   65536
/*
 * limits of one frame of the store or one segment: bytes of all its columns, number of its samples
 */
#define BATCH_MAX_BYTES	  (64u << 20)
#define BATCH_MAX_SAMPLES (1u << 20)

struct batch_node {
	/* the parent's number, which is lower than this node's; 0: this is an outermost frame */
	uint32_t parent;
	uint32_t location;
};
struct batch_string {
	uint32_t at, n; /* the string's bytes in .text, which may hold NUL and invalid UTF-8 */
};
/* A label set. A later definition with the same .number replaces an earlier one. */
struct batch_set {
	uint32_t number, at, n; /* .at, .n: the set's labels in .labels of the batch */
};
struct batch_sample {
	int64_t ms;	       /* wall clock time in ms since 1970 */
	uint32_t node, labels; /* .node 0: the empty stack; .labels 0: no labels */
};

/* What the samples' values mean. Types, units and comments are given as numbers of strings. */
struct batch_meta {
	uint32_t n_values, default_value;
	struct {
		uint32_t type, unit;
	} values[PROFILE_MAX_VALUES], period_type;
	int64_t period;
	VEC(uint32_t) comments;
};

/*
 * In memory, a frame of the store (about a second's samples) or a block. Ids in .mappings,
 * .functions, .locations and .labels are numbers of this batch's tables. Only a segment's first
 * frame has all of .meta; later frames have only .meta.n_values.
 */
struct batch {
	/* how many definitions the segment's earlier frames have, for each table */
	uint32_t base[BATCH_TABLES];
	/*
	 * true: the batch is a block of a sealed segment. The batch has the block's nodes, label
	 * sets and samples. The block's names (strings, mappings, functions, locations) are kept
	 * elsewhere, and .base says how many of them the block may refer to.
	 */
	bool block;
	struct batch_meta meta;
	int64_t figures[BATCH_FIGURES];
	struct str text;
	VEC(struct batch_string) strings;
	VEC(struct profile_mapping) mappings;
	VEC(struct profile_function) functions;
	VEC(struct profile_location) locations;
	VEC(struct profile_label) labels;
	VEC(struct batch_set) sets;
	VEC(struct batch_node) nodes;
	VEC(struct batch_sample) samples;
	VEC(int64_t) values; /* .meta.n_values numbers for each sample */
};

void batch_fini(struct batch *b);

/*
 * Empties the batch of samples and definitions. The next definitions get the numbers after those of
 * the removed ones, so .base grows by the number of removed ones.
 */
void batch_clear(struct batch *b);

/*
 * Removes the label sets, nodes and samples of a block that was decoded into @b. The names stay;
 * batch_decode() may add more.
 */
void batch_forget_block(struct batch *b);

/*
 * Checks that chains of inlined functions in the locations are short. Returns 0; -EBADMSG + message
 * if one is longer than PROFILE_MAX_INLINED; -ENOMEM + message.
 */
_must_use_ int batch_check_inlined(const struct batch *b);

/* Returns the bytes of string @number, and in *n how many there are; "" for number 0. */
const char *batch_text(const struct batch *b, uint32_t number, size_t *n);

/* Tells whether label set @set (0: the empty set) has the label @want. */
bool batch_has_label(const struct batch *b, uint32_t set, const struct profile_label_text *want);

/*
 * Tells whether label set @set has, for each key among the wanted labels, one of the labels with
 * that key.
 */
bool batch_has_labels(const struct batch *b, uint32_t set, const struct profile_label_text *wanted,
		      size_t n);

/*
 * Sorts the samples of @b by labels and time, and appends @b to *ret as columns. Returns 0 or
 * -ENOMEM + message.
 */
_must_use_ int batch_encode(struct batch *b, struct str *ret);

/*
 * Decodes a frame of the store from its columns, data[0..n), and adds it to @b, whose .base must be
 * 0. The frame must be the one that follows the frames that @b already has. The bytes may be
 * anything. Returns 0; -EBADMSG + message if they are damaged or aren't the frame that follows;
 * -ENOMEM + message. After an error
 * @b can only be freed.
 */
_must_use_ int batch_decode(struct batch *b, const void *data, size_t n);

/*
 * Like batch_decode(), but for a block. @b must already have the names that the block refers to,
 * and may have more. The nodes, sets and samples that @b had are removed first.
 */
_must_use_ int batch_decode_block(struct batch *b, const void *data, size_t n);

/*
 * Reads only the agent's counters (enum batch_figure) from data[0..n), the columns of a frame of
 * the store. Returns 0, or -EBADMSG + message.
 */
_must_use_ int batch_read_figures(const void *data, size_t n, int64_t figures[BATCH_FIGURES]);

/*
 * Renumbers the nodes in preorder, with siblings sorted by location. Returns 0 or -ENOMEM +
 * message.
 */
_must_use_ int batch_order(struct batch *b);

#endif
