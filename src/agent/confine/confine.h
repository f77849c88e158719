/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each process of the agent gives up for good. docs/security.md has a table of what each can't
 * do after that, and tests/unit/agent/test_confine.c tries each row. A kernel that lacks Landlock
 * or seccomp can't enforce all of it. The agent goes on in that case, and `krait agent status` says
 * so.
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
 * For the process that starts writers, and for the writers: no capability, no file but those
 * below directory @dir and the open descriptors, no memory of other processes, and only the calls
 * that writing a store and forking take. @dir must exist. Returns enum confined bits.
 */
unsigned confine_to_store(const char *dir);

/*
 * For a writer, after confine_to_store(): the process can't make a child any more, nor receive
 * descriptors.
 */
unsigned confine_writer(void);

/*
 * For a process that answers a question: the same, but it can't make a child, and may read from and
 * write to a connection that is open. Returns enum confined bits.
 */
unsigned confine_answer(const char *dir);

/*
 * For the sampler: no program is run, no connection made, no file that exists opened for writing,
 * nothing mounted, and no process changed or sent a signal. This also holds for threads and
 * children that the process makes later. Returns enum confined bits.
 */
unsigned confine_sampler(void);

/* For the sampler, once it samples: it can't load kernel programs any more. */
unsigned confine_loaded(void);

#endif
