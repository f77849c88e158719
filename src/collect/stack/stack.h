/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks: krait takes them from records, names them, and finds them by their ids in records (wire
 * ids).
 */
#ifndef COLLECT_STACK_STACK_H
#define COLLECT_STACK_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "collect/code/codes.h"
#include "collect/common/raw.h"
#include "collect/madecode/made.h"
#include "collect/native/native.h"
#include "collect/process/process.h"
#include "profile/mark.h"
#include "profile/remake/rebase.h"
#include "records.h"

struct stacks {
	/*
	 * wire id of a stack (its id in records) -> its id in the profile and how its unwinding
	 * ended, in the form that stacks.c defines
	 */
	struct map named;
	VEC(struct raw_stack) raw;
	/*
	 * wire id (id in records) of a stack that broke off in a file without unwind rows ->
	 * native_file.index
	 */
	struct map rowless;
	/* the keys of .named that came or were used latest; NULL: no stack has come yet */
	struct recent *recent;
	uint64_t kept_at; /* value of collect.stats.stacks when collect_keeps_due() was last true */
	struct known_frames *known; /* state of known.c */
	struct bodies *bodies;	    /* state of bodies.c */
};

/* stacks.c: makes the state of this folder. False: out of memory. */
_must_use_ bool stacks_init(struct collect *c);
void stacks_fini(struct collect *c);
void raw_stack_fini(struct raw_stack *raw);

/* Tells whether stack @id has come before and hasn't been forgotten since. */
bool stack_is_there(struct collect *c, uint64_t id);
/*
 * Adds @raw, a stack with a new id, and takes ownership of its memory. 0, or -ENOMEM; after an
 * error the caller still owns the memory.
 */
_must_use_ int stack_add(struct collect *c, const struct raw_stack *raw);
/*
 * Names the stacks for which all that their names need has been read; @last: names all stacks.
 * Returns 0 or -errno + message. After an error, the stacks that have no name yet are kept.
 */
_must_use_ int stacks_name(struct collect *c, bool last);
/* Makes workers read the names for which stacks wait. */
void stacks_ask_for_names(struct collect *c);
/*
 * Returns the profile's id of the stack of sample @w; 0: the stack has no name yet. *native: how
 * the unwinding of the native part ended. On entry *native has the kernel program's outcome; if the
 * stack has a name, *native is set to the outcome that is shown.
 */
uint32_t stack_of_sample(struct collect *c, const struct waiting *w, uint8_t *native);
/*
 * Replaces the profile ids that this folder keeps of stacks by the profile's new ids
 * (collect_rebase()). False: out of memory.
 */
_must_use_ bool stacks_rebase(struct collect *c, struct rebase *r);

/*
 * Asks for unwind rows of the code at which the unwinding of @native stopped, because the kernel
 * program has no rows for this code.
 */
void stack_wants_rows(struct collect *c, const struct raw_native *native);
/*
 * Does what stack_wants_rows() does for stack @id, which the kernel program has sent again. The
 * unwind rows that it needs may have been freed since the stack first came.
 */
void stack_wants_rows_again(struct collect *c, uint64_t id);

/*
 * locations.c: these functions return profile ids of locations. native_file_location(): for the
 * code at @vaddr of a file. If functions were inlined there, the id is that of the innermost
 * function, and .outer leads to the outer functions, which follow it in a stack. kernel_location():
 * for the kernel's code at @pc.
 */
uint32_t native_file_location(struct collect *c, struct native_file *f, uint64_t vaddr);
uint32_t kernel_location(struct collect *c, uint64_t pc);
/*
 * made_location(): for named code that lies in no file; the function begins @offset bytes into its
 * mapping. unknown_code_location(): for code without file and name, @offset bytes into its mapping.
 */
uint32_t made_location(struct collect *c, const struct made_name *name, uint64_t offset);
uint32_t unknown_code_location(struct collect *c, uint64_t offset);

/*
 * stack.c: returns the profile id of the location of a mark (a frame like `[incomplete: ...]`); 0:
 * out of memory.
 */
uint32_t stack_mark(struct collect *c, enum mark mark, const char *what);

/*
 * stack.c: makes the profile's stack of @raw, with marks (frames like `[incomplete: ...]`) where it
 * isn't complete. *native: how the unwinding of its native part ended, as the user is told. 0: out
 * of memory.
 */
uint32_t stack_name(struct collect *c, const struct raw_stack *raw, enum native_outcome *native);
/* Tells whether all code objects of @raw have come. */
bool stack_has_code(const struct process *p, const struct raw_stack *raw);
uint32_t stack_mark_only(struct collect *c, uint8_t outcome, const struct process *p);

/*
 * merge.c: have all names and unwind rows come that the native frames of @raw need? If not, this
 * function asks for them.
 */
bool merge_ready(struct collect *c, const struct raw_stack *raw);
/*
 * merge_stack() merges the kernel, native and Python frames of @raw into a struct merged. @version:
 * the Python version of these frames; 0: not known. To add Python frames, it calls @fn with @arg.
 */
struct merged {
	VEC(uint32_t) loc; /* locations of the profile, innermost frame first */
	bool failed;
	/*
	 * set by the caller: names of code made at run time aren't used if they may hold for only
	 * some samples of the stack (.dated in made.h)
	 */
	bool plain;
	/* a frame got a name that may hold for only some samples of the stack (.dated in made.h) */
	bool dated;
	/* how the unwinding of the stack's native part ended, as the user is told */
	enum native_outcome native;
};
/* A function that adds the Python frames [from, to) of the stack to merged.loc. */
typedef void merge_python_fn(void *arg, size_t from, size_t to);
void merge_stack(struct collect *c, const struct raw_stack *raw, uint16_t version,
		 merge_python_fn *fn, void *arg, struct merged *ret);

/* Tells import.c that merged.loc[at] is a frame that runs the top-level code of module @module. */
struct import_body {
	size_t at;
	const char *module;
};
typedef VEC(struct import_body) import_bodies;
/*
 * Replaces the frames that imported each of @bodies (ascending) by one frame, `import NAME`.
 * @python: profile id of the mapping that the Python frames have. 0 or -ENOMEM.
 */
_must_use_ int import_fold(struct collect *c, uint32_t python, const import_bodies *bodies,
			   struct merged *loc);
/*
 * Names the frames of _call_with_frames_removed() after the builtins that they run, if these are
 * known. To be called after import_fold(). 0 or -ENOMEM.
 */
_must_use_ int import_name_builtins(struct collect *c, uint32_t python, struct merged *loc);

/*
 * known.c: the profile's location of a Python frame. In a new entry all members are 0, except the
 * key (.code, .lasti).
 */
struct known_python {
	uint64_t code; /* py_code.serial of the frame's code object */
	int32_t lasti;
	uint32_t location;
};
_must_use_ bool known_init(struct collect *c);
struct known_python *known_python(struct collect *c, const struct py_code *code, int lasti);
/* Forgets what is known of frames, because profile ids have changed. */
void known_forget(struct collect *c);

#endif
