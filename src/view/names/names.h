/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of frames as they are shown: function, file, module, and whose code it is. */
#ifndef VIEW_NAMES_NAMES_H
#define VIEW_NAMES_NAMES_H

#include "base/text/str.h"
#include "profile/profile.h"

/*
 * How frames of a profile are written as text: "qualname (file:line)". Of a file's path only the
 * part after site-packages/, lib/pythonX.Y/ or the process's directory is shown (after the longest
 * of these), unless two files would then look equal.
 */
struct render_names;
/*
 * Chooses the names for the frames of @p. They become invalid when strings are added to @p. NULL +
 * message if out of memory.
 */
struct render_names *render_names_new(struct profile *p);
void render_names_free(struct render_names *n);

/*
 * Returns the shortened path of a function's file; "" if the function has no file. Valid as long as
 * @n.
 */
const char *render_names_file(const struct render_names *n, uint32_t function);

/*
 * Returns the name of the module of a function's file, as Python imports it: "json.decoder". For
 * files of the project the name is relative to the script's directory. Two files of the project
 * never have the same module name; two copies of a library's file do. "": the function has no file.
 */
const char *render_names_module(const struct render_names *n, uint32_t function);

/*
 * To whom the code of a Python function belongs: to the project, to an installed package, or to the
 * standard library.
 */
enum render_origin { ORIGIN_OWN, ORIGIN_PACKAGE, ORIGIN_STDLIB };
enum render_origin render_names_origin(const struct render_names *n, uint32_t function);

/*
 * For the file of a notebook's cell, such as "/tmp/ipykernel_7/In [3]", returns the length of the
 * part before "In", so that only In [3] is shown. 0: @path is another kind of file.
 */
size_t render_after_kernel(const char *path);

/* Returns the name of a mapping: "libz.so.1" (a file without its directory), "[kernel]"; or "". */
const char *render_names_mapping(const struct render_names *n, uint32_t mapping);

/*
 * Appends the name of a location's function, without the file: "qualname", "symbol", or
 * "[libz.so.1+0x1234]" if there is no symbol. addr2line and objdump take the address in that form.
 */
void render_names_function(const struct render_names *n, uint32_t location, struct str *b);

/*
 * Returns the language of a native function: "C", "C++", "Rust", "Go"; "" if @symbol is "".
 * @symbol: the name in the function's file; @name: the name as shown.
 */
const char *render_language(const char *name, const char *symbol);

/*
 * Appends a location as the text of a frame: "qualname (file:line)", "symbol (libz.so.1)". A mark
 * (a frame in brackets for what isn't known) is appended as it is.
 */
void render_names_frame(const struct render_names *n, uint32_t location, struct str *b);

#endif
