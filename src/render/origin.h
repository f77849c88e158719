/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose code a Python file is: the one rule that the report, the page, pictures, top and diff go by. One's own is what is
 * neither the standard library's nor an installed package's.
 */
#ifndef RENDER_ORIGIN_H
#define RENDER_ORIGIN_H

#include "profile/profile.h"
#include "render/render.h"

/* Where the name of a library's module begins in its path: bytes up to there, 0 = it isn't in such a folder. */
struct origin_cuts {
	size_t site;   /* behind site-packages/ or dist-packages/ */
	size_t stdlib; /* behind lib/pythonX.Y/ */
};
struct origin_cuts origin_cuts(const char *path);

/* What all files of a profile have in common for that. */
struct origin {
	bool typed; /* <string> is what a user gave to `python -c` */
};
void origin_init(struct origin *o, const struct profile *p);

/* @own: bytes up to the end of the project's folder, 0 = the file isn't in one. */
enum render_origin origin_of(const struct origin *o, const char *path, size_t own);

/*
 * Could it be the file of a console script, as pip makes it: bin/NAME? It is if nothing but origin_is_start() ran
 * in it. It starts a package and is nobody's code.
 */
bool origin_may_be_launcher(const char *path);
bool origin_is_start(const char *function);

#endif
