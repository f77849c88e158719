/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lowest layer of the pprof writer: writes top-level fields of a Profile message, compressed,
 * to a FILE.
 */
#ifndef FORMAT_PPROF_PPROF_OUT_H
#define FORMAT_PPROF_PPROF_OUT_H

#include <stdio.h>
#include <zlib.h>
#include "format/pprof/proto.h"

struct pprof_out {
	FILE *f;
	z_stream z;
	size_t n;
	int error; /* the first error; after an error nothing more is written */
	uint8_t raw[1 << 16], packed[1 << 15];
};

/* Prepares compression, for which it allocates much memory. 0 or -errno + message. */
_must_use_ int pprof_out_init(struct pprof_out *o, FILE *f);
void pprof_out_fini(struct pprof_out *o);

/*
 * pprof_out_bytes() writes a top-level field of bytes, pprof_out_uint() a top-level field with an
 * integer. An integer of 0 isn't written.
 */
void pprof_out_bytes(struct pprof_out *o, unsigned field, const void *s, size_t n);
void pprof_out_uint(struct pprof_out *o, unsigned field, uint64_t v);

/* Ends the file and flushes it. Returns 0, or the first error of any call, with a message. */
_must_use_ int pprof_out_finish(struct pprof_out *o);

#endif
