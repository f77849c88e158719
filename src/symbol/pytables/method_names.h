/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds names of functions in a stripped interpreter or extension module, which has no symbols for
 * them. The names come from the tables through which Python code reaches the functions: methods of
 * modules and types, slots of types, opcodes. Examples: chr, list.sort, str.nb_remainder,
 * _TAIL_CALL_100. All these tables except the table of opcodes belong to CPython's ABI. struct
 * PyMethodDef is the same from 2.7 to 3.15, and so is PyTypeObject up to tp_vectorcall, except in
 * free-threaded builds, whose objects have a longer head. Files are hostile.
 */
#ifndef SYMBOL_PYTABLES_METHOD_NAMES_H
#define SYMBOL_PYTABLES_METHOD_NAMES_H

#include "elf/elf_file.h"

struct method_names;

/*
 * Scans the initialised data of @f, at most 4 MiB, and the constants of an interpreter, at most 32
 * MiB. That takes some tens of ms. 0; -ENOENT: the file is neither an interpreter nor an extension
 * module; -ENOMEM with a message.
 */
_must_use_ int method_names_open(struct elf_file *f, struct method_names **ret);
void method_names_free(struct method_names *n); /* @n may be NULL */

/*
 * Returns the name of the function that starts exactly at @start (vaddr); NULL: no table has that
 * function. The name is valid as long as @n. machinery_is() and machinery_is_gc() accept these
 * names like symbols.
 */
const char *method_names_find(const struct method_names *n, uint64_t start);

/*
 * Returns what method_names_find() returns, but only for a function, method or type that Python
 * code calls by this name and by no other name: sum, list.sort, zlib.compress, set. @n may be NULL.
 */
const char *method_names_method(const struct method_names *n, uint64_t start);

size_t method_names_count(const struct method_names *n);
/* Returns the memory that @n holds, in bytes. */
size_t method_names_bytes(const struct method_names *n);

#endif
