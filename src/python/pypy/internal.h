/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this folder share: PyPy's structures. */
#ifndef PYTHON_PYPY_INTERNAL_H
#define PYTHON_PYPY_INTERNAL_H

#include "python/pypy/pypy.h"

/* An entry of vmprof's list of a thread's functions, struct vmprof_stack_s (vmprof_stack.h). */
struct pypy_entry {
	uint64_t next;	/* address of the entry of the caller; 0: there is none */
	uint64_t value; /* of VMPROF_CODE: the number of the code object */
	uint64_t kind;
};

/* VMPROF_*_TAG in PyPy: a function of the interpreter; the JIT's and others' kinds lie above. */
enum { VMPROF_FIRST = 1, VMPROF_CODE = 1, VMPROF_LAST = 7 };

/*
 * A thread's block, struct pypy_threadlocal_s. Further fields follow, whose offsets differ between
 * builds.
 */
struct pypy_block {
	int32_t ready; /* PYPY_READY in a block that is in use, -1 in the list's head */
	int32_t reserved;
	uint64_t stack_end;
	uint64_t prev, next; /* addresses of blocks; the list is a ring with the head in it */
};

#define PYPY_READY 42

/* the fields of a block that are needed lie in these bytes */
#define PYPY_BLOCK_BYTES 128

/* how many words of a PyFrame are read; all fields that are needed lie in these */
#define PYPY_FRAME_WORDS 16
/* the same of a PyCode */
#define PYPY_CODE_WORDS 40

/* The head of an RPython string. Its bytes follow. */
struct pypy_string {
	uint64_t header; /* the low 32 bits are the number of the type */
	uint64_t hash, len;
};

typedef VEC(uint64_t) pypy_ids;

/* Returns the field at @offset bytes of a structure that was read into @words. */
static inline uint64_t pypy_field(const uint64_t *words, uint16_t offset)
{
	return words[offset / sizeof(*words)];
}

/* Like peek(), but -ETIMEDOUT after p->until_ns. All reading goes through this function. */
_must_use_ int pypy_peek(const struct pypy *p, uint64_t addr, void *buf, size_t n);

/* Reads the word at @addr. 0 or -errno. */
_must_use_ int pypy_word(const struct pypy *p, uint64_t addr, uint64_t *ret);

/*
 * Reads vmprof's list, whose innermost entry is at @head, up to one entry more than PYPY_FRAMES:
 * the numbers of the code objects. The caller frees *ret with vec_fini() in any case. 0;
 * -EOPNOTSUPP: the thread is in code of the JIT, or another entry isn't one of the interpreter;
 * -EAGAIN: this is no such list; -errno.
 */
_must_use_ int pypy_list_read(const struct pypy *p, uint64_t head, pypy_ids *ret);

/*
 * Reads the first @most bytes of the string at @addr. 0: *ret->v is to be freed; -EAGAIN: there is
 * no string.
 */
_must_use_ int pypy_string_read(const struct pypy *p, uint64_t addr, size_t most,
				struct pypy_text *ret);

/* threads.c: finds the head of the list of threads' blocks. 0 or -ENOENT. */
_must_use_ int pypy_head_find(struct pypy *p, const struct maps *maps);
/* Finds the offset of pthread_self() in the blocks. 0 or -ENOENT. */
_must_use_ int pypy_ident_find(struct pypy *p, const struct py_tids *tids);

#endif
