/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and unwind rows of code that a process made at run time and registered for gdb, as LLVM does: a list of
 * ELF files in its memory behind the symbol __jit_debug_descriptor (gdb's manual, "JIT Interface"). The process
 * runs on while the list is read, and may be hostile: everything is bounded, and read twice where it says
 * what is where.
 */
#ifndef SYMBOL_GDB_JIT_H
#define SYMBOL_GDB_JIT_H

#include "base/util.h"
#include "unwind/rows/rows.h"

#define GDB_JIT_SYMBOL "__jit_debug_descriptor"

/*
 * Limits of one reading, besides the thread's slice (base/slice.h). Files beyond them are counted, and left out: a list
 * begins with the latest ones.
 */
#define GDB_JIT_FILES_MAX    16384
#define GDB_JIT_BYTES_MAX    (32u << 20) /* of tables and names */
#define GDB_JIT_SECTIONS_MAX 4096	 /* of one file */

struct gdb_jit;

struct gdb_jit_stats {
	size_t files, symbols; /* that are used */
	size_t malformed;      /* files that weren't understood */
	size_t dropped;	       /* files beyond a limit */
	size_t doubtful;       /* sections at addresses that another one has too: left out */
};

/* Copies @n bytes at @addr of the process. 0 or -errno. */
typedef int gdb_jit_peek(void *arg, uint64_t addr, void *buf, size_t n);

/* The same of @n pieces, @bytes in all, one behind the other. */
struct iovec;
typedef int gdb_jit_peek_pieces(void *arg, const struct iovec *pieces, size_t n, void *buf,
				size_t bytes);

/*
 * Reads the lists of the @n descriptors at these addresses. Where one changes meanwhile what stays in it is read. 0; -EAGAIN: that
 * was nothing; -EPROTO: it is none, or it goes in a circle; -EFAULT ..., -ENOMEM. With a message.
 */
_must_use_ int gdb_jit_read(gdb_jit_peek *peek, void *arg, const uint64_t *descriptors, size_t n,
			    struct gdb_jit **ret);

/*
 * The same after the reading @before (NULL: none). Of what is in the list still, and all of whose memory is what it was,
 * that memory is read alone, many files at a time (@pieces; NULL: one by one), and nothing is looked for in it again.
 */
_must_use_ int gdb_jit_read_on(const struct gdb_jit *before, gdb_jit_peek *peek,
			       gdb_jit_peek_pieces *pieces, void *arg, const uint64_t *descriptors,
			       size_t n, struct gdb_jit **ret);
void gdb_jit_free(struct gdb_jit *j); /* NULL is fine */

/*
 * Nothing was registered since, as far as the descriptors show it: what isn't named won't be by another
 * reading. (What is named may be wrong all the same.)
 */
bool gdb_jit_looks_same(const struct gdb_jit *j, gdb_jit_peek *peek, void *arg);

/* Was it cut by the thread's slice, but learnt something? Then the next one knows more. */
bool gdb_jit_goes_on(const struct gdb_jit *j);

/* The symbol of the function at @addr as it is in its file, or NULL; valid as long as @j. */
const char *gdb_jit_find(const struct gdb_jit *j, uint64_t addr, uint64_t *start);

/* What each file says of how its code is unwound; valid as long as @j. */
const unwind_rows_vec *gdb_jit_rows(const struct gdb_jit *j);

struct gdb_jit_stats gdb_jit_stats(const struct gdb_jit *j);

/* Memory held; of what several readings share its part. */
size_t gdb_jit_bytes(const struct gdb_jit *j);

#endif
