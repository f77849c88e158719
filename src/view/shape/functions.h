/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions as pictures and pages show them: which locations are one box, the box's name, whose
 * code it is, and its colour.
 */
#ifndef VIEW_SHAPE_FUNCTIONS_H
#define VIEW_SHAPE_FUNCTIONS_H

#include "base/vec.h"
#include "view/names/names.h"
#include "view/names/rank.h"

/*
 * A function as it is shown. Its strings belong to the profile, to its struct render_names, or to
 * the code that made this struct.
 */
struct function {
	/* texts about the function; .file: the shortened path; "": there is no such text */
	const char *name, *file, *path, *module;
	/* the mapping or module, even if .module is "" because .name contains it already */
	const char *mapping;
	const char *imported; /* name that Python has for the module: "json.decoder"; "": none */
	const char *language; /* language of native code; "": not known */
	enum frame_kind kind;
	enum render_origin origin;
	bool root;     /* the frame is a root (all, a process, a label), not a function */
	char class[3]; /* colour of the function: family and member, as in svg.css */
	int32_t start_line;
};

/*
 * The functions of a profile, found by key. If readers see the same of two functions, these have
 * the same key: the rank of a text of all that readers see.
 */
struct functions {
	struct profile *p;
	struct render_names *names;
	/*
	 * ranks of the texts of functions: text 0 is for stacks without frames, text i for location
	 * i
	 */
	struct rank keys;
	VEC(char *) made; /* names that were made for functions; owned */
};

/*
 * Finds the functions of @p. 0 or -ENOMEM + message. Nothing may be added to @p afterwards. Call
 * functions_fini() in any case, also after an error.
 */
_must_use_ int functions_init(struct functions *fs, struct profile *p);
void functions_fini(struct functions *fs);

/* Gets the function of a key below keys.n. 0 or -ENOMEM (no message). */
_must_use_ int functions_get(struct functions *fs, uint32_t key, struct function *ret);

/* Sets .class, by the kind of code, its owner, and a stable hash of its module. */
void function_colour(struct function *f);

/* Returns the kind of a function as readers call it: "your code", "kernel", ... */
const char *function_kind_name(const struct function *f);

#endif
