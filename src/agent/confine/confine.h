/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each process of the agent gives up for good the rights that it doesn't need. docs/security.md has
 * a table of what each process can't do after that; tests/unit/agent/test_confine.c tries each row
 * of it. A kernel that lacks Landlock or seccomp can't enforce all of it. The agent goes on in that
 * case, and `krait agent status` says so.
 */
#ifndef AGENT_CONFINE_CONFINE_H
#define AGENT_CONFINE_CONFINE_H

#include "base/util.h"

/* Bits that say which of the kernel's mechanisms confine a process. */
enum confined {
	CONFINED_FILES = 1, /* Landlock: the process can use files of one directory only */
	CONFINED_CALLS = 2, /* seccomp: the process can make some system calls only */
};

/*
 * For the process that starts writers, and for the writers. The process loses its capabilities,
 * other processes' memory, and all files but those below directory @dir and the open descriptors.
 * Only the system calls that writing a store and forking need are left. @dir must exist. Returns
 * enum confined bits.
 */
unsigned confine_to_store(const char *dir);

/*
 * For a writer, after confine_to_store(): from now on the process can't make children or receive
 * descriptors.
 */
unsigned confine_writer(void);

/*
 * For a process that answers a request. It loses what confine_to_store() takes away, and also can't
 * make children. But it may read and write on a connection that is open. Returns enum confined
 * bits.
 */
unsigned confine_answer(const char *dir);

/*
 * For the sampler. It can't run programs, connect, open an existing file for writing, mount, change
 * other processes or send them signals. This also holds for threads and children that the sampler
 * makes later. Returns enum confined bits.
 */
unsigned confine_sampler(void);

/* For the sampler, once it samples: from now on it can't load kernel programs. */
unsigned confine_loaded(void);

#endif
