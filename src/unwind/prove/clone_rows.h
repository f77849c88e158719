/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes rows for the few instructions of the C library where a new thread begins. Call frame
 * information can't describe them, because it would be wrong in one of the two threads. So glibc's
 * clone() and clone3() have no call frame information from the system call on
 * (sysdeps/unix/sysv/linux/x86_64/clone3.S, 2.36: "End FDE now, because in the child the unwind
 * info will be wrong"). A rule with UNWIND_CLONE can describe these instructions. x86-64 only.
 */
#ifndef UNWIND_PROVE_CLONE_ROWS_H
#define UNWIND_PROVE_CLONE_ROWS_H

#include "unwind/rows/rows.h"

/*
 * Appends rows for the code of @f where a new thread begins, if that code lies in gaps between the
 * functions of @rows. The new rows are in the order of their addresses. 0 or -ENOMEM.
 */
_must_use_ int clone_rows(struct elf_file *f, const struct unwind_rows *rows,
			  unwind_range_vec *ret);

/*
 * For musl, which has no call frame information: finds the first of its functions clone() and
 * vfork() in the @n bytes of code from offset @start on, and appends its rows to @ret. *@at: where
 * that function begins; *@len: its length, 0 if neither was found. 0 or -ENOMEM.
 */
_must_use_ int clone_rows_musl(const uint8_t *bytes, uint32_t n, uint32_t start,
			       unwind_range_vec *ret, uint32_t *at, uint32_t *len);

#endif
