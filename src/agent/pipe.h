/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the sampler and the writer say to each other: frames one way, answers the other. Both are
 * the same program, so that the numbers need no other form.
 */
#ifndef AGENT_PIPE_H
#define AGENT_PIPE_H

#include <limits.h>
#include "base/text/str.h"
#include "store/batch.h"
#include "store/blob.h"

/* Before the columns of a frame. .place.segment counts from 0; the writer adds what is there. */
struct agent_frame {
	struct blob_place place;
	uint64_t bytes;
};

enum agent_answer_kind {
	ANSWER_READY,	/* the store is open; .figures: of the agents before in it */
	ANSWER_DROPPED, /* the disk is full: a frame was dropped, a new segment must begin */
	ANSWER_FAILED,	/* the writer ends; .text says why */
};

/* Short enough that the kernel writes it whole (PIPE_BUF). */
struct agent_answer {
	uint32_t kind, samples; /* .samples: how many were in the frame that was dropped */
	int32_t error;		/* of ANSWER_FAILED: -errno */
	int64_t figures[BATCH_FIGURES];
	char text[1024];
};
_Static_assert(sizeof(struct agent_answer) <= PIPE_BUF, "");

/* writer.c: the writer's process. Reads frames from @in until its end, answers on @out. */
struct agent_options;
_Noreturn void agent_write(const struct agent_options *o, pid_t sampler, int in, int out);

#endif
