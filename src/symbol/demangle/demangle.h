/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns linkage names (mangled names) into names as their programming language writes them. The
 * names come from files and are hostile.
 */
#ifndef SYMBOL_DEMANGLE_DEMANGLE_H
#define SYMBOL_DEMANGLE_DEMANGLE_H

#include "base/util.h"

enum symbol_language { LANGUAGE_UNKNOWN, LANGUAGE_C, LANGUAGE_CPP, LANGUAGE_RUST, LANGUAGE_GO };

/* the most bytes of a demangled name; a longer name is cut off, and ends in "..." */
#define SYMBOL_SHOWN_MAX 4096

/*
 * Returns a heap copy of @name as people know it. C++: without the parameters of the function
 * itself. Rust: v0 names, and legacy names without their hash. PyO3's methods and Cython's
 * functions: as Python calls them. Other names stay as they are. In all names, what a compiler or
 * linker adds for a part or a copy of a function (foo.cold, .part.0, .constprop.1, .isra.0,
 * .lto_priv.2, .llvm.123) and a version (foo@@V1) are removed. @language may be NULL; LANGUAGE_C
 * means C linkage, whatever the compiler. NULL: out of memory. Time and memory are bounded. The
 * function needs up to 1 MiB of stack.
 */
char *symbol_demangle(const char *name, enum symbol_language *language);

#endif
