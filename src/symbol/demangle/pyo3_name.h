/* SPDX-License-Identifier: BSD-2-Clause */
/* Python names of the functions that PyO3 makes for methods of Rust classes. Hostile input. */
#ifndef SYMBOL_DEMANGLE_PYO3_NAME_H
#define SYMBOL_DEMANGLE_PYO3_NAME_H

/*
 * Heap copy of a method's name, "polars_python::lazyframe::PyLazyFrame.collect", from the demangled
 * name @rust. NULL: PyO3 didn't make it, its class isn't named, or out of memory.
 */
char *pyo3_name(const char *rust);

#endif
