/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The samples of a profile in the order in which they came: 4 to 7 bytes each, in blocks that can
 * be decoded by themselves. Full blocks go to an unlinked temporary file, so memory doesn't grow
 * with recording time. The file is made when the first block is full, in $TMPDIR, /var/tmp or /tmp,
 * the first that works. Without such a file, or once it can't take more, blocks stay in memory:
 * nothing is lost.
 */
#ifndef PROFILE_SAMPLELOG_H
#define PROFILE_SAMPLELOG_H

#include "base/vec.h"
#include "profile/profile.h"

#define SAMPLELOG_MRU 3

/* What the next sample is coded against; all zero at the start of every block. */
struct samplelog_state {
	int64_t values[PROFILE_MAX_VALUES];
	int64_t time_ns;	     /* when the last sample was taken that has a time */
	uint32_t mru[SAMPLELOG_MRU]; /* ids of the label sets used last, latest first */
};

struct samplelog_block {
	uint8_t *mem; /* bytes of the block; NULL: they are in the file at .off */
	uint64_t off;
	uint32_t n, samples;
	/* least and greatest time of the samples in the block; -1 counts as a time */
	int64_t first_ns, last_ns;
};

struct samplelog {
	int fd; /* descriptor of the temporary file; -1: there is none (yet) */
	bool no_file;
	uint64_t file_size, n;
	VEC(struct samplelog_block) blocks; /* blocks that are full */
	/* the block that is filled now; its .mem has SAMPLELOG_BLOCK bytes or is NULL */
	struct samplelog_block open;
	struct samplelog_state state;
};

void samplelog_init(struct samplelog *l);
void samplelog_fini(struct samplelog *l);

/*
 * Appends sample @s, of which the first @n_values values may differ from 0. 0 or -ENOMEM + message.
 * A negative time is stored as -1.
 */
_must_use_ int samplelog_add(struct samplelog *l, const struct profile_sample *s,
			     unsigned n_values);

/*
 * Calls @fn for the samples with first_ns <= time <= last_ns, in the order added; blocks outside
 * that time aren't touched. Stops at the first non-zero return and returns it; -errno + message if
 * the temporary file can't be read. @fn may add samples, for which it isn't called.
 */
_must_use_ int samplelog_each(const struct samplelog *l, int64_t first_ns, int64_t last_ns,
			      int (*fn)(void *arg, const struct profile_sample *s), void *arg);

#endif
