/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Environments of other processes, and krait's own as it was before the C library removed parts of
 * it.
 */
#ifndef HOST_ENVIRONMENT_H
#define HOST_ENVIRONMENT_H

#include <sys/types.h>
#include "base/vec.h"

struct environment {
	VEC(char *) v; /* heap strings "NAME=value", followed by a NULL if there are any */
};

void environment_fini(struct environment *e);

/*
 * Reads the environment that process @pid got at exec. 0, or -errno: no rights, the process is
 * gone, or the environment is empty.
 */
_must_use_ int environment_of_process(struct environment *e, pid_t pid);

/*
 * Reads krait's own environment from the stack, where the kernel put it. There it still has the
 * variables that the C library removes in a program with file capabilities (glibc's unsecvars:
 * LD_*, GLIBC_TUNABLES, TMPDIR, ...).
 */
_must_use_ int environment_original(struct environment *e);

/*
 * Makes the environment of user @uid: its HOME, USER, LOGNAME and SHELL, and all other variables of
 * krait's own environment.
 */
_must_use_ int environment_of_user(struct environment *e, uid_t uid);

/* Adds krait's own variables to @e, except those that sudo sets (PATH, HOME, SUDO_*, ...). */
_must_use_ int environment_add_own(struct environment *e);

/* Adds a copy of @entry, "NAME=value", or puts it in the place of the entry with that name. */
_must_use_ int environment_set(struct environment *e, const char *entry);

/* Returns the value of variable @name, or NULL. */
const char *environment_get(const struct environment *e, const char *name);

/*
 * Parses @n bytes of NUL-separated text, as in /proc/PID/environ, into @e. Entries without '=' are
 * left out.
 */
_must_use_ int environment_parse(struct environment *e, const char *text, size_t n);

#endif
