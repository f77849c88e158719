/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns symbols of functions that Cython compiled into Python names. Symbols are hostile input. */
#ifndef SYMBOL_DEMANGLE_CYTHON_NAME_H
#define SYMBOL_DEMANGLE_CYTHON_NAME_H

/*
 * Returns a heap copy of the Python name ("uvloop.loop.Loop.run_until_complete") of Cython's
 * @symbol. NULL: @symbol isn't Cython's or has two possible meanings, or memory has run out.
 */
char *cython_name(const char *symbol);

#endif
