/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bodies (top-level code) of modules: finds the name of each body's module, and source text of code
 * without a file.
 */
#ifndef COLLECT_STACK_BODIES_H
#define COLLECT_STACK_BODIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/code/codes.h"

/* A code object that is the body (top-level code) of a module whose name isn't known yet. */
struct body {
	uint32_t process;
	uint16_t layout;
	uint64_t code; /* code_key() of the code object */
	uint64_t globals;
};

/*
 * Source text that the process of .tgid and .start_boot_ns may have under .name. .path: what the
 * profile calls the text's file.
 */
struct wanted_text {
	uint32_t process, tgid;
	uint64_t start_boot_ns;
	uint16_t layout;
	char *name, *path;
};

struct bodies {
	VEC(struct body) list;
	VEC(struct wanted_text) texts; /* source texts for which processes weren't asked yet */
};

/* Makes the state of bodies.c. False: out of memory. */
_must_use_ bool bodies_init(struct collect *c);
void bodies_fini(struct collect *c);

/*
 * Adds @code, the body (top-level code) of a module, to the list of bodies. @rec, of @n bytes, is
 * the record in which the code object came.
 */
void bodies_met(struct collect *c, uint32_t process, struct py_code *code,
		const struct rec_code *rec, size_t n);
/*
 * Notes that krait has no source text for @code, because it doesn't ask this process. Another
 * process may have text under the same name.
 */
void bodies_left_out(struct collect *c, const struct process *p, const struct py_code *code);
/*
 * Finds the names of modules whose bodies (top-level code) were sampled, and source texts; called
 * in each collect_flush(), before stacks are named.
 */
void bodies_find(struct collect *c);

/*
 * frozen.c: names the bodies (modules' top-level code) that can be named without asking their
 * process, and removes them from the list.
 */
void bodies_name_frozen(struct collect *c);

#endif
