/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of frames as they are shown: function, file, module, and whose code it is. */
#ifndef VIEW_NAMES_NAMES_H
#define VIEW_NAMES_NAMES_H

#include "base/text/str.h"
#include "profile/profile.h"

/*
 * How frames of a profile are written as text: "qualname (file:line)". Of a file's path, only what
 * follows site-packages/, lib/pythonX.Y/ or the process's directory is shown (whichever is
 * longest), unless two files would become equal.
 */
struct render_names;
/*
 * Chooses the names of @p. Adding strings to @p afterwards invalidates the result. NULL + message
 * if out of memory.
 */
struct render_names *render_names_new(struct profile *p);
void render_names_free(struct render_names *n);

/* The shortened file of a function; "" if the function has no file. Valid as long as @n. */
const char *render_names_file(const struct render_names *n, uint32_t function);

/*
 * The module of a function's file, as Python imports it: "json.decoder". For files of the project
 * the name is relative to the script's directory. Two files of the project have different modules;
 * two copies of a library's file have the same module. "": the function has no file.
 */
const char *render_names_module(const struct render_names *n, uint32_t function);

/*
 * Whose code a Python function is: the project's, an installed package's, or the standard
 * library's.
 */
enum render_origin { ORIGIN_OWN, ORIGIN_PACKAGE, ORIGIN_STDLIB };
enum render_origin render_names_origin(const struct render_names *n, uint32_t function);

/*
 * A notebook shows "/tmp/ipykernel_7/In [3]" as In [3]. Returns the length of the part before "In";
 * 0: @path is another kind of file.
 */
size_t render_after_kernel(const char *path);

/* Returns the name of a mapping: "libz.so.1" (a file without its directory), "[kernel]"; or "". */
const char *render_names_mapping(const struct render_names *n, uint32_t mapping);

/*
 * Appends the name of a location's function, without file: "qualname", "symbol", or
 * "[libz.so.1+0x1234]" if there is no symbol. addr2line and objdump accept that address.
 */
void render_names_function(const struct render_names *n, uint32_t location, struct str *b);

/*
 * The language of a native function: "C", "C++", "Rust", "Go"; "" if @symbol is "". @symbol: the
 * name in its file; @name: the name as shown.
 */
const char *render_language(const char *name, const char *symbol);

/*
 * Appends a location as the text of a frame: "qualname (file:line)", "symbol (libz.so.1)". A mark
 * (a frame in brackets for what isn't known) is appended as it is.
 */
void render_names_frame(const struct render_names *n, uint32_t location, struct str *b);

#endif
