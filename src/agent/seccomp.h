/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the kernel which system calls this process and its children may make from now on. A table
 * of calls becomes a small program for the kernel (seccomp). A call that is refused fails with
 * EPERM; one that would open a file for writing with EROFS.
 */
#ifndef AGENT_SECCOMP_H
#define AGENT_SECCOMP_H

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

/* Only the lower 32 bits of an argument are looked at: those are what these calls use. */
struct call_rule {
	int number; /* SYS_* */
	enum call_verdict verdict;
	unsigned arg;
	uint32_t bits;
};

/*
 * Puts @rules into effect, for good and for all threads. A call without a rule is allowed if
 * @others is true. Rules that are in effect already hold as well. The process must have set
 * PR_SET_NO_NEW_PRIVS. False: this kernel can't do it, and nothing has changed.
 */
bool seccomp_apply(const struct call_rule *rules, size_t n, bool others);

#endif
