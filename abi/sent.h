/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How the kernel program notes which stacks and code objects it has sent. It notes their ids in
 * sets of SENT_WAYS ids, newest first. A full set forgets its oldest id, and the object with that
 * id is sent again when a sample has it again. So user space needs to keep only a few more objects
 * of each set than SENT_WAYS (src/collect/code/recent.h).
 */
#ifndef ABI_SENT_H
#define ABI_SENT_H

#include "check.h"
#include "records.h"

#define SENT_WAYS 4
#define SENT_SETS 8192

static inline __attribute__((always_inline)) __u64 sent_set_of(__u64 id)
{
	return id >> 8; /* which set has the id; the caller takes the result modulo SENT_SETS */
}

/*
 * Returns the id under which a code object is noted as sent. (A stack is noted under its own id,
 * rec_stack.stack.)
 */
static inline __attribute__((always_inline)) __u64 sent_code_id(const struct proc_key *p,
								__u64 code, __u64 check)
{
	return check_mix(
		check_mix(p->start_ns ^ (__u64)p->tgid << 40 ^ (__u64)p->exec_id << 20, code),
		check);
}

#endif
