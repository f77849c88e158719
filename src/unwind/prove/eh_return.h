/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that don't return to their caller but to another frame (with __builtin_eh_return:
 * libgcc's _Unwind_RaiseException() and the like). Before it leaves, such a function overwrites the
 * registers and the return address that it saved for its caller with those of the other frame. Call
 * frame information doesn't describe this. So from then on it gives a wrong caller: a function that
 * didn't make the call, or an address that is off by the other frame's size.
 */
#ifndef UNWIND_PROVE_EH_RETURN_H
#define UNWIND_PROVE_EH_RETURN_H

#include "unwind/rows/rows.h"

/*
 * Corrects @rows where a function may have overwritten what it saved for its caller. The corrected
 * rule finds the return address where libgcc keeps it. If that place isn't known, the rule becomes
 * UNWIND_UNKNOWN. x86-64 only: on aarch64 call frame information doesn't show which functions
 * return to another frame than their caller's. 0 or -ENOMEM.
 */
_must_use_ int eh_return_correct(struct elf_file *f, struct unwind_rows *rows);

#endif
