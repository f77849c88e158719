/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols of functions that Cython compiled, as Python calls them. Hostile input. */
#ifndef SYMBOL_CYTHON_NAME_H
#define SYMBOL_CYTHON_NAME_H

/*
 * Heap copy of the Python name ("uvloop.loop.Loop.run_until_complete") in a @symbol of Cython's; NULL if it
 * isn't one, could be read in two ways, or on out of memory.
 */
char *cython_name(const char *symbol);

#endif
