/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of functions that a stripped interpreter or extension module has no symbols for, from the
 * tables through which Python code reaches them: methods of modules and types, the slots of types,
 * opcodes. chr, list.sort, str.nb_remainder, _TAIL_CALL_100. All but the last are part of CPython's
 * ABI: struct PyMethodDef is the same from 2.7 to 3.15, so is PyTypeObject up to tp_vectorcall (but for
 * free-threaded builds, whose objects have a longer head). Files are hostile.
 */
#ifndef SYMBOL_METHOD_NAMES_H
#define SYMBOL_METHOD_NAMES_H

#include "elf/elf_file.h"

struct method_names;

/*
 * Scans the initialised data of @f, at most 4 MiB of it, and the constants of an interpreter, at most
 * 32 MiB: some tens of ms. 0; -ENOENT: nothing in there is Python's; -ENOMEM with a message.
 */
_must_use_ int method_names_open(struct elf_file *f, struct method_names **ret);
void method_names_free(struct method_names *n); /* NULL is fine */

/*
 * The function that starts at @start (vaddr) exactly; NULL if no table has it. Valid as long as @n.
 * machinery_is() and machinery_is_gc() take these names as they take symbols.
 */
const char *method_names_find(const struct method_names *n, uint64_t start);

/* The same if it is a function or method that Python code calls so, and by no other name: sum, list.sort, zlib.compress; @n may be NULL. */
const char *method_names_method(const struct method_names *n, uint64_t start);

size_t method_names_count(const struct method_names *n);
size_t method_names_bytes(const struct method_names *n); /* memory held */

#endif
