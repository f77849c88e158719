/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows linkage names as their language writes them. The names come from files and are hostile. */
#ifndef SYMBOL_DEMANGLE_DEMANGLE_H
#define SYMBOL_DEMANGLE_DEMANGLE_H

#include "base/util.h"

enum symbol_language { LANGUAGE_UNKNOWN, LANGUAGE_C, LANGUAGE_CPP, LANGUAGE_RUST, LANGUAGE_GO };

/* the most bytes of a demangled name; a longer one is cut, and ends in "..." */
#define SYMBOL_SHOWN_MAX 4096

/*
 * Heap copy of @name as people know it. C++: without the parameters of the function itself. Rust:
 * v0 names, and legacy names without their hash. PyO3's methods and Cython's functions: as Python
 * calls them. Other names stay as they are. Always removed: what a compiler or linker adds to name
 * a part or a copy (foo.cold, .part.0, .constprop.1, .isra.0, .lto_priv.2, .llvm.123), and a
 * version (foo@@V1). @language may be NULL; LANGUAGE_C means C linkage, whatever the compiler.
 * NULL: out of memory. Time and memory are bounded; needs up to 1 MiB of stack.
 */
char *symbol_demangle(const char *name, enum symbol_language *language);

#endif
