/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sampler's end of the pipe to the writer. It never waits for the writer while samples are
 * taken: what doesn't fit is dropped. A writer that dies is started again, after 0.1 s at first and
 * 30 s at most; what it hadn't kept is lost. Both are counted.
 */
#ifndef AGENT_LINK_H
#define AGENT_LINK_H

#include "agent/agent.h"
#include "agent/pipe.h"

struct link {
	const struct agent_options *o;
	pid_t starter, writer; /* .writer: 0 until it has said that it is ready */
	int starter_fd;
	int out, answers;   /* the pipes to and from the writer; -1: there is no writer */
	struct str waiting; /* frames that aren't in the pipe yet */
	size_t sent;	    /* bytes of .waiting that are */
	uint64_t unkept;    /* samples that were sent and of which the writer has said nothing */
	uint64_t began_ns, delay_ns; /* when the writer was started; how long to wait after it */
	uint64_t again_ns;	     /* when the next writer is due */
	int64_t cpu_ns, cpu_before;  /* CPU time of this writer, and of those before it */
	unsigned confined;	     /* enum confined bits of the writer */
	uint64_t dropped;	     /* samples for which pipe or disk had no room */
	uint64_t lost;		     /* samples that a writer which died hadn't kept */
	unsigned restarts;
	/* Set here, cleared by the caller: a frame was dropped, so a new segment must begin. */
	bool anew;
	/* As .anew; the frame that is being filled can't be written any more either. */
	bool broke;
};

/*
 * Starts the writer, and waits until the store is open. @figures get those of the agents before. 0
 * or -errno + message.
 */
_must_use_ int link_begin(struct link *l, const struct agent_options *o,
			  int64_t figures[BATCH_FIGURES]);

/* Takes answers, writes what the pipe takes, starts a writer that is due. 0 or -errno + message. */
_must_use_ int link_turn(struct link *l, uint64_t now);

/* Sends a frame of @place, or drops it. 0 or -errno + message. */
_must_use_ int link_send(struct link *l, const struct blob_place *place, const struct str *columns);

/* CPU time of all writers, in ns. */
int64_t link_cpu(struct link *l);

/* Waits until the writer has all, unless @error, and ends it. Returns @error, 0 or -errno. */
_must_use_ int link_end(struct link *l, int error);

#endif
