/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each process of the agent gives up for good. docs/security.md has the table of what it then
 * can't do, and tests/unit/agent/test_confine.c tries each row. A kernel that lacks Landlock or
 * seccomp leaves a part out; the agent goes on, and `krait agent status` says so.
 */
#ifndef AGENT_CONFINE_H
#define AGENT_CONFINE_H

#include "base/util.h"

/* What confines the process now. */
enum confined {
	CONFINED_FILES = 1, /* Landlock: only one directory */
	CONFINED_CALLS = 2, /* seccomp: only some system calls */
};

/*
 * For the process that starts writers, and for the writers: no capability, no file but those
 * below directory @dir and the open descriptors, no memory of other processes, and only the calls
 * that writing a store and forking take. @dir must exist. Returns enum confined bits.
 */
unsigned confine_to_store(const char *dir);

/* For a writer, after confine_to_store(): no child, no rights from elsewhere. */
unsigned confine_writer(void);

/*
 * For the sampler: no program is run, no connection made, no file that exists opened for writing,
 * nothing mounted, and no process changed or sent a signal. Holds for its later threads and
 * children. Returns enum confined bits.
 */
unsigned confine_sampler(void);

/* For the sampler once it samples: no kernel program is loaded any more. */
unsigned confine_loaded(void);

#endif
