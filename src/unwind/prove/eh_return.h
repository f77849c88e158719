/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that are left for another frame (__builtin_eh_return: libgcc's _Unwind_RaiseException()
 * and the like). Before leaving they overwrite what they saved for their caller, the return address
 * too, with what belongs to the frame that goes on. Call frame information doesn't describe that:
 * it then leads to a function that called nothing, or to an address that is off by the other
 * frame's size.
 */
#ifndef UNWIND_PROVE_EH_RETURN_H
#define UNWIND_PROVE_EH_RETURN_H

#include "unwind/rows/rows.h"

/*
 * Corrects @rows where a function may have overwritten what it saved for its caller. The return
 * address is taken from where libgcc keeps it, or, if that isn't found, the rule becomes
 * UNWIND_UNKNOWN. x86-64 only: on aarch64 call frame information doesn't show which functions these
 * are. 0 or -ENOMEM.
 */
_must_use_ int eh_return_correct(struct elf_file *f, struct unwind_rows *rows);

#endif
