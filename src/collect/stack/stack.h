/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks, from how they came to how the profile has them: naming, merging, and what is remembered of it. */
#ifndef COLLECT_STACK_H
#define COLLECT_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "collect/native/native.h"
#include "collect/process/process.h"
#include "records.h"

struct collect;

/* Values of collect.stacks. */
#define STACK_UNNAMED	   0 /* no profile stack has this id */
#define STACK_NATIVE_SHIFT 32

/* A stack whose code objects haven't all arrived. */
struct raw_stack {
	uint64_t id;
	uint32_t process; /* index */
	uint16_t n;
	uint8_t outcome;
	uint32_t flush; /* in which it came */
	struct wire_frame *frames;
	struct raw_native *native; /* NULL: none */
};

/* Native and kernel frames of a stack, as they came. */
struct raw_native {
	uint64_t id;
	uint32_t version; /* of the space that the addresses belong to */
	uint16_t n, n_kernel;
	uint8_t outcome;
	uint64_t pc[]; /* kernel frames, then native ones */
};

/* stack.c: a location that is a mark. */
uint32_t stack_mark(struct collect *c, const char *text);

/* stack.c: profile stack of frames with marks; 0 while a code object is missing and not @last. */
uint32_t stack_name(struct collect *c, const struct raw_stack *raw, bool last,
		    enum native_outcome *native);
uint32_t stack_mark_only(struct collect *c, uint8_t outcome, const struct process *p);

/* merge.c: is what names the native frames of @raw there? It is asked for if not. */
bool merge_ready(struct collect *c, const struct raw_stack *raw);
/* Puts the native and kernel frames of @raw into the list of its Python frames, which are of that @version; 0: unknown. */
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
/* Of the list @loc: what imported each of @bodies (ascending) becomes one frame, `import NAME`. 0 or -ENOMEM. */
_must_use_ int import_fold(struct collect *c, uint32_t python, const import_bodies *bodies,
			   struct merged *loc);
/* Then: _call_with_frames_removed() has the name of the builtin that it runs, where that is known. 0 or -ENOMEM. */
_must_use_ int import_name_builtins(struct collect *c, uint32_t python, struct merged *loc);

/*
 * kernel.c: are the names of the kernel's code at @pc[@n] there, as far as they may come? Else they are being read.
 * kernel_take(): they have been; NULL: not, @why says why ("": nothing to say).
 */
struct kernel_names;
bool kernel_ready(struct collect *c, const uint64_t *pc, size_t n);
void kernel_take(struct collect *c, struct kernel_names *names, const char *why);
/* Profile location of the kernel's code at @pc. */
uint32_t kernel_location(struct collect *c, uint64_t pc);

/* known.c: what was found of a place; an entry is zero but for its key where nothing is known. */
struct known_native {
	uint64_t vaddr;
	uint32_t file;	   /* its .index */
	uint32_t location; /* profile id */
	uint8_t is;	   /* set of enum native_is */
};
struct known_python {
	uint64_t code; /* its .serial */
	int32_t lasti;
	uint32_t location;
};
struct known *known_new(void);
struct known_native *known_native(struct collect *c, const struct native_file *f, uint64_t vaddr);
struct known_python *known_python(struct collect *c, const struct py_code *code, int lasti);
/* Profile ids have changed, or what names come from. */
void known_forget(struct collect *c);

/* sent.c: a named stack, a code object came or is used: what hasn't been for long is given up. */
void sent_stack(struct collect *c, uint64_t id);
void sent_code(struct collect *c, uint32_t process, uint64_t code, uint64_t check);
/* A code object isn't needed any more: that of @p at @i; its memory alone. */
void sent_drop_code(struct collect *c, struct process *p, size_t i);
void sent_free_code(struct collect *c, struct py_code *code);
void sent_fini(struct collect *c);

#endif
