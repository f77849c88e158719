/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Environments of other processes, and krait's own environment as it was before the C library
 * removed variables from it.
 */
#ifndef HOST_ENVIRONMENT_H
#define HOST_ENVIRONMENT_H

#include <sys/types.h>
#include "base/vec.h"

struct environment {
	/* strings "NAME=value" on the heap; a NULL ends the list if it has entries */
	VEC(char *) v;
};

void environment_fini(struct environment *e);

/*
 * Reads the environment that process @pid got when it was executed. 0, or -errno: krait has no
 * right to read it, the process is gone, or the environment is empty.
 */
_must_use_ int environment_of_process(struct environment *e, pid_t pid);

/*
 * Reads krait's own environment from the stack, where the kernel put it. There it still has the
 * variables that the C library removes in a program with file capabilities (glibc calls them
 * unsecure: LD_*, GLIBC_TUNABLES, TMPDIR, ...).
 */
_must_use_ int environment_original(struct environment *e);

/*
 * Makes an environment for user @uid: HOME, USER, LOGNAME and SHELL of that user, and all other
 * variables of krait's own environment.
 */
_must_use_ int environment_of_user(struct environment *e, uid_t uid);

/*
 * Adds the variables of krait's own environment to @e, except those that sudo sets (PATH, HOME,
 * SUDO_*, ...).
 */
_must_use_ int environment_add_own(struct environment *e);

/*
 * Adds a copy of @entry, which is "NAME=value". If @e already has a variable of that name, the copy
 * replaces it.
 */
_must_use_ int environment_set(struct environment *e, const char *entry);

/* Returns the value of variable @name; NULL: it isn't set. */
const char *environment_get(const struct environment *e, const char *name);

/*
 * Parses text of @n bytes whose entries end with NULs, as in /proc/PID/environ, into @e. Entries
 * without '=' are left out.
 */
_must_use_ int environment_parse(struct environment *e, const char *text, size_t n);

#endif
