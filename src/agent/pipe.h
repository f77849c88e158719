/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the agent's processes send to each other: frames (each has the samples of about a second)
 * from the sampler to the writer, and answers back. All of them run the same program, so numbers
 * are sent as they lie in memory.
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
 * The head of a message to the writer. The columns of a frame (the samples of about a second) or a
 * struct pin follow. .place.segment counts from 0; the writer adds the number of segments that the
 * store had before. .place isn't set for a pin.
 */
struct agent_frame {
	struct blob_place place;
	uint64_t bytes;
	bool is_pin;
};

enum agent_answer_kind {
	/*
	 * the store is open; .figures has the counters that are sums over earlier agents that used
	 * this store
	 */
	ANSWER_READY,
	ANSWER_KEPT, /* a frame was stored */
	/*
	 * the disk is full and the samples of a second were dropped, so the sampler must begin a
	 * new segment
	 */
	ANSWER_DROPPED,
	ANSWER_FAILED, /* the writer ends; .text says for what reason */
	/*
	 * a user asks to keep the samples of the time around now; .text has the user's words, which
	 * say why
	 */
	ANSWER_MARK,
};

/* An answer has at most PIPE_BUF bytes, so the kernel writes it in one piece. */
struct agent_answer {
	uint32_t kind, samples; /* .samples: how many samples were stored or dropped */
	int32_t error;		/* of ANSWER_FAILED: -errno */
	int64_t figures[BATCH_FIGURES];
	pid_t writer;
	uint32_t confined; /* how the writer is confined: bits of enum confined */
	char text[1024];
};
_Static_assert(sizeof(struct agent_answer) <= PIPE_BUF, "");

struct agent_options;

/*
 * starter.c: forks the starter, the process that starts writers, before the sampler has threads,
 * open files and kernel programs. The starter is confined as writers are. *ret_fd: the sampler's
 * end of the socket to the starter; when it is closed, the starter ends. 0 or -errno + message.
 */
_must_use_ int starter_begin(const struct agent_options *o, pid_t *ret, int *ret_fd);

/*
 * Asks the starter to start a writer that reads frames from @in and writes answers to @out. 0 or
 * -errno.
 */
_must_use_ int starter_ask(int starter_fd, int in, int out);

/*
 * writer.c: the writer's process runs this. Reads frames (batches of samples) from @fds[0] until
 * that pipe ends, and writes answers to @fds[1]. @marks: the pipe through which users ask to keep
 * the samples of the time around now, or -1.
 */
_Noreturn void agent_write(const struct agent_options *o, pid_t sampler, unsigned confined,
			   int marks, const int fds[2]);

#endif
