/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that don't return to their caller but to another frame (with __builtin_eh_return:
 * libgcc's _Unwind_RaiseException() and the like). Before that, such a function overwrites what it
 * saved for its caller, the return address too, with what belongs to the other frame. Call frame
 * information doesn't describe this. So after that, the caller that it gives for the function is
 * wrong: a function that didn't call it, or an address that is off by the other frame's size.
 */
#ifndef UNWIND_PROVE_EH_RETURN_H
#define UNWIND_PROVE_EH_RETURN_H

#include "unwind/rows/rows.h"

/*
 * Corrects @rows where a function may have overwritten what it saved for its caller. The return
 * address is taken from where libgcc keeps it, or, if that place isn't found, the rule becomes
 * UNWIND_UNKNOWN. x86-64 only: on aarch64 call frame information doesn't show which functions do
 * this. 0 or -ENOMEM.
 */
_must_use_ int eh_return_correct(struct elf_file *f, struct unwind_rows *rows);

#endif
