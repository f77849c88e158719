/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interpreter's own machinery by the names of its functions, CPython 2.7 to 3.15: what a stack
 * is shown without unless --interpreter-frames is given. Names only mean this in a file that holds
 * an interpreter. All take a symbol as the file has it, or a name of method_names.h; what a compiler or linker adds to a part or
 * copy of a function (.cold, .part.0, .constprop.0, .lto_priv.0, BOLT's /1, a version) is ignored.
 */
#ifndef SYMBOL_MACHINERY_H
#define SYMBOL_MACHINERY_H

#include "base/util.h"

/*
 * Runs Python code or gets a call to where it goes, and does nothing that the program asked for.
 * Never what a user would call work: computing, allocating, freeing, collecting, importing, raising,
 * waiting (for the GIL too). machinery_is_eval() is a part of it.
 */
bool machinery_is(const char *symbol);

/*
 * The evaluation loop: of these, one activation is one entry of Python frames. @major: of the
 * interpreter's version; PyEval_EvalFrameEx is the loop in 2.7 and a way into it afterwards.
 */
bool machinery_is_eval(const char *symbol, unsigned int major);

/* Importing, and running what is imported: no part of machinery_is(), except around `import NAME`. */
bool machinery_is_import(const char *symbol);

/* An entry of the garbage collector: what it calls, up to the next Python frame, is collecting. */
bool machinery_is_gc(const char *symbol);

#endif
