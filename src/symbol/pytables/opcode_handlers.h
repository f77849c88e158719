/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that together are the evaluation loop of an interpreter built with tail calls (3.14
 * and later): one for each opcode, reached through a table of 256. A stripped file has no symbols for
 * them; without their names each would be shown as work of C below the Python function.
 */
#ifndef SYMBOL_OPCODE_HANDLERS_H
#define SYMBOL_OPCODE_HANDLERS_H

#include "symbol/pytables/type_slots.h"

/*
 * Each entry of the table as _TAIL_CALL_<opcode>, the number in decimal; none if the file has no such
 * table, has two, or has the functions in its .symtab. Returns what @fn returned if that isn't 0;
 * -ENOMEM.
 */
_must_use_ int opcode_handlers(const struct python_data *d, type_slot_fn *fn, void *arg);

#endif
