/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose code a Python file is: the one rule that the report, the page, pictures, top and diff go by. One's own is what is
 * neither the standard library's nor an installed package's.
 */
#ifndef VIEW_NAMES_ORIGIN_H
#define VIEW_NAMES_ORIGIN_H

#include "base/vec.h"
#include "profile/profile.h"
#include "view/names/names.h"

/* Where the name of a library's module begins in its path: bytes up to there, 0 = it isn't in such a folder. */
struct origin_cuts {
	size_t site;   /* behind site-packages/ or dist-packages/ */
	size_t stdlib; /* behind lib/pythonX.Y/ */
};
struct origin_cuts origin_cuts(const char *path);

/* A package of the user's though it may be installed, "shop" or "company.shop". */
struct origin_package {
	const char *name;
	size_t n;
	bool entry;    /* not of the user's word: of the standard library nothing is */
	bool together; /* it only came with another one */
};

/* What all files of a profile have in common for that. */
struct origin {
	const struct profile *p;
	bool typed;	/* <string> is what a user gave to `python -c` */
	bool *launcher; /* by a file's string: it starts a package and is nobody's code */
	VEC(struct origin_package) packages;
};

/* 0 or -ENOMEM; fini in any case. */
_must_use_ int origin_init(struct origin *o, const struct profile *p);
void origin_fini(struct origin *o);

/* @own: bytes up to the end of the project's folder, 0 = the file, a string, isn't in one. */
enum render_origin origin_of(const struct origin *o, uint32_t file, size_t own);

/* Adds one that isn't of the user's word, if it isn't known. 0 or -ENOMEM. */
_must_use_ int origin_add_package(struct origin *o, const char *name, size_t n, bool together);

/* Adds the packages that stacks show to be what was started: `python -m shop`, a console script. 0 or -ENOMEM. */
_must_use_ int origin_find_started(struct origin *o);

/* Keeps them as comments of @p, for what is left of it when frames are left out. */
void origin_note(struct profile *p);

/* Is any file of @p in the package of that name? */
bool origin_is_there(const struct profile *p, const char *package);

/* Does a package of that name run other people's programs, or is it a way to write command lines? */
bool origin_is_runner(const char *name, size_t n);
bool origin_is_wrapper(const char *name, size_t n);

/* What lies in an archive is imported from there: of app.pyz/pkg/core.py that is pkg/core.py. */
const char *origin_below_archive(const char *file);

#endif
