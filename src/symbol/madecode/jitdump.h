/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads jit-PID.dump: records of code made at run time, as CPython 3.13 (-X perf_jit), V8 and JVM
 * agents write them (tools/perf/Documentation/jitdump-specification.txt, version 1). The process
 * writes the file while krait reads it, so the file may hold anything.
 */
#ifndef SYMBOL_MADECODE_JITDUMP_H
#define SYMBOL_MADECODE_JITDUMP_H

#include "base/util.h"

#define JITDUMP_RECORDS_MAX (2u << 20)

struct jitdump {
	int fd; /* descriptor of the jitdump file; borrowed */
	/* where in the file the next record begins; 0: the file's header wasn't read yet */
	uint64_t offset;
	/*
	 * reading has ended, because a record's size makes no sense, or there are too many records
	 */
	bool broken;
	size_t records;	  /* how many records were read */
	size_t malformed; /* how many records have contents that make no sense */
};

struct jitdump_code {
	/* address and size of the code; .size isn't 0, and .start + .size doesn't wrap around */
	uint64_t start, size;
	uint64_t index; /* number that the writer of the file gave to this code */
	/* name of the code; NULL: code that had this .index before has moved to .start */
	const char *name;
	size_t name_n;
};

/* Called for each piece of code. 0, or -errno, which ends the reading. */
typedef int jitdump_fn(void *arg, const struct jitdump_code *code);

/*
 * Reads the records that weren't read yet and lie completely within the first @end bytes of the
 * file. 0; -errno. Sets .broken if the file isn't a jitdump in this machine's byte order.
 */
_must_use_ int jitdump_read(struct jitdump *d, uint64_t end, jitdump_fn *fn, void *arg);

#endif
