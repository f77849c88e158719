/* SPDX-License-Identifier: BSD-2-Clause */
/* Records as they came, for as long as they wait. */
#ifndef COLLECT_COMMON_RAW_H
#define COLLECT_COMMON_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include "records.h"

/* A sample that wasn't handed on yet. */
struct waiting {
	struct rec_sample rec;
	uint32_t process; /* index */
	uint32_t flush;	  /* in which it came */
};

/* A stack without a name. */
struct raw_stack {
	uint64_t id;
	uint32_t process; /* index */
	uint16_t n;
	uint8_t outcome;
	bool pins;	/* its process is kept until the names of this stack are there */
	uint32_t flush; /* in which it came */
	struct wire_frame *frames;
	struct raw_native *native; /* NULL: none */
};

/* Native and kernel frames of a stack. */
struct raw_native {
	uint64_t id;
	uint32_t version; /* of the space that the addresses belong to */
	uint16_t n, n_kernel;
	uint8_t outcome;
	uint64_t pc[]; /* kernel frames, then native ones */
};

#endif
