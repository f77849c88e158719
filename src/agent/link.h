/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampler's end of the pipe to the writer. The sampler never waits for the writer while it
 * samples: frames that don't fit are dropped. A writer that dies is replaced by a new one, after
 * 0.1 s at first and 30 s at most. Samples that the dead writer hadn't stored are lost. Dropped and
 * lost samples are counted.
 */
#ifndef AGENT_LINK_H
#define AGENT_LINK_H

#include "agent/agent.h"
#include "agent/pipe.h"

#define LINK_MARKS 64

struct link {
	const struct agent_options *o;
	pid_t starter, writer; /* .writer: 0 until the writer has said that it is ready */
	int starter_fd;
	int out, answers;   /* the pipes to and from the writer; -1: there is no writer */
	struct str waiting; /* frames that aren't in the pipe yet, or not wholly */
	size_t sent;	    /* how many bytes of .waiting are in the pipe already */
	/* number of samples that were sent, but that the writer hasn't acknowledged */
	uint64_t unkept;
	/* when the writer was started; how long to wait before starting the next one */
	uint64_t began_ns, delay_ns;
	uint64_t again_ns;	    /* when the next writer is due */
	int64_t cpu_ns, cpu_before; /* CPU time of the present writer, and of all earlier ones */
	unsigned confined;	    /* enum confined bits of the writer */
	/* number of samples that were dropped, because the pipe or the disk had no room */
	uint64_t dropped;
	uint64_t lost; /* number of samples that a dead writer hadn't stored */
	unsigned restarts;
	/* A frame was dropped, so a new segment must begin. Set here, cleared by the caller. */
	bool anew;
	/* words of marks that users have sent; cleared by the caller */
	char marks[LINK_MARKS][PIN_WORDS_BYTES];
	unsigned n_marks;
	/* Like .anew, but the frame that is being filled can't be written either. */
	bool broke;
};

/*
 * Starts the writer, and waits until the store is open. @figures get the figures of earlier agents
 * of this store. 0 or -errno + message.
 */
_must_use_ int link_begin(struct link *l, const struct agent_options *o,
			  int64_t figures[BATCH_FIGURES]);

/*
 * Takes answers, writes what the pipe takes, and starts a writer if one is due. 0 or -errno +
 * message.
 */
_must_use_ int link_turn(struct link *l, uint64_t now);

/* Sends a frame, which @place describes, or drops it. 0 or -errno + message. */
_must_use_ int link_send(struct link *l, const struct blob_place *place, const struct str *columns);

/* Sends a pin. Returns false if there is no writer: try again later. */
bool link_send_pin(struct link *l, const struct pin *p);

/* Returns the CPU time of all writers so far, in ns. */
int64_t link_cpu(struct link *l);

/*
 * Waits until the writer has stored all frames, unless @error isn't 0. Ends the writer. Returns
 * @error, 0 or -errno.
 */
_must_use_ int link_end(struct link *l, int error);

#endif
