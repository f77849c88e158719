/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a frame or a sealed block of the store holds: definitions (strings, functions, places, nodes
 * of the tree of stacks, label sets) and samples that refer to them by number. A frame has what is
 * new since the frame before it. Both have the same form, in which each member of a definition or
 * sample is a column of its own (batch_encode()).
 */
#ifndef STORE_BATCH_H
#define STORE_BATCH_H

#include "base/text/str.h"
#include "base/vec.h"
#include "profile/profile.h"

/* The tables of definitions. Definitions of a table are numbered from 1; 0 stands for none. */
enum batch_table {
	BATCH_STRINGS,
	BATCH_MAPPINGS,
	BATCH_FUNCTIONS,
	BATCH_LOCATIONS,
	BATCH_SETS,
	BATCH_NODES,
	BATCH_TABLES
};

/* Counters of the agent since it began; the newest frame has the newest ones. */
enum batch_figure {
	BATCH_BEGAN_MS,	   /* when the agent began, wall clock */
	BATCH_SAMPLER_CPU, /* CPU time of the sampler in ns */
	BATCH_WRITER_CPU,  /* CPU time of the writer in ns */
	BATCH_SAMPLES,	   /* samples that were handed to the store */
	BATCH_LOST,	   /* samples that the kernel programs lost */
	BATCH_DROPPED,	   /* samples that the writer or the disk was too slow for */
	BATCH_HZ,	   /* how often CPU time is sampled now, a second */
	BATCH_ASKED_HZ,	   /* how often it was asked for */
	BATCH_LOWERED,	   /* how often the rate was halved, as it cost too much */
	BATCH_WRITER_LOST, /* samples that a writer which died hadn't kept yet */
	BATCH_RESTARTS,	   /* how often the writer was started again */
	BATCH_CONFINED,	   /* enum confined bits (agent/confine.h) that hold for both processes */
	BATCH_LIMIT,	   /* the most bytes of the store; 0: not known */
	/* the same of all agents before in this store */
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
/* the most bytes of the columns of a frame or segment, and the most samples */
#define BATCH_MAX_BYTES	  (64u << 20)
#define BATCH_MAX_SAMPLES (1u << 20)

struct batch_node {
	uint32_t parent; /* number of the node, lower than this one's; 0: an outermost frame */
	uint32_t location;
};
struct batch_string {
	uint32_t at, n; /* its bytes in .text; neither NUL nor invalid UTF-8 is excluded */
};
/* A label set. One that was defined before may be defined again: then the new labels count. */
struct batch_set {
	uint32_t number, at, n; /* at, n: its labels in .labels */
};
struct batch_sample {
	int64_t ms;	       /* wall clock time since the epoch, in ms */
	uint32_t node, labels; /* 0: the empty stack; no labels */
};

/* What the values mean. All numbers are those of strings. */
struct batch_meta {
	uint32_t n_values, default_value;
	struct {
		uint32_t type, unit;
	} values[PROFILE_MAX_VALUES], period_type;
	int64_t period;
	VEC(uint32_t) comments;
};

/*
 * Ids in mappings, functions, locations and labels are numbers of this batch's tables. .meta is set
 * in a segment's first frame; .meta.n_values is set in all.
 */
struct batch {
	uint32_t base[BATCH_TABLES]; /* how many definitions earlier frames have */
	/*
	 * a block of a sealed segment: its nodes, sets and samples are all there, and refer to
	 * names that are kept elsewhere, .base of them
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
	VEC(int64_t) values; /* .meta.n_values of each sample */
};

void batch_fini(struct batch *b);

/* Forgets the samples and definitions; their numbers count as given: .base grows. */
void batch_clear(struct batch *b);

/*
 * Appends the columns of @b to *ret, samples sorted by labels and time. 0 or -ENOMEM +
 * message.
 */
_must_use_ int batch_encode(struct batch *b, struct str *ret);

/*
 * Adds what the columns data[0..n) hold to @b, whose .base is 0. They must be those of the frame
 * that follows the ones that @b has. Anything may be in @data. 0, or -EBADMSG + message if they are
 * damaged or don't follow, or -ENOMEM + message; then @b can only be freed.
 */
_must_use_ int batch_decode(struct batch *b, const void *data, size_t n);

/*
 * As batch_decode(), for a block: @b has the names that it refers to, and perhaps more. Nodes, sets
 * and samples that @b has are forgotten.
 */
_must_use_ int batch_decode_block(struct batch *b, const void *data, size_t n);

/* Reads only the figures of the columns data[0..n). 0, or -EBADMSG + message. */
_must_use_ int batch_read_figures(const void *data, size_t n, int64_t figures[BATCH_FIGURES]);

/* Renumbers the nodes in preorder, children by location. 0 or -ENOMEM + message. */
_must_use_ int batch_order(struct batch *b);

#endif
