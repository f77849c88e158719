/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds names and unwind rows of code that a process made at run time and registered for gdb, as
 * LLVM does. The symbol __jit_debug_descriptor leads to a list of ELF files in the process's memory
 * (gdb's manual, "JIT Interface"). The process keeps running while the list is read, and may be
 * hostile. So everything is bounded, and krait reads a second time the memory that says where the
 * code is.
 */
#ifndef SYMBOL_MADECODE_GDB_JIT_H
#define SYMBOL_MADECODE_GDB_JIT_H

#include "base/util.h"
#include "unwind/rows/rows.h"

#define GDB_JIT_SYMBOL "__jit_debug_descriptor"

/*
 * Limits of one reading, besides the thread's slice (base/work/slice.h). Files beyond a limit are
 * counted and left out. These are the oldest files, because a list begins with the latest file.
 */
#define GDB_JIT_FILES_MAX 16384
/* the most bytes of symbol tables and names that one reading reads */
#define GDB_JIT_BYTES_MAX    (32u << 20)
#define GDB_JIT_SECTIONS_MAX 4096 /* the most sections of one file */

struct gdb_jit;

struct gdb_jit_stats {
	size_t files, symbols; /* how many files, and how many symbols, are in use */
	size_t malformed;      /* how many files krait didn't understand */
	size_t dropped;	       /* how many files were left out because of a limit */
	/* how many sections were left out because they share addresses with another section */
	size_t doubtful;
};

/* Copies @n bytes at @addr of the process into @buf. 0 or -errno. */
typedef int gdb_jit_peek(void *arg, uint64_t addr, void *buf, size_t n);

/* Copies @n pieces of the process's memory into @buf, one after the other, @bytes in all. */
struct iovec;
typedef int gdb_jit_peek_pieces(void *arg, const struct iovec *pieces, size_t n, void *buf,
				size_t bytes);

/*
 * Reads the lists of gdb's @n descriptors at the addresses @descriptors. If a list changes while it
 * is read, only the files that stay in the list are kept. 0; -EAGAIN: no file stayed; -EPROTO:
 * there is no list at an address, or the list is circular; -EFAULT and others, -ENOMEM. Failures
 * leave a message.
 */
_must_use_ int gdb_jit_read(gdb_jit_peek *peek, void *arg, const uint64_t *descriptors, size_t n,
			    struct gdb_jit **ret);

/*
 * Reads the lists as gdb_jit_read() does, when there was an earlier reading @before (NULL: there
 * was none). A file that is still listed and whose memory hasn't changed is taken over from
 * @before. The memory of such files is only compared. With @pieces, one request reads the memory of
 * many files; if @pieces is NULL, the files are read one after the other.
 */
_must_use_ int gdb_jit_read_on(const struct gdb_jit *before, gdb_jit_peek *peek,
			       gdb_jit_peek_pieces *pieces, void *arg, const uint64_t *descriptors,
			       size_t n, struct gdb_jit **ret);
void gdb_jit_free(struct gdb_jit *j); /* @j may be NULL */

/*
 * Do the descriptors show that nothing was registered since the reading? If so, a new reading would
 * find no more names. But some names may be wrong, because their code may have been unregistered.
 */
bool gdb_jit_looks_same(const struct gdb_jit *j, gdb_jit_peek *peek, void *arg);

/*
 * Did the reading end early, because the thread's slice of work was used up (base/work/slice.h),
 * but find something new? If so, another reading will find more.
 */
bool gdb_jit_goes_on(const struct gdb_jit *j);

/*
 * Returns the symbol of the function that covers @addr, as the function's file has it, or NULL. The
 * symbol is valid as long as @j. Sets *@start to the function's address, unless @start is NULL.
 */
const char *gdb_jit_find(const struct gdb_jit *j, uint64_t addr, uint64_t *start);

/* Returns the unwind rows of each file, which are valid as long as @j. */
const unwind_rows_vec *gdb_jit_rows(const struct gdb_jit *j);

struct gdb_jit_stats gdb_jit_stats(const struct gdb_jit *j);

/*
 * Returns the memory that @j holds, in bytes. Memory that several readings share is divided among
 * them.
 */
size_t gdb_jit_bytes(const struct gdb_jit *j);

#endif
