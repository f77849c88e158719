/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the Python names of the functions that PyO3 makes for methods of Rust classes. The names
 * come from files and are hostile.
 */
#ifndef SYMBOL_DEMANGLE_PYO3_NAME_H
#define SYMBOL_DEMANGLE_PYO3_NAME_H

/*
 * Returns a heap copy of a method's name, "polars_python::lazyframe::PyLazyFrame.collect", from the
 * demangled name @rust. NULL: PyO3 didn't make the function, the name doesn't have its class, or
 * memory has run out.
 */
char *pyo3_name(const char *rust);

#endif
