/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions as pictures and pages show them: which locations are one box, what it is called, whose
 * code it is and what colour it has.
 */
#ifndef VIEW_SHAPE_FUNCTIONS_H
#define VIEW_SHAPE_FUNCTIONS_H

#include "base/vec.h"
#include "view/names/names.h"
#include "view/names/rank.h"

/* Strings belong to the profile, the names, or to whoever made the function. */
struct function {
	const char *name, *file, *path, *module; /* file: shortened path; "" = none */
	const char *mapping;			 /* as .module, which is "" where the name has it */
	const char *imported; /* Python's name of the module: "json.decoder", "" = none */
	const char *language; /* of native code, "" = not known */
	enum frame_kind kind;
	enum render_origin origin;
	bool root;     /* all, a process, a label: no function at all */
	char class[3]; /* colour: family and member, as in svg.css */
	int32_t start_line;
};

/* The functions of a profile by key: rank of everything that a reader can see of one. */
struct functions {
	struct profile *p;
	struct render_names *names;
	struct rank keys; /* input 0: no frames; input id: location */
	VEC(char *) made; /* names that are in none of the above; owned */
};

/* 0 or -ENOMEM + message. @p must not be added to afterwards; fini takes what init left. */
_must_use_ int functions_init(struct functions *fs, struct profile *p);
void functions_fini(struct functions *fs);

/* The function with a key below keys.n. 0 or -ENOMEM (no message). */
_must_use_ int functions_get(struct functions *fs, uint32_t key, struct function *ret);

/* Sets .class: by kind, whose code it is, and a stable hash of its module. */
void function_colour(struct function *f);

/* What a reader calls it: "your code", "kernel", ... */
const char *function_kind_name(const struct function *f);

#endif
