/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides whose code a Python file is. The report, the page, pictures, top and diff all use this
 * rule. The user's own code is what belongs neither to the standard library nor to an installed
 * package.
 */
#ifndef VIEW_NAMES_ORIGIN_H
#define VIEW_NAMES_ORIGIN_H

#include "base/vec.h"
#include "profile/profile.h"
#include "view/names/names.h"

/*
 * The offsets, in bytes, in the path of a file at which the name of a library's module begins. 0:
 * the path has no such directory.
 */
struct origin_cuts {
	size_t site;   /* offset in the path after site-packages/ or dist-packages/ */
	size_t stdlib; /* offset in the path after lib/pythonX.Y/ */
};
struct origin_cuts origin_cuts(const char *path);

/* A package that counts as the user's code even if it is installed: "shop" or "company.shop". */
struct origin_package {
	const char *name;
	size_t n;
	/*
	 * true: krait found the package, the user didn't name it; files of the standard library
	 * never count as files of such a package
	 */
	bool entry;
	/*
	 * true: the package is here only because it was installed together with another package of
	 * the user's
	 */
	bool together;
};

/* What is known of all files of a profile, by which origin_of() decides whose code each file is. */
struct origin {
	const struct profile *p;
	bool typed; /* the file <string> is a text that a user gave to `python -c` */
	/*
	 * by string id of a file: true if the file only starts a package, so that it isn't own code
	 */
	bool *launcher;
	VEC(struct origin_package) packages;
};

/* Collects what origin_of() needs to know of @p. 0 or -ENOMEM. Call origin_fini() in any case. */
_must_use_ int origin_init(struct origin *o, const struct profile *p);
void origin_fini(struct origin *o);

/*
 * Returns whose code a file has. @file: its name, a string of the profile. @own: length of the path
 * up to the end of the project's directory; 0: the file isn't in it.
 */
enum render_origin origin_of(const struct origin *o, uint32_t file, size_t own);

/* Adds a package that krait found itself, unless @o has the package already. 0 or -ENOMEM. */
_must_use_ int origin_add_package(struct origin *o, const char *name, size_t n, bool together);

/*
 * Adds the packages whose programs were started (`python -m shop`, a console script), as the stacks
 * show. 0 or -ENOMEM.
 */
_must_use_ int origin_find_started(struct origin *o);

/*
 * Stores the packages that were started (origin_find_started()) as comments of @p, because the
 * stacks don't show them any more once frames are left out.
 */
void origin_note(struct profile *p);

/* Tells whether any file of @p is in the package called @package. */
bool origin_is_there(const struct profile *p, const char *package);

/*
 * origin_is_runner() tells whether a package of that name runs other people's programs.
 * origin_is_wrapper() tells whether it only helps to write command lines.
 */
bool origin_is_runner(const char *name, size_t n);
bool origin_is_wrapper(const char *name, size_t n);

/* Returns the part of a path that is inside an archive: pkg/core.py for app.pyz/pkg/core.py. */
const char *origin_below_archive(const char *file);

#endif
