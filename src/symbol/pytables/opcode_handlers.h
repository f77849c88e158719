/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An interpreter built with tail calls (3.14 and later) has no single evaluation loop, but a
 * function for each opcode, which it finds in a table of 256 functions. opcode_handlers() finds
 * these functions in a stripped file, which has no symbols for them. Without names, these functions
 * would look like C functions that a Python function called.
 */
#ifndef SYMBOL_PYTABLES_OPCODE_HANDLERS_H
#define SYMBOL_PYTABLES_OPCODE_HANDLERS_H

#include "symbol/pytables/type_slots.h"

/*
 * Calls @fn for each entry of the table, with the name _TAIL_CALL_<opcode> (decimal). Doesn't call
 * @fn if the file has no such table, or has two, or has these functions in its .symtab. If @fn
 * returns something else than 0, stops and returns that. May return -ENOMEM.
 */
_must_use_ int opcode_handlers(const struct python_data *d, type_slot_fn *fn, void *arg);

#endif
