/* SPDX-License-Identifier: BSD-2-Clause */
/* What frames are called where they are shown: function, file, module, and whose code it is. */
#ifndef VIEW_NAMES_NAMES_H
#define VIEW_NAMES_NAMES_H

#include "base/str.h"
#include "profile/profile.h"

/*
 * How a frame is written in text: "qualname (file:line)". Files are cut after the longest of
 * site-packages/, lib/pythonX.Y/, the process's directory, never so that two files coincide.
 * A names object holds that decision for one profile.
 */
struct render_names;
/* NULL + message on out of memory. Interning into @p afterwards makes the object stale. */
struct render_names *render_names_new(struct profile *p);
void render_names_free(struct render_names *n);

/* Shortened file of a function, "" if it has none; valid as long as @n. */
const char *render_names_file(const struct render_names *n, uint32_t function);

/*
 * The module that a function's file is, as Python imports it: "json.decoder"; of the project's files, behind the script's
 * directory. Two files of the project have two names; a library that is installed twice has one. "": it has no file.
 */
const char *render_names_module(const struct render_names *n, uint32_t function);

/* Whose code a Python function is: the project's, an installed package's, the standard library's.
 */
enum render_origin { ORIGIN_OWN, ORIGIN_PACKAGE, ORIGIN_STDLIB };
enum render_origin render_names_origin(const struct render_names *n, uint32_t function);

/* "/tmp/ipykernel_7/In [3]" is what a notebook shows as In [3]: bytes before that, 0: @path is another file. */
size_t render_after_kernel(const char *path);

/* Name of a mapping, a file without its directory: "libz.so.1", "[kernel]"; or "". */
const char *render_names_mapping(const struct render_names *n, uint32_t mapping);

/*
 * Appends the name alone: "qualname", "symbol"; "[libz.so.1+0x1234]" where there is no symbol. The
 * number is what addr2line and objdump take, as far as the recording tells.
 */
void render_names_function(const struct render_names *n, uint32_t location, struct str *b);

/*
 * "C", "C++", "Rust", "Go" for the symbol of a native function, as in its file and as it is shown;
 * "" where @symbol is.
 */
const char *render_language(const char *name, const char *symbol);

/* Appends the frame: "qualname (file:line)", "symbol (libz.so.1)"; marks as they are. */
void render_names_frame(const struct render_names *n, uint32_t location, struct str *b);

#endif
