/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jit-PID.dump: records of code made at run time, as CPython 3.13 (-X perf_jit), V8 and JVM agents
 * write them (tools/perf/Documentation/jitdump-specification.txt, version 1). Written by the process
 * itself while it is read: hostile.
 */
#ifndef SYMBOL_JITDUMP_H
#define SYMBOL_JITDUMP_H

#include "base/util.h"

#define JITDUMP_RECORDS_MAX (2u << 20)

struct jitdump {
	int fd;		  /* borrowed */
	uint64_t offset;  /* of the next record; 0: the header wasn't read */
	bool broken;	  /* a record's size makes no sense, or there are too many: the end */
	size_t records;	  /* read */
	size_t malformed; /* records with contents that make no sense */
};

struct jitdump_code {
	uint64_t start, size; /* size isn't 0, doesn't wrap */
	uint64_t index;	      /* the writer's number for this code */
	const char *name;     /* NULL: the code with this index has moved here */
	size_t name_n;
};

/* 0, or -errno, which ends reading. */
typedef int jitdump_fn(void *arg, const struct jitdump_code *code);

/*
 * Reads the records that are whole at size @end of the file and weren't read yet. 0; -errno. A file
 * that isn't a jitdump of this machine's byte order is .broken.
 */
_must_use_ int jitdump_read(struct jitdump *d, uint64_t end, jitdump_fn *fn, void *arg);

#endif
