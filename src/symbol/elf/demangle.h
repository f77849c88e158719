/* SPDX-License-Identifier: BSD-2-Clause */
/* Linkage names in the form that their language writes. The names come from files: hostile. */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include "base/util.h"

enum symbol_language { LANGUAGE_UNKNOWN, LANGUAGE_C, LANGUAGE_CPP, LANGUAGE_RUST, LANGUAGE_GO };

#define SYMBOL_SHOWN_MAX 4096 /* bytes of a demangled name; what is longer is cut, with "..." */

/*
 * Heap copy of @name as people know it: C++ without the function's own parameters, Rust (v0, and
 * legacy without its hash, PyO3's methods as Python calls them), what Cython made as Python calls it, anything else as it is; always without what the compiler or linker adds
 * to name a part or a copy (foo.cold, .part.0, .constprop.1, .isra.0, .lto_priv.2, .llvm.123) and
 * without a version (foo@@V1). @language may be NULL; LANGUAGE_C is C linkage, whatever compiled it.
 * NULL on out of memory. Bounded in time and memory; needs up to 1 MiB of stack.
 */
char *symbol_demangle(const char *name, enum symbol_language *language);

#endif
