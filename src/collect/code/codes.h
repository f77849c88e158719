/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the code objects of processes. Those of which no record has come for long are freed. */
#ifndef COLLECT_CODE_CODES_H
#define COLLECT_CODE_CODES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/process/process.h"
#include "python/code/code.h"

/* Returns a code object's key in the index of its process's code objects. */
static inline uint64_t code_key(uint64_t code, uint64_t check)
{
	return code ^ check * 0x9e3779b97f4a7c15ull;
}

/*
 * Returns the code object whose code_key() is @key. NULL: no record of it has come, or it was
 * freed.
 */
static inline struct py_code *code_of(const struct process *p, uint64_t key)
{
	const uint64_t *i = map_get(&p->code_index, key);

	return i ? p->codes.v[*i - 1] : NULL;
}

/* Makes the state of codes.c. False: out of memory. */
_must_use_ bool codes_init(struct collect *c);
void codes_fini(struct collect *c);

/* Notes that a record of a code object came. Returns the code object; NULL: it isn't known yet. */
struct py_code *code_met(struct collect *c, uint32_t process, uint64_t code, uint64_t check);
/*
 * Adds @code, which is new, to the process and takes ownership. False: out of memory, and @code was
 * freed.
 */
_must_use_ bool code_keep(struct collect *c, struct process *p, struct py_code *code);

/* Returns a number for py_code.serial that no other code object has or will ever have. */
uint64_t codes_next_serial(struct collect *c);

/* Frees the code objects of which no record has come since the last call. */
void codes_next_round(struct collect *c);
/* Frees the code objects of a process that is forgotten. */
void codes_forget(struct collect *c, struct process *p);

#endif
