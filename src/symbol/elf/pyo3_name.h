/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that PyO3 makes for methods of Rust classes, as Python calls them. Hostile input. */
#ifndef SYMBOL_PYO3_NAME_H
#define SYMBOL_PYO3_NAME_H

/*
 * Heap copy of "polars_python::lazyframe::PyLazyFrame.collect", a method of a Rust class as Python calls it, of a demangled
 * @rust name; NULL if PyO3 didn't make it, its class isn't told, or on out of memory.
 */
char *pyo3_name(const char *rust);

#endif
