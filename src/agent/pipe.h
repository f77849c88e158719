/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the agent's processes send to each other: frames from the sampler to the writer, and answers
 * back. All processes run the same program, so numbers are sent as they are in memory.
 */
#ifndef AGENT_PIPE_H
#define AGENT_PIPE_H

#include <limits.h>
#include <sys/types.h>
#include "base/text/str.h"
#include "store/batch.h"
#include "store/blob.h"
#include "store/pins/pins.h"

/*
 * Comes before the columns of a frame, and before a struct pin. .place.segment counts from 0; the
 * writer adds the number of segments that the store had before. For a pin .place isn't set.
 */
struct agent_frame {
	struct blob_place place;
	uint64_t bytes;
	bool is_pin;
};

enum agent_answer_kind {
	ANSWER_READY,	/* the store is open; .figures: sums over earlier agents of this store */
	ANSWER_KEPT,	/* a frame was stored */
	ANSWER_DROPPED, /* the disk is full: a frame was dropped, so a new segment must begin */
	ANSWER_FAILED,	/* the writer ends; .text says why */
	ANSWER_MARK,	/* a user has marked this moment; .text: its words */
};

/* An answer is so short that the kernel writes it in one piece (PIPE_BUF). */
struct agent_answer {
	uint32_t kind, samples; /* .samples: how many samples the stored or dropped frame has */
	int32_t error;		/* of ANSWER_FAILED: -errno */
	int64_t figures[BATCH_FIGURES];
	pid_t writer;
	uint32_t confined; /* enum confined bits of the writer */
	char text[1024];
};
_Static_assert(sizeof(struct agent_answer) <= PIPE_BUF, "");

struct agent_options;

/*
 * starter.c: starts the process that starts writers, before the sampler has threads, files and
 * programs of its own. That process is confined as writers are. *ret_fd: the sampler's end of the
 * socket to the starter; closing it ends the starter. 0 or -errno + message.
 */
_must_use_ int starter_begin(const struct agent_options *o, pid_t *ret, int *ret_fd);

/*
 * Tells the starter to start a writer that reads frames from @in and answers on @out. 0 or -errno.
 */
_must_use_ int starter_ask(int starter_fd, int in, int out);

/*
 * writer.c: runs in the writer's process. Reads frames from @fds[0] until that pipe ends, and
 * answers on @fds[1]. @marks: the pipe of marks, or -1.
 */
_Noreturn void agent_write(const struct agent_options *o, pid_t sampler, unsigned confined,
			   int marks, const int fds[2]);

#endif
