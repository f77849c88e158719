/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes seccomp programs from tables of system calls; see seccomp.h. */
#include "agent/confine/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "which architecture?"
#endif
/* x86-64 kernels may run x32 programs as well; the numbers of their system calls begin here */
#define X32_CALLS 0x40000000u

#define RULE_MOST 8 /* the most BPF instructions that a rule takes */
#define MOST	  1024

struct program {
	struct sock_filter v[MOST];
	size_t n;
};

static void put(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	p->v[p->n++] = (struct sock_filter)BPF_JUMP(code, k, yes, no);
}

static void load(struct program *p, size_t offset)
{
	put(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void end(struct program *p, uint32_t what)
{
	put(p, BPF_RET | BPF_K, what, 0, 0);
}

static void refuse(struct program *p, int error)
{
	end(p, SECCOMP_RET_ERRNO | (uint32_t)error);
}

/*
 * Compares the argument with @bits, by the BPF jump @code. The call is allowed if the comparison
 * gives @wanted, else refused.
 */
static void put_test(struct program *p, uint16_t code, uint32_t bits, bool wanted)
{
	put(p, BPF_JMP | code | BPF_K, bits, !wanted, wanted);
	end(p, SECCOMP_RET_ALLOW);
	refuse(p, EPERM);
}

/*
 * Checks the flags with which a file is opened: allows reading, and making a new file (O_EXCL). The
 * kernel ignores O_EXCL if the flags don't make a file.
 */
static void put_reads(struct program *p)
{
	const uint32_t tmpfile = O_TMPFILE & ~O_DIRECTORY;

	put(p, BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | tmpfile, 0, 2);
	put(p, BPF_JMP | BPF_JSET | BPF_K, O_EXCL, 0, 2);
	put(p, BPF_JMP | BPF_JSET | BPF_K, O_CREAT | tmpfile, 0, 1);
	end(p, SECCOMP_RET_ALLOW);
	refuse(p, EROFS);
}

static void put_verdict(struct program *p, const struct call_rule *r)
{
	if (r->verdict == CALL_ALLOWED) {
		end(p, SECCOMP_RET_ALLOW);
		return;
	}
	if (r->verdict == CALL_REFUSED) {
		refuse(p, EPERM);
		return;
	}
	/*
	 * loads the lower half of the argument; it comes first, because the processors that krait
	 * supports are little-endian
	 */
	load(p, offsetof(struct seccomp_data, args) + r->arg * sizeof(uint64_t));
	if (r->verdict == CALL_READS)
		put_reads(p);
	else
		put_test(p, r->verdict == CALL_WITHOUT_BITS ? BPF_JSET : BPF_JEQ, r->bits,
			 r->verdict == CALL_EQUAL);
}

static void put_rule(struct program *p, const struct call_rule *r)
{
	size_t test = p->n;

	put(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)r->number, 0, 0);
	put_verdict(p, r);
	p->v[test].jf = (uint8_t)(p->n - test - 1);
}

/*
 * Refuses calls of other kinds of programs (such as 32-bit ones), because their calls have other
 * numbers.
 */
static void put_head(struct program *p)
{
	load(p, offsetof(struct seccomp_data, arch));
	put(p, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	refuse(p, EPERM);
	load(p, offsetof(struct seccomp_data, nr));
	put(p, BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 0, 1);
	refuse(p, EPERM);
}

bool seccomp_apply(const struct call_rule *rules, size_t n, bool others)
{
	struct program p = {};
	struct sock_fprog program = {.filter = p.v};

	put_head(&p);
	for (size_t i = 0; i < n && p.n + RULE_MOST < MOST; i++)
		put_rule(&p, &rules[i]);
	if (others)
		end(&p, SECCOMP_RET_ALLOW);
	else
		refuse(&p, EPERM);
	program.len = (unsigned short)p.n;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) ==
	       0;
}
