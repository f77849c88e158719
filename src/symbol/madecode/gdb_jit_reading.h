/* SPDX-License-Identifier: BSD-2-Clause */
/* A reading of gdb's list, for the four files that share the work (gdb_jit.c says which). */
#ifndef SYMBOL_MADECODE_GDB_JIT_READING_H
#define SYMBOL_MADECODE_GDB_JIT_READING_H

#include "base/map.h"
#include "base/work/slice.h"
#include "base/vec.h"
#include "symbol/elf/symbol_table.h"
#include "symbol/madecode/gdb_jit.h"

#define TURNS_MOST 64 /* how many new entries may be met when gdb's list is followed again */
#define TRIES_MOST 8  /* how often gdb's list is followed again at most, because it has changed */
/* the work of one request to the child that reads (proc/read/reader.h) */
#define WORK_PEEK (10 * WORK_CALL)

/* The layout of gdb's structures in a 64-bit process. */
struct descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};
struct entry {
	uint64_t next, prev, file, size;
};

struct known_descriptor {
	uint64_t at;
	struct descriptor was;
};

struct gdb_jit {
	struct symbol_table table;
	unwind_rows_vec rows; /* unwind rows of each file that has any; the files own this memory */
	/*
	 * files of the list. After a reading that was cut short, the files that it didn't reach
	 * come last.
	 */
	VEC(struct file *) files;
	VEC(struct known_descriptor) descriptors;
	struct gdb_jit_stats stats;
	bool goes_on;
};

struct function {
	uint64_t start, size;
	const char *name;
	uint8_t rank;
};

struct span {
	uint64_t start, end;
	bool shared;
};

/* A range of the process's memory that was read for a file. */
struct range {
	uint64_t at, n;
};

/*
 * An entry, and what was learnt from its file. A later reading takes all this over, as long as the
 * memory that was read for it has the same contents.
 */
struct file {
	unsigned refs;
	uint64_t at;
	struct entry entry;
	VEC(struct range) ranges;
	/*
	 * how many of the first .ranges are the entry, and the headers that say where its code is
	 */
	size_t n_head;
	uint64_t hash, head_hash;
	/*
	 * a part of the file couldn't be read or was beyond a limit: another reading may learn more
	 */
	bool part;
	/* when the file was checked last, its memory had the same contents as when it was read */
	bool is_same;
	bool is_named, is_malformed;
	VEC(struct function) functions;
	VEC(struct span) spans; /* sections of the file that hold code */
	/* string tables of the file; the names in .functions point into them */
	VEC(void *) names;
	uint64_t bytes;
	struct unwind_rows rows;
};

struct reader {
	gdb_jit_peek *peek;
	/* function that reads many pieces in one request; NULL: pieces are read one by one */
	gdb_jit_peek_pieces *pieces;
	void *arg;
	size_t left;  /* how many bytes this reading may still read */
	bool cut;     /* this reading was cut, because the thread's slice is used up */
	size_t fresh; /* how many files this reading was the first to read completely */
	struct gdb_jit *jit;
	struct file *file; /* the file of gdb's list that is being read */
	/* the contents of .file, if .file is small; NULL: .file is read in parts */
	uint8_t *whole;
	/* how many bytes of .whole were counted, but not used for a part yet */
	uint64_t whole_left;
	struct map known; /* the files of the reading before: address -> index + 1 */
	struct map seen;  /* the files of this reading: address -> index + 1 */
	VEC(struct span) spans;
};

/* gdb_jit_file.c: gives back a reference to a file; @f may be NULL. */
void jit_file_put(struct file *f);

/* Reads the entry at @at, and its file, into .file. Fails only if the entry can't be read. */
_must_use_ int jit_file_read(struct reader *rd, uint64_t at);

/*
 * Returns the hash of some bytes that are followed by the @n bytes @bytes. @h: the hash of the
 * first bytes; 0: there are none.
 */
uint64_t jit_hash(uint64_t h, const void *bytes, size_t n);

/*
 * gdb_jit_list.c: reads all lists. If a list changes or is broken, the other lists are read
 * nevertheless. Returns the first error.
 */
_must_use_ int jit_read_lists(struct reader *rd, const uint64_t *at, size_t n,
			      const struct gdb_jit *before);

/*
 * Did the entry at @prev lead to the entry @e at @at? If an entry was added or removed between them
 * since they were read, the current memory decides, and *@e is read again.
 */
bool jit_is_behind(const struct reader *rd, uint64_t descriptor, uint64_t prev, uint64_t at,
		   struct entry *e);

/* gdb_jit_check.c: finds the files of the reading @before that needn't be read again. */
_must_use_ int jit_find_known(struct reader *rd, const struct gdb_jit *before);

/* Checks what was read against gdb's list as it is now. @r: the result of the reading. */
_must_use_ int jit_settle(struct reader *rd, int r);

#endif
