/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Modules' bodies: what their modules are called, and the source text of code without a file.
 */
#ifndef COLLECT_STACK_BODIES_H
#define COLLECT_STACK_BODIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/process/codes.h"

/* A code object that is a module's body, the name of which isn't known yet. */
struct body {
	uint32_t process;
	uint16_t layout;
	uint64_t code; /* code_key() */
	uint64_t globals;
};

/* Source text that process .tgid, .start_boot_ns may have under .name. */
struct wanted_text {
	uint32_t process, tgid;
	uint64_t start_boot_ns;
	uint16_t layout;
	char *name, *path;
};

struct bodies {
	VEC(struct body) list;
	VEC(struct wanted_text) texts; /* for which there was no time yet */
};

/* False: out of memory. */
_must_use_ bool bodies_init(struct collect *c);
void bodies_fini(struct collect *c);

/* @code is a module's body. */
void bodies_met(struct collect *c, uint32_t process, const struct py_code *code,
		const struct rec_code *rec);
/* @code isn't looked for: it has no text, whoever else has one of that name. */
void bodies_left_out(struct collect *c, const struct process *p, const struct py_code *code);
/* Once a flush, before stacks are named. */
void bodies_find(struct collect *c);

/* frozen.c: takes those out of the list that need no look at their process. */
void bodies_name_frozen(struct collect *c);

#endif
