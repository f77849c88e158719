/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampler's end of the pipe to the writer. The sampler never waits for the writer while it
 * samples: frames (each has the samples of about a second) that don't fit are dropped. A writer
 * that dies is replaced by a new one, after 0.1 s at first and 30 s at most. Samples that the dead
 * writer hadn't stored are lost. Dropped and lost samples are counted.
 */
#ifndef AGENT_LINK_H
#define AGENT_LINK_H

#include "agent/agent.h"
#include "agent/pipe.h"

#define LINK_MARKS 64

struct link {
	const struct agent_options *o;
	pid_t starter, writer; /* .writer: 0 until the writer has answered that it is ready */
	int starter_fd;
	/* the pipe to the writer and the pipe from it; -1: there is no writer */
	int out, answers;
	/*
	 * bytes of frames (batches of samples) that are to be sent; those already sent are removed
	 * only now and then
	 */
	struct str waiting;
	size_t sent; /* how many bytes of .waiting are in the pipe already */
	/* number of samples that were sent, but that the writer hasn't confirmed as stored */
	uint64_t unkept;
	/*
	 * when the present writer was started; how long to wait before the next writer is started
	 */
	uint64_t began_ns, delay_ns;
	uint64_t again_ns; /* when the next writer is to be started */
	/*
	 * .cpu_ns: CPU time of the present writer; .cpu_before: CPU time of all earlier writers
	 * together
	 */
	int64_t cpu_ns, cpu_before;
	unsigned confined; /* how the writer is confined: bits of enum confined */
	/* number of samples that were dropped, because the pipe or the disk had no room */
	uint64_t dropped;
	uint64_t lost; /* number of samples that a dead writer hadn't stored */
	unsigned restarts;
	/*
	 * The samples of a second were dropped, so later frames of the segment can't be read. The
	 * caller must begin a new segment of the store, and clear this member.
	 */
	bool anew;
	/*
	 * words of marks, by which users ask to keep the samples of the time around now; the caller
	 * removes them
	 */
	char marks[LINK_MARKS][PIN_WORDS_BYTES];
	unsigned n_marks;
	/*
	 * The writer has ended, so the samples of the present second can't be stored either. As for
	 * .anew, the caller must begin a new segment of the store, and clear this member.
	 */
	bool broke;
};

/*
 * Starts the writer, and waits until the store is open. @figures: the writer sets those counters
 * that are sums over earlier agents that used this store. 0 or -errno + message.
 */
_must_use_ int link_begin(struct link *l, const struct agent_options *o,
			  int64_t figures[BATCH_FIGURES]);

/*
 * Reads the writer's answers, writes as much as the pipe has room for, and starts a writer if it is
 * time to. 0 or -errno + message.
 */
_must_use_ int link_turn(struct link *l, uint64_t now);

/*
 * Sends a frame (the samples of about a second), or drops it. @place describes the frame. 0 or
 * -errno + message.
 */
_must_use_ int link_send(struct link *l, const struct blob_place *place, const struct str *columns);

/*
 * Sends a pin (a window of time whose samples are to be kept) to the writer. Returns false if there
 * is no writer: try again later.
 */
bool link_send_pin(struct link *l, const struct pin *p);

/* Returns the CPU time of all writers since the agent began, in ns. */
int64_t link_cpu(struct link *l);

/*
 * Waits until the writer has stored all samples, unless @error isn't 0. Ends the writer. Returns
 * @error, 0 or -errno.
 */
_must_use_ int link_end(struct link *l, int error);

#endif
