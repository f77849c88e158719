/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recognizes the interpreter's own functions by their names, for CPython 2.7 to 3.15. Stacks are
 * shown without these functions unless --interpreter-frames is given. The names have this meaning
 * only in a file that holds an interpreter. All functions take a symbol as the file has it, or a
 * name from method_names.h. They ignore what a compiler or linker adds to the name of a part or
 * copy of a function (.cold, .part.0, .constprop.0, .lto_priv.0, BOLT's /1, a symbol version).
 */
#ifndef SYMBOL_PYTABLES_MACHINERY_H
#define SYMBOL_PYTABLES_MACHINERY_H

#include "base/util.h"

/*
 * Does the function only run Python code or pass a call on, and nothing else that the program asked
 * for? The answer is no if it does what a user would call work: computing, allocating, freeing,
 * collecting, importing, raising, waiting (also for the GIL). The answer is yes for all functions
 * for which machinery_is_eval() is true.
 */
bool machinery_is(const char *symbol);

/*
 * Is the function the evaluation loop? Each run of the loop runs some Python frames, the outermost
 * of which is an entry frame. @major: major version of the interpreter. PyEval_EvalFrameEx is the
 * loop in 2.7. In later versions, it only calls the loop.
 */
bool machinery_is_eval(const char *symbol, unsigned int major);

/*
 * Does the function import modules, or run the code of imported modules? machinery_is() is false
 * for such a function, which is hidden only where it becomes part of a frame `import NAME`.
 */
bool machinery_is_import(const char *symbol);

/*
 * Returns true if the function is an entry point of the garbage collector. The functions that an
 * entry point calls, up to the next Python frame, count as collecting.
 */
bool machinery_is_gc(const char *symbol);

#endif
