/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the kernel which system calls this process and its children may make from now on. A table
 * of calls becomes a small program for the kernel (seccomp). A refused call fails with EPERM, or
 * with EROFS if it would open a file for writing.
 */
#ifndef AGENT_CONFINE_SECCOMP_H
#define AGENT_CONFINE_SECCOMP_H

#include "base/util.h"

enum call_verdict {
	CALL_ALLOWED,
	CALL_REFUSED,
	CALL_WITHOUT_BITS, /* the call is allowed if argument .arg has none of .bits */
	CALL_EQUAL,	   /* the call is allowed if argument .arg equals .bits */
	CALL_DIFFERENT,	   /* the call is allowed if argument .arg differs from .bits */
	/*
	 * The call is allowed if the flags in argument .arg open a file for reading, or make a new
	 * file. A call that opens an existing file for writing is refused.
	 */
	CALL_READS,
};

/*
 * A row of the table of calls. Only the lower 32 bits of an argument are compared, because the
 * calls in the tables use no others.
 */
struct call_rule {
	int number; /* SYS_* */
	enum call_verdict verdict;
	unsigned arg;
	uint32_t bits;
};

/*
 * Makes the kernel enforce @rules, for good and for all threads. A call without a rule is allowed
 * if @others is true. Rules of earlier calls stay in effect. The process must have set
 * PR_SET_NO_NEW_PRIVS. Returns false, and changes nothing, if this kernel can't enforce them.
 */
bool seccomp_apply(const struct call_rule *rules, size_t n, bool others);

#endif
