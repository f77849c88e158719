/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns symbols of functions that numba compiled into Python names. Symbols may be hostile. */
#ifndef SYMBOL_MADECODE_NUMBA_NAME_H
#define SYMBOL_MADECODE_NUMBA_NAME_H

/*
 * Returns a heap copy of the Python name (module and qualified name: "app.outer.<locals>.f") of
 * numba's @symbol. NULL: numba didn't make the symbol, or memory has run out.
 */
char *numba_name(const char *symbol);

#endif
