/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks: how they come, how they are named, and what is remembered of them. */
#ifndef COLLECT_STACK_H
#define COLLECT_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/common/raw.h"
#include "collect/madecode/made.h"
#include "collect/native/native.h"
#include "collect/process/codes.h"
#include "collect/process/process.h"
#include "profile/condense.h"
#include "profile/mark.h"
#include "records.h"

struct stacks {
	struct map named; /* wire id -> the profile's stack; see stacks.c */
	VEC(struct raw_stack) raw;
	struct map rowless;	    /* wire id of a stack that broke off for want of rows -> file */
	struct recent *recent;	    /* NULL: none yet */
	struct known_frames *known; /* known.c */
	struct bodies *bodies;	    /* bodies.c */
};

/* stacks.c. False: out of memory. */
_must_use_ bool stacks_init(struct collect *c);
void stacks_fini(struct collect *c);
void raw_stack_fini(struct raw_stack *raw);

/* Did stack @id come before, and isn't given up? */
bool stack_is_there(struct collect *c, uint64_t id);
/* Takes @raw over, which isn't there. 0 or -ENOMEM. */
_must_use_ int stack_add(struct collect *c, const struct raw_stack *raw);
/*
 * Names the stacks that can be named; @last: all. 0 or -errno + message: then the others are
 * kept.
 */
_must_use_ int stacks_name(struct collect *c, bool last);
/* The names that stacks wait for are read. */
void stacks_ask_for_names(struct collect *c);
/*
 * The profile's stack of a sample; 0: it has no name yet. *native is how the kernel program says
 * that its native part ended, and becomes how it is shown.
 */
uint32_t stack_of_sample(struct collect *c, const struct waiting *w, uint8_t *native);
/* Takes the ids that a condensed profile has. False: out of memory. */
_must_use_ bool stacks_condense(struct collect *c, struct condense *k);

/* Unwinding of @native stopped where the kernel program has no rows. */
void stack_wants_rows(struct collect *c, const struct raw_native *native);
/* The same of a stack that was sent before: the rows may have been given up since. */
void stack_wants_rows_again(struct collect *c, uint64_t id);

/* stack.c: a location that is a mark. */
uint32_t stack_mark(struct collect *c, enum mark mark, const char *what);

/* stack.c: profile stack of frames with marks; 0: out of memory. */
uint32_t stack_name(struct collect *c, const struct raw_stack *raw, enum native_outcome *native);
/* Have all its code objects come? */
bool stack_has_code(const struct process *p, const struct raw_stack *raw);
uint32_t stack_mark_only(struct collect *c, uint8_t outcome, const struct process *p);

/* merge.c: is what names the native frames of @raw there? It is asked for if not. */
bool merge_ready(struct collect *c, const struct raw_stack *raw);
/*
 * Adds the native and kernel frames of @raw to the list of its Python frames. @version: of their
 * Python; 0: unknown.
 */
struct merged {
	VEC(uint32_t) loc; /* profile locations, innermost first */
	bool failed;
	bool plain;		    /* set by the caller: without names by registered.c */
	bool registered;	    /* there is one of these */
	enum native_outcome native; /* how the native part ended, as it is shown */
};
/* Adds Python frames [from, to) of the stack. */
typedef void merge_python_fn(void *arg, size_t from, size_t to);
void merge_stack(struct collect *c, const struct raw_stack *raw, uint16_t version,
		 merge_python_fn *fn, void *arg, struct merged *ret);

/* import.c: a module's body in a list of locations, and what the module is called. */
struct import_body {
	size_t at;
	const char *module;
};
typedef VEC(struct import_body) import_bodies;
/*
 * In the list @loc, the frames that imported each of @bodies (ascending) become one frame,
 * `import NAME`. 0 or -ENOMEM.
 */
_must_use_ int import_fold(struct collect *c, uint32_t python, const import_bodies *bodies,
			   struct merged *loc);
/*
 * After that: names _call_with_frames_removed() after the builtin that it runs, where that is
 * known. 0 or -ENOMEM.
 */
_must_use_ int import_name_builtins(struct collect *c, uint32_t python, struct merged *loc);

/* known.c: where a frame was found to be; zero but for its key where nothing is known. */
struct known_python {
	uint64_t code; /* its .serial */
	int32_t lasti;
	uint32_t location;
};
_must_use_ bool known_init(struct collect *c);
struct known_python *known_python(struct collect *c, const struct py_code *code, int lasti);
/* Profile ids have changed. */
void known_forget(struct collect *c);

#endif
