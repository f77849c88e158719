/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the samples that a trace has beside its events. Each item of "samples" names a frame of
 * "stackFrames" (member "sf"). Each frame names its caller (member "parent"). Hermes and LLVM's
 * XRay write such samples, without their lengths.
 */
#ifndef FORMAT_TRACE_TRACE_SAMPLES_H
#define FORMAT_TRACE_TRACE_SAMPLES_H

#include "format/v8/v8_nodes.h"

struct trace_sample {
	uint32_t node;	   /* index in trace_samples.nodes of the sample's node */
	uint32_t pid, tid; /* the sample's process and thread, as strings of the profile */
	int64_t ts_ns, weight;
	bool has_ts;
};

struct trace_samples {
	/*
	 * where the lists "stackFrames" (.frames) and "samples" (.list) are in the file; .at is
	 * NULL if the file has no such list
	 */
	struct json_in frames, list;
	struct v8_nodes nodes;
	/* by node: the caller's name, as a string of the profile; 0: the node has no caller */
	VEC(uint32_t) callers;
	VEC(struct trace_sample) all;
	uint64_t n_unknown; /* how many samples name a frame that the file doesn't have */
};

/* Prepares reading samples. All pointers are borrowed. */
void trace_samples_init(struct trace_samples *t, const char *format, struct profile *p,
			size_t budget, uint64_t *steps);
void trace_samples_fini(struct trace_samples *t);

/* Reads the lists that .frames and .list point to. 0 or -errno + message. */
_must_use_ int trace_samples_read(struct trace_samples *t);

/* Adds sample @s with @labels, as a count of 1. Times are counted from @base_ns. */
_must_use_ int trace_samples_add(struct trace_samples *t, const struct trace_sample *s,
				 uint32_t labels, int64_t base_ns);

#endif
