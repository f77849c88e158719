/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols of functions that numba compiled, as their authors know them. Hostile input. */
#ifndef SYMBOL_NUMBA_NAME_H
#define SYMBOL_NUMBA_NAME_H

/*
 * Heap copy of the Python name (module and qualified name: "app.outer.<locals>.f") in a @symbol that numba
 * made; NULL if it isn't one, or on out of memory.
 */
char *numba_name(const char *symbol);

#endif
