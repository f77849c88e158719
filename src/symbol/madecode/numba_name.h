/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns symbols of functions that numba compiled into Python names. Hostile input. */
#ifndef SYMBOL_MADECODE_NUMBA_NAME_H
#define SYMBOL_MADECODE_NUMBA_NAME_H

/*
 * Heap copy of the Python name (module and qualified name: "app.outer.<locals>.f") of numba's
 * @symbol. NULL: numba didn't make the symbol, or out of memory.
 */
char *numba_name(const char *symbol);

#endif
