/* SPDX-License-Identifier: BSD-2-Clause */
/* What belongs to one reading of gdb's list. Four source files share it (gdb_jit.c says which). */
#ifndef SYMBOL_MADECODE_GDB_JIT_READING_H
#define SYMBOL_MADECODE_GDB_JIT_READING_H

#include "base/map.h"
#include "base/work/slice.h"
#include "base/vec.h"
#include "symbol/elf/symbol_table.h"
#include "symbol/madecode/gdb_jit.h"

#define TURNS_MOST 64 /* the most new entries that krait skips when it follows gdb's list again */
/* how often krait follows gdb's list again at most, because the list has changed */
#define TRIES_MOST 8
/*
 * how much of the thread's slice of work (base/work/slice.h) one request to the child process that
 * reads memory takes
 */
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
	 * files of the list; if a reading was cut short, the files of the earlier reading that it
	 * didn't reach come last
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
 * A list entry, and what krait has read from its file. A later reading takes all this over, as long
 * as the memory that was read for the file has the same contents.
 */
struct file {
	unsigned refs;
	uint64_t at;
	struct entry entry;
	VEC(struct range) ranges;
	/*
	 * how many of the first .ranges have the list entry, and the headers that say where the
	 * file's code is
	 */
	size_t n_head;
	uint64_t hash, head_hash;
	/*
	 * a part of the file couldn't be read or was beyond a limit, so another reading may find
	 * more
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
	/*
	 * function that reads many pieces in one request; NULL: pieces are read one after the other
	 */
	gdb_jit_peek_pieces *pieces;
	void *arg;
	size_t left; /* how many bytes this reading may still read */
	bool cut;    /* this reading was cut short, because the thread's slice of work is used up */
	/* how many files were read completely by this reading, and by no reading before */
	size_t fresh;
	struct gdb_jit *jit;
	struct file *file; /* the file of gdb's list that is being read */
	/* contents of the file .file, if it is small; NULL: the file is read in parts */
	uint8_t *whole;
	/*
	 * how many bytes may still be copied from .whole without charging the slice of work again
	 */
	uint64_t whole_left;
	struct map known; /* files of the earlier reading: address -> index + 1 */
	struct map seen;  /* files of this reading: address -> index + 1 */
	VEC(struct span) spans;
};

/* Drops a reference to a file (in gdb_jit_file.c); @f may be NULL. */
void jit_file_put(struct file *f);

/* Reads the entry at @at, and its file, into .file. Fails only if the entry can't be read. */
_must_use_ int jit_file_read(struct reader *rd, uint64_t at);

/*
 * Returns the hash of some bytes followed by the @n bytes @bytes. @h is the hash of the bytes
 * before them; 0 if there are none.
 */
uint64_t jit_hash(uint64_t h, const void *bytes, size_t n);

/*
 * Reads all lists (in gdb_jit_list.c). If a list changes or is broken, the other lists are read
 * nevertheless. Returns the first error.
 */
_must_use_ int jit_read_lists(struct reader *rd, const uint64_t *at, size_t n,
			      const struct gdb_jit *before);

/*
 * Did the entry at @prev lead to the entry @e at @at? If an entry was added or removed between the
 * two since they were read, the current memory decides, and *@e is read again.
 */
bool jit_is_behind(const struct reader *rd, uint64_t descriptor, uint64_t prev, uint64_t at,
		   struct entry *e);

/*
 * Finds the files of the earlier reading @before that needn't be read again (in gdb_jit_check.c).
 */
_must_use_ int jit_find_known(struct reader *rd, const struct gdb_jit *before);

/* Compares what was read with gdb's list as it is now. @r: the result of the reading. */
_must_use_ int jit_settle(struct reader *rd, int r);

#endif
