/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An interpreter built with tail calls (3.14 and later) has no single evaluation loop, but a
 * function for each opcode, reached through a table of 256. opcode_handlers() finds these functions
 * in a stripped file, which has no symbols for them. Without names they would look like C functions
 * that the Python function called.
 */
#ifndef SYMBOL_PYTABLES_OPCODE_HANDLERS_H
#define SYMBOL_PYTABLES_OPCODE_HANDLERS_H

#include "symbol/pytables/type_slots.h"

/*
 * Calls @fn for each entry of the table, with the name _TAIL_CALL_<opcode> (decimal). Doesn't call
 * it if the file has no such table, or two, or has these functions in its .symtab. Returns what @fn
 * returned if that isn't 0; -ENOMEM.
 */
_must_use_ int opcode_handlers(const struct python_data *d, type_slot_fn *fn, void *arg);

#endif
