/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that are left for another frame (__builtin_eh_return: libgcc's _Unwind_RaiseException() and its
 * like). Before that they overwrite what they saved for their caller, the return address too, by what
 * the frame has that is gone on with. Call frame information doesn't know: it then leads to where nobody
 * called, or by another frame's size on.
 */
#ifndef UNWIND_PROVE_EH_RETURN_H
#define UNWIND_PROVE_EH_RETURN_H

#include "unwind/rows/rows.h"

/*
 * Corrects @rows where that may have happened: the return address is taken from where libgcc keeps it, or, if
 * that isn't found, nothing is known. x86-64; for aarch64 no call frame information shows which functions they
 * are. 0 or -ENOMEM.
 */
_must_use_ int eh_return_correct(struct elf_file *f, struct unwind_rows *rows);

#endif
