/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The samples of a profile, in the order in which they came. A sample takes 4 to 7 bytes. Samples
 * are in blocks, each of which can be decoded by itself. Full blocks go to an unlinked temporary
 * file, so memory doesn't grow with recording time. The file is made when the first block is full,
 * in the first of $TMPDIR, /var/tmp and /tmp that works. Without a file, or once the disk is full,
 * blocks stay in memory, so nothing is lost.
 */
#ifndef PROFILE_SAMPLELOG_H
#define PROFILE_SAMPLELOG_H

#include "base/vec.h"
#include "profile/profile.h"

#define SAMPLELOG_MRU 3

/*
 * What the next sample is compared with, so that only the differences are stored. All members are 0
 * at the start of every block.
 */
struct samplelog_state {
	int64_t values[PROFILE_MAX_VALUES];
	int64_t time_ns;	     /* time of the last sample that has a time */
	uint32_t mru[SAMPLELOG_MRU]; /* ids of the label sets used last, latest first */
};

struct samplelog_block {
	uint8_t *mem; /* bytes of the block; NULL: they are in the temporary file, at offset .off */
	uint64_t off;
	uint32_t n, samples;
	/* least and greatest time of the samples in the block; -1 counts as a time */
	int64_t first_ns, last_ns;
};

struct samplelog {
	int fd; /* descriptor of the temporary file; -1: it doesn't exist (yet) */
	bool no_file;
	uint64_t file_size, n;
	VEC(struct samplelog_block) blocks; /* blocks that are full */
	/* the block that new samples go to; its .mem has SAMPLELOG_BLOCK bytes or is NULL */
	struct samplelog_block open;
	struct samplelog_state state;
};

void samplelog_init(struct samplelog *l);
void samplelog_fini(struct samplelog *l);

/*
 * Appends sample @s. Only its first @n_values values may differ from 0. A negative time is stored
 * as -1. 0 or -ENOMEM + message.
 */
_must_use_ int samplelog_add(struct samplelog *l, const struct profile_sample *s,
			     unsigned n_values);

/*
 * Calls @fn for the samples with first_ns <= time <= last_ns, in the order in which they were
 * added. Blocks without such samples aren't read. Stops at the first return that isn't 0, and
 * returns it. -errno + message if the temporary file can't be read. @fn may add samples; it isn't
 * called for these.
 */
_must_use_ int samplelog_each(const struct samplelog *l, int64_t first_ns, int64_t last_ns,
			      int (*fn)(void *arg, const struct profile_sample *s), void *arg);

#endif
