/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the kernel which system calls this process and its children may make from now on. A table
 * of calls becomes a small program for the kernel (seccomp). A refused call fails with EPERM. If it
 * would open a file for writing, it fails with EROFS.
 */
#ifndef AGENT_CONFINE_SECCOMP_H
#define AGENT_CONFINE_SECCOMP_H

#include "base/util.h"

enum call_verdict {
	CALL_ALLOWED,
	CALL_REFUSED,
	CALL_WITHOUT_BITS, /* allowed if argument .arg has none of .bits */
	CALL_EQUAL,	   /* allowed if argument .arg is .bits */
	CALL_DIFFERENT,	   /* allowed if argument .arg isn't .bits */
	/*
	 * Allowed if the flags in argument .arg open a file for reading, or make a new one: no
	 * file that is there already is opened for writing.
	 */
	CALL_READS,
};

/*
 * A row of the table. Only the lower 32 bits of an argument are compared, because these calls use
 * no others.
 */
struct call_rule {
	int number; /* SYS_* */
	enum call_verdict verdict;
	unsigned arg;
	uint32_t bits;
};

/*
 * Puts @rules into effect, for good and for all threads. A call without a rule is allowed if
 * @others is true. Rules of earlier calls stay in effect. The process must have set
 * PR_SET_NO_NEW_PRIVS. Returns false if this kernel can't do it; nothing has changed in that case.
 */
bool seccomp_apply(const struct call_rule *rules, size_t n, bool others);

#endif
