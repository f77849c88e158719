/* SPDX-License-Identifier: BSD-2-Clause */
/* Records that wait, in the form in which they came. */
#ifndef COLLECT_COMMON_RAW_H
#define COLLECT_COMMON_RAW_H

#include <stdbool.h>
#include <stdint.h>

#include "records.h"

/* A sample that wasn't handed to the profile yet. */
struct waiting {
	struct rec_sample rec;
	uint32_t process; /* index into processes.all */
	uint32_t flush;	  /* value of collect.flushes when the sample came */
};

/* A stack that has no name yet. */
struct raw_stack {
	uint64_t id;
	uint32_t process; /* index into processes.all */
	uint16_t n;
	uint8_t outcome;
	bool pins;	/* the process isn't forgotten until this stack has its names */
	uint32_t flush; /* value of collect.flushes when the stack came */
	struct wire_frame *frames;
	struct raw_native *native; /* NULL: there are no native or kernel frames */
};

/* The native and kernel frames of a stack. */
struct raw_native {
	uint64_t id;
	uint32_t version; /* of the space: which reading of the mappings the addresses belong to */
	uint16_t n, n_kernel;
	uint8_t outcome;
	uint64_t pc[]; /* first .n_kernel kernel frames, then native frames */
};

#endif
